/*
 * Foreign text: what reaches a terminal cannot move it, and is as wide as it says.
 */
#include "test.h"

#include "print/numbers.h"
#include "print/text.h"

TEST(clean_text_shows_what_it_held)
{
    static const struct {
        const char *text, *clean, *ascii;
    } cases[] = {
        {"", "", ""},
        {"module.<locals>.f", "module.<locals>.f", "module.<locals>.f"},
        {"a\tb\nc\r\x1b[0m\x7f", "a\\tb\\nc\\r\\x1b[0m\\x7f", "a\\tb\\nc\\r\\x1b[0m\\x7f"},
        {"\xc3\xbc", "\xc3\xbc", "\\u00fc"},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", "\\U0001f600"},
        {"\xc2\x9b", "\\u009b", "\\u009b"},
        {"\xe2\x80\xae", "\\u202e", "\\u202e"},
        {"\xff\xc3", "\\xff\\xc3", "\\xff\\xc3"},
        {"\xed\xb3\xbf", "\\udcff", "\\udcff"},
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "\\xf4\\x90\\x80\\x80"},
        {"\xe0\x80\x80", "\\xe0\\x80\\x80", "\\xe0\\x80\\x80"},
    };
    struct memory_pool pool = {.newest = NULL};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        test_case("%zu", i);
        CHECK_TEXT(text_clean(&pool, cases[i].text, false), cases[i].clean);
        CHECK_TEXT(text_clean(&pool, cases[i].text, true), cases[i].ascii);
    }
    memory_pool_finish(&pool);
}

TEST(columns_are_those_of_a_terminal)
{
    CHECK_EQUAL(text_columns(""), 0);
    CHECK_EQUAL(text_columns("abc"), 3);
    CHECK_EQUAL(text_columns("gr\xc3\xbc\xc3\x9f"), 4);
    CHECK_EQUAL(text_columns("e\xcc\x81"), 1);                /* combining acute */
    CHECK_EQUAL(text_columns("\xe6\x97\xa5\xe6\x9c\xac"), 4); /* two ideographs */
    CHECK_EQUAL(text_columns("\xf0\x9f\x98\x80"), 2);
}

TEST(shortened_text_is_never_wider_than_asked)
{
    static const char *const texts[] = {"a", "lib/python3.11/email/feedparser.py:31",
                                        "\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c\xac",
                                        "gr\xc3\xbc\xc3\x9f"
                                        "e gr\xc3\xbc\xc3\x9f"
                                        "e",
                                        "e\xcc\x81"
                                        "e\xcc\x81"
                                        "e\xcc\x81"};
    struct memory_pool pool = {.newest = NULL};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        unsigned all = text_columns(texts[i]);

        for (unsigned columns = 1; columns < 45; columns++) {
            test_case("text %zu in %u columns", i, columns);
            for (unsigned is_ascii = 0; is_ascii < 2; is_ascii++) {
                const char *end = text_shorten_end(&pool, texts[i], columns, is_ascii);
                const char *start = text_shorten_start(&pool, texts[i], columns, is_ascii);

                CHECK(text_columns(end) <= columns && text_columns(start) <= columns);
                CHECK((end == texts[i]) == (all <= columns));
                CHECK((start == texts[i]) == (all <= columns));
            }
        }
    }
    memory_pool_finish(&pool);
}

TEST(paths_keep_their_end_and_names_their_start)
{
    struct memory_pool pool = {.newest = NULL};

    CHECK_TEXT(text_shorten_start(&pool, "email/feedparser.py:31", 12, false), "\xe2\x80\xa6"
                                                                               "arser.py:31");
    CHECK_TEXT(text_shorten_start(&pool, "email/feedparser.py:31", 12, true), "...ser.py:31");
    CHECK_TEXT(text_shorten_end(&pool, "get_file_breaks", 8, true), "get_f...");
    CHECK_TEXT(text_shorten_end(&pool, "get_file_breaks", 4, true), "get~");
    memory_pool_finish(&pool);
}

TEST(counts_have_commas)
{
    CHECK_TEXT(numbers_format_count(0).text, "0");
    CHECK_TEXT(numbers_format_count(999).text, "999");
    CHECK_TEXT(numbers_format_count(1000).text, "1,000");
    CHECK_TEXT(numbers_format_count(10515210).text, "10,515,210");
    CHECK_TEXT(numbers_format_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
}

TEST(shares_are_rounded_and_never_overflow)
{
    CHECK_TEXT(numbers_format_share(0, 0).text, "0.0");
    CHECK_TEXT(numbers_format_share(5, 0).text, "0.0");
    CHECK_TEXT(numbers_format_share(1, 3).text, "33.3");
    CHECK_TEXT(numbers_format_share(2, 3).text, "66.7");
    CHECK_TEXT(numbers_format_share(3, 3).text, "100.0");
    CHECK_TEXT(numbers_format_share(UINT64_MAX, UINT64_MAX).text, "100.0");
    CHECK_TEXT(numbers_format_share(UINT64_MAX / 2, UINT64_MAX).text, "50.0");
    CHECK_TEXT(numbers_format_share(1, UINT64_MAX).text, "0.0");
}
