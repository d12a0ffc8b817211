/*
 * Tests of the file that a capture is to replace.
 */
#include "replaced.h"

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_links;
static char directory[] = "/tmp/memtrack-test-XXXXXX";
static struct replaced replaced;

/* In the place of libc's: a file system may have no hard links. */
int link(const char *from, const char *to)
{
    if (has_links)
        return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
    errno = EPERM;
    return -1;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");

    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void check_file(const char *name, const char *expected)
{
    char text[32] = "";
    FILE *file = fopen(name, "r");

    CHECK(file != NULL && fgets(text, sizeof(text), file) != NULL && fclose(file) == 0);
    CHECK_TEXT(text, expected);
}

static void begin(bool links)
{
    struct error err;

    has_links = links;
    CHECK(mkdtemp(directory) != NULL && chdir(directory) == 0);
    write_file("file", "old");
    CHECK(symlink("file", "link") == 0);
    CHECK(replaced_keep("link", &replaced, &err));
    check_file(replaced.kept, "old");
}

/* Nothing else may be left. */
static void end(void)
{
    CHECK(replaced.path == NULL && replaced.kept == NULL);
    CHECK(unlink("file") == 0 && unlink("link") == 0);
    CHECK(rmdir(directory) == 0);
    memcpy(directory + sizeof(directory) - 7, "XXXXXX", 6);
}

/* The capture takes the name, or is not begun. */
static void check_both(bool links, bool is_begun)
{
    begin(links);
    if (is_begun) {
        write_file("new", "new");
        CHECK(rename("new", "file") == 0);
    }
    replaced_restore(&replaced);
    check_file("file", "old");
    end();
}

TEST(a_file_comes_back_to_its_name)
{
    for (unsigned i = 0; i < 4; i++) {
        test_case("links %u, begun %u", i & 1, i >> 1);
        check_both((i & 1) != 0, (i >> 1) != 0);
    }
}

TEST(a_file_is_gone_when_it_is_let_go)
{
    for (unsigned links = 0; links < 2; links++) {
        begin(links != 0);
        write_file("new", "new");
        CHECK(rename("new", "file") == 0);
        replaced_let_go(&replaced);
        check_file("file", "new");
        end();
    }
}

TEST(a_file_that_is_not_there_is_no_file_to_keep)
{
    struct error err;

    CHECK(!replaced_keep("/nonexistent/file", &replaced, &err));
    CHECK(strstr(err.text, "/nonexistent/file: cannot be replaced") != NULL);
    CHECK(replaced.kept == NULL);
    replaced_restore(&replaced);
    replaced_let_go(&replaced);
}
