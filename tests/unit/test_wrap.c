/*
 * Lines that are not wider than they may be.
 */
#include "test.h"

#include "print/wrap.h"

static char text[4096];
static struct wrap_line line;

static void begin(unsigned width_columns, const char *title, unsigned indent_columns)
{
    FILE *out = fmemopen(text, sizeof(text), "w");

    CHECK(out != NULL);
    wrap_begin(&line, out, width_columns, title, indent_columns);
}

static void check_text(const char *expected)
{
    wrap_end(&line);
    fclose(line.out);
    CHECK_TEXT(text, expected);
}

TEST(what_fits_stays_in_one_line)
{
    begin(29, "bytes  ", 7);
    wrap_add(&line, "   ", "freed %d", 12);
    wrap_add(&line, "   ", "failed %d", 3456);
    check_text("bytes  freed 12   failed 3456\n");
}

TEST(a_piece_that_does_not_fit_goes_below_the_first)
{
    begin(28, "bytes  ", 7);
    wrap_add(&line, "   ", "freed %d", 12);
    wrap_add(&line, "   ", "failed %d", 3456);
    wrap_add(&line, "   ", "x");
    check_text("bytes  freed 12\n"
               "       failed 3456   x\n");
}

TEST(a_title_without_a_space_behind_is_a_piece)
{
    begin(12, "a.py", 2);
    wrap_add(&line, "  ", "pid 1");
    wrap_add(&line, "  ", "1.0 s");
    check_text("a.py  pid 1\n"
               "  1.0 s\n");
}

TEST(words_are_parted_at_spaces_and_never_cut)
{
    begin(20, "warning: ", 9);
    wrap_words(&line, "as it was /a/path/wider/than/a/line: at offset 12");
    check_text("warning: as it was\n"
               "         /a/path/wider/than/a/line:\n"
               "         at offset\n"
               "         12\n");
}

TEST(columns_count_not_bytes)
{
    begin(9, "", 0);
    wrap_words(&line, "gr\xc3\xbc\xc3\x9f"
                      "e \xc2\xb1"
                      "12");
    check_text("gr\xc3\xbc\xc3\x9f"
               "e \xc2\xb1"
               "12\n");
}
