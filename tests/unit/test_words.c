/*
 * Tests of the command line's work on words.
 */
#include "words.h"

#include "test.h"

TEST(plain_words_are_not_quoted)
{
    char *quoted = words_quote("dir/memtrack-app.py.42.bin");

    CHECK_TEXT(quoted, "dir/memtrack-app.py.42.bin");
    free(quoted);
}

TEST(a_shell_reads_quoted_words_as_they_are)
{
    static const char *const words[] = {"", "a b", "it's", "$HOME", "a\nb", "'", "\\", "*"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        char *quoted = words_quote(words[i]);
        char *command = words_format("printf %%s %s", quoted);
        char read_back[64] = "";
        FILE *shell = popen(command, "r");
        size_t length;

        test_case("%s", words[i]);
        CHECK(shell != NULL);
        length = fread(read_back, 1, sizeof(read_back) - 1, shell);
        CHECK(pclose(shell) == 0);
        CHECK_EQUAL(length, strlen(words[i]));
        CHECK_TEXT(read_back, words[i]);
        free(quoted);
        free(command);
    }
}

TEST(distance_counts_letters_put_in_taken_out_replaced_and_swapped)
{
    static const struct {
        const char *a, *b;
        size_t distance;
    } cases[] = {
        {"", "", 0},
        {"run", "run", 0},
        {"rn", "run", 1},
        {"runn", "run", 1},
        {"ran", "run", 1},
        {"rnu", "run", 1},
        {"table", "stable", 1},
        {"", "tree", 4},
        {"tree", "", 4},
        {"leeks", "leaks", 1},
        {"abc", "cba", 2},
        {"dump", "info", 4},
        {"stats", "tasts", 2},
        {"sumary", "summary", 1},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        test_case("%s, %s", cases[i].a, cases[i].b);
        CHECK_EQUAL(words_distance(cases[i].a, cases[i].b), cases[i].distance);
        CHECK_EQUAL(words_distance(cases[i].b, cases[i].a), cases[i].distance);
    }
}

TEST(words_of_any_length_are_far_apart)
{
    char longest[WORDS_DISTANCE_MAX + 1], longer[WORDS_DISTANCE_MAX + 2];

    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    CHECK_EQUAL(words_distance(longest, longest), 0);
    CHECK_EQUAL(words_distance(longest, longer), WORDS_DISTANCE_MAX);
    CHECK_EQUAL(words_distance(longer, ""), WORDS_DISTANCE_MAX);
}

TEST(a_relative_path_begins_at_the_working_directory)
{
    char *path;

    CHECK(chdir("/usr") == 0);
    path = words_absolute_path("a/b");
    CHECK_TEXT(path, "/usr/a/b");
    free(path);
    path = words_absolute_path("/a");
    CHECK_TEXT(path, "/a");
    free(path);
    CHECK(chdir("/") == 0);
    path = words_absolute_path("a");
    CHECK_TEXT(path, "/a");
    free(path);
}
