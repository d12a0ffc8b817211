/*
 * Tables of text, the terminal's conventions, the progress line.
 */
#include "test.h"

#include "print/bar.h"
#include "print/plot.h"
#include "print/progress.h"
#include "print/table.h"
#include "print/terminal.h"

static const struct table_column columns[] = {
    {.title = "TOTAL", .kind = TABLE_NUMBER},
    {.title = "FUNCTION", .kind = TABLE_TEXT},
    {.title = "WHERE", .kind = TABLE_PATH, .is_dim = true},
};

/* Write rows of three cells as a table. Returns text to be freed. */
static char *table_of(const char *const *cells, size_t row_count, const struct text_style *style,
                      bool has_titles)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    struct table *table = table_create(columns, 3, style);

    CHECK(out != NULL);
    for (size_t i = 0; i < 3 * row_count; i++)
        table_add(table, cells[i]);
    table_finish(table, has_titles, out);
    CHECK(fclose(out) == 0);
    return text;
}

static const char *const cells[] = {
    "294 MiB", "get_file_breaks", "email/feedparser.py:31", "1 B", "f", ""};

TEST(a_bar_is_as_long_as_its_part_and_never_empty_for_something)
{
    static const struct {
        uint64_t part, whole;
        const char *drawn, *ascii;
    } rows[] = {
        {0, 10, "", ""},
        {10, 10, "████", "####"},
        {5, 10, "██", "##"},
        {1, 1000000, "▏", "#"},
        {11, 32, "█▍", "#"},
        {UINT64_MAX, UINT64_MAX, "████", "####"},
        {UINT64_MAX / 2, UINT64_MAX, "█▉", "#"},
        {0, 0, "", ""},
    };
    struct memory_pool pool = {.newest = NULL};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        test_case("row %zu", i);
        CHECK_TEXT(bar_text(&pool, rows[i].part, rows[i].whole, 4, false), rows[i].drawn);
        CHECK_TEXT(bar_text(&pool, rows[i].part, rows[i].whole, 4, true), rows[i].ascii);
    }
    memory_pool_finish(&pool);
}

TEST(a_plot_stands_on_its_lowest_line_and_no_value_vanishes)
{
    static const uint64_t values[] = {0, 1, 50, 100, 200, 0};
    static const uint64_t large[] = {UINT64_MAX, UINT64_MAX / 2};
    struct plot plot = {.values = values, .count = 6, .most = 200, .rows = 2};
    struct memory_pool pool = {.newest = NULL};

    CHECK_TEXT(plot_row(&pool, &plot, 1), "    \u2588");
    CHECK_TEXT(plot_row(&pool, &plot, 0), " \u2581\u2584\u2588\u2588");
    plot.is_ascii = true;
    CHECK_TEXT(plot_row(&pool, &plot, 1), "    #");
    CHECK_TEXT(plot_row(&pool, &plot, 0), " .:##");
    plot = (struct plot){.values = large, .count = 2, .most = UINT64_MAX, .rows = 1};
    CHECK_TEXT(plot_row(&pool, &plot, 0), "\u2588\u2583");
    memory_pool_finish(&pool);
}

TEST(numbers_are_right_aligned_and_no_line_ends_with_a_space)
{
    char *text = table_of(cells, 2, &(struct text_style){.width_columns = 80}, true);

    CHECK_TEXT(text, "  TOTAL  FUNCTION         WHERE\n"
                     "294 MiB  get_file_breaks  email/feedparser.py:31\n"
                     "    1 B  f\n");
    free(text);
}

TEST(narrow_tables_shorten_texts_at_the_end_and_paths_at_the_start)
{
    char *text =
        table_of(cells, 2, &(struct text_style){.width_columns = 32, .is_ascii = true}, false);

    CHECK_TEXT(text, "294 MiB  get_file_b...  ...py:31\n"
                     "    1 B  f\n");
    free(text);
}

TEST(a_short_text_leaves_its_room_to_the_path)
{
    const char *const row[] = {"1 B", "f", "a/long/path/to/some/module.py:1"};
    char *text =
        table_of(row, 1, &(struct text_style){.width_columns = 30, .is_ascii = true}, false);

    CHECK_TEXT(text, "1 B  f  ...to/some/module.py:1\n");
    free(text);
}

TEST(every_line_is_within_the_width_where_that_is_possible)
{
    for (unsigned width = 27; width < 60; width++) {
        char *text = table_of(cells, 2, &(struct text_style){.width_columns = width}, true);

        test_case("width %u", width);
        for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
            CHECK(text_columns(line) <= width);
        free(text);
    }
}

TEST(a_table_without_rows_has_titles_or_nothing)
{
    char *text = table_of(cells, 0, &(struct text_style){.width_columns = 80}, true);

    CHECK_TEXT(text, "TOTAL  FUNCTION  WHERE\n");
    free(text);
    text = table_of(cells, 0, &(struct text_style){.width_columns = 80}, false);
    CHECK_TEXT(text, "");
    free(text);
}

TEST(names_cannot_leave_their_cell)
{
    const char *const row[] = {"1 B", "a\nb\x1b[31m", "x"};
    char *text = table_of(row, 1, &(struct text_style){.width_columns = 80}, false);

    CHECK_TEXT(text, "1 B  a\\nb\\x1b[31m  x\n");
    free(text);
}

TEST(color_is_put_around_the_text_only)
{
    const char *const row[] = {"1 B", "f", "x.py:1"};
    char *text =
        table_of(row, 1, &(struct text_style){.width_columns = 80, .has_color = true}, false);

    CHECK_TEXT(text, "1 B  f  \033[2mx.py:1\033[0m\n");
    free(text);
}

TEST(color_is_decided_as_by_other_tools)
{
    static const struct {
        const char *no_color, *clicolor_force, *force_color, *terminal;
        bool is_terminal, expected;
    } cases[] = {
        {"", "", "", "xterm", true, true},     {"", "", "", "xterm", false, false},
        {"", "", "", "dumb", true, false},     {"1", "", "", "xterm", true, false},
        {"1", "1", "1", "xterm", true, false}, {"", "1", "", "xterm", false, true},
        {"", "0", "", "xterm", false, false},  {"", "", "1", "dumb", false, true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        test_case("%zu", i);
        setenv("NO_COLOR", cases[i].no_color, 1);
        setenv("CLICOLOR_FORCE", cases[i].clicolor_force, 1);
        setenv("FORCE_COLOR", cases[i].force_color, 1);
        setenv("TERM", cases[i].terminal, 1);
        CHECK(terminal_has_color(COLOR_AUTO, cases[i].is_terminal) == cases[i].expected);
        CHECK(terminal_has_color(COLOR_ALWAYS, cases[i].is_terminal));
        CHECK(!terminal_has_color(COLOR_NEVER, cases[i].is_terminal));
    }
}

TEST(the_first_locale_variable_that_is_set_decides)
{
    setenv("LC_ALL", "", 1);
    setenv("LC_CTYPE", "de_DE.utf8", 1);
    setenv("LANG", "C", 1);
    CHECK(terminal_is_utf8());
    setenv("LC_ALL", "C", 1);
    CHECK(!terminal_is_utf8());
    setenv("LC_ALL", "C.UTF-8", 1);
    CHECK(terminal_is_utf8());
    unsetenv("LC_ALL");
    unsetenv("LC_CTYPE");
    unsetenv("LANG");
    CHECK(!terminal_is_utf8());
}

TEST(what_is_no_terminal_has_the_width_of_a_file)
{
    int ends[2];

    CHECK(pipe(ends) == 0);
    CHECK_EQUAL(terminal_columns(ends[1]), 100);
}

static uint64_t fake_now_ns;

static uint64_t fake_clock(void)
{
    return fake_now_ns;
}

TEST(progress_is_drawn_when_it_takes_long_and_wiped_at_the_end)
{
    struct progress progress;
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    progress_begin(&progress, "reading x", out);
    progress.now_ns = fake_clock;
    progress.next_ns = 500;
    fake_now_ns = 499;
    CHECK(progress_step(&progress, 1, 4));
    fake_now_ns = 500;
    CHECK(progress_step(&progress, 1, 4));
    CHECK(progress_step(&progress, 2, 4)); /* too early to draw again */
    fake_now_ns += 100000000;
    CHECK(progress_step(&progress, UINT64_MAX, UINT64_MAX));
    progress_end(&progress);
    progress_end(&progress);
    CHECK(fclose(out) == 0);
    CHECK_TEXT(text, "\rreading x  25%\rreading x 100%\r              \r");
    free(text);
}

TEST(progress_without_a_terminal_writes_nothing)
{
    struct progress progress;

    progress_begin(&progress, "reading x", NULL);
    progress.next_ns = 0;
    CHECK(progress_step(&progress, 1, 0));
    progress_end(&progress);
}
