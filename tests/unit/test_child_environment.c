/*
 * The environment of a program about to be started.
 */
#include "hook/environment.h"

#include "base/syscalls.h"
#include "hook/filter.h"
#include "record/process.h"

#include "test.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static struct pool_header header;
static struct environment copy;
static const struct program program = {.path = "/proc/self/exe", .fd = AT_FDCWD};

/* options: enum pool_option of the session. */
static void begin(uint64_t options)
{
    header.options = options;
    process.header = &header;
}

/* Make a vector of texts, as main() gets one. Ours until the test ends. */
static char *const *vector_of(const char *joined)
{
    static struct {
        char text[256];
        char *vector[16];
    } vectors[8];
    static unsigned count;
    unsigned used = 0;
    char *text = vectors[count].text;

    CHECK(count < sizeof(vectors) / sizeof(vectors[0]) && strlen(joined) < sizeof(vectors[0].text));
    strcpy(text, joined);
    for (char *next = strtok(text, "|"); next != NULL; next = strtok(NULL, "|"))
        vectors[count].vector[used++] = next;
    return vectors[count++].vector;
}

TEST(an_environment_has_the_session_when_it_has_both_variables)
{
    static const char *const with[] = {
        "A=1|MEMTRACK_SESSION=x|LD_PRELOAD=/lib/libmemtrack.so",
        "LD_PRELOAD=/a.so /lib/libmemtrack.so:/b.so|MEMTRACK_SESSION=",
    };
    static const char *const without[] = {
        "MEMTRACK_SESSION=x|LD_PRELOAD=/lib/libmemtrack.so.old",
        "LD_PRELOAD=libmemtrack.so|MEMTRACK_SESSIONS=x",
        "",
    };

    for (unsigned i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
        test_case("%s", with[i]);
        CHECK(environment_has_session(vector_of(with[i])));
    }
    for (unsigned i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
        test_case("%s", without[i]);
        CHECK(!environment_has_session(vector_of(without[i])));
    }
    CHECK(!environment_has_session(NULL));
}

TEST(followed_children_get_the_original)
{
    char *const *vector = vector_of("MEMTRACK_SESSION=x");

    environment_copy(&copy, vector, &program); /* without a session */
    CHECK(copy.vector == vector);
    begin(POOL_OPTION_FOLLOW);
    environment_copy(&copy, vector, &program);
    CHECK(copy.vector == vector);
    environment_finish(&copy);
}

TEST(what_is_ours_is_left_out_and_nothing_else)
{
    char *const *vector =
        vector_of("A=1|MEMTRACK_SESSION=x|LD_PRELOAD=/a.so:/x/libmemtrack.so /b.so|"
                  "MEMTRACK=y|LD_PRELOAD=libmemtrack.so|B=");

    begin(0);
    environment_copy(&copy, vector, &program);
    CHECK_TEXT(copy.vector[0], "A=1");
    CHECK_TEXT(copy.vector[1], "LD_PRELOAD=/a.so:/b.so");
    CHECK_TEXT(copy.vector[2], "MEMTRACK=y");
    CHECK_TEXT(copy.vector[3], "B=");
    CHECK(copy.vector[4] == NULL);
    CHECK(copy.mapped == NULL);
    CHECK_TEXT(vector[2], "LD_PRELOAD=/a.so:/x/libmemtrack.so /b.so");
    environment_finish(&copy);
}

TEST(a_large_environment_is_copied_all_the_same)
{
    static char *vector[ENVIRONMENT_MAX_COUNT + 10];
    static char other[] = "A=1", session[] = "MEMTRACK_SESSION=x";
    static char preload[3 * ENVIRONMENT_MAX_TEXT_BYTES] = "LD_PRELOAD=libmemtrack.so:";
    size_t length = strlen(preload);

    memset(preload + length, 'x', sizeof(preload) - length - 1);
    for (unsigned i = 0; i < ENVIRONMENT_MAX_COUNT + 9; i++)
        vector[i] = i == 5 ? session : i == 7 ? preload : other;
    begin(0);
    environment_copy(&copy, vector, &program);
    CHECK(copy.mapped != NULL);
    CHECK_EQUAL(strlen(copy.vector[6]), strlen(preload) - strlen("libmemtrack.so:"));
    CHECK_TEXT(copy.vector[ENVIRONMENT_MAX_COUNT + 7], "A=1");
    CHECK(copy.vector[ENVIRONMENT_MAX_COUNT + 8] == NULL);
    environment_finish(&copy);
    CHECK(copy.mapped == NULL);
}

TEST(no_environment_stays_none)
{
    begin(0);
    environment_copy(&copy, NULL, &program);
    CHECK(copy.vector == NULL);
}

TEST(a_program_of_another_architecture_gets_nothing_of_ours)
{
    static const char foreign[64] = {0x7f, 'E', 'L', 'F'};
    int fd = memfd_create("program", MFD_CLOEXEC);
    struct program other = {.path = "", .fd = fd, .flags = AT_EMPTY_PATH};
    char *const *vector = vector_of("MEMTRACK_SESSION=x|A=1|LD_PRELOAD=libmemtrack.so");

    CHECK(fd >= 0 && write(fd, foreign, sizeof(foreign)) == sizeof(foreign));
    begin(POOL_OPTION_FOLLOW);
    environment_copy(&copy, vector, &program);
    CHECK(copy.vector == vector);
    environment_copy(&copy, vector, &other);
    CHECK_TEXT(copy.vector[0], "A=1");
    CHECK(copy.vector[1] == NULL);
    environment_finish(&copy);
    /* Nothing of it is to be loaded: nobody looks. */
    vector = vector_of("MEMTRACK_SESSION=x|LD_PRELOAD=/other.so");
    environment_copy(&copy, vector, &other);
    CHECK(copy.vector == vector);
}

TEST(a_library_without_a_session_is_left_out_too)
{
    char *const *vector =
        vector_of("LD_PRELOAD= :/x/libmemtrack.so: |A=1|LD_PRELOADED=libmemtrack.so");

    CHECK(environment_has_library(vector));
    CHECK(environment_copy_without_us(&copy, vector));
    CHECK_TEXT(copy.vector[0], "A=1");
    CHECK_TEXT(copy.vector[1], "LD_PRELOADED=libmemtrack.so");
    CHECK(copy.vector[2] == NULL);
    CHECK(!environment_has_library(copy.vector));
    CHECK(!environment_has_library(NULL));
    environment_finish(&copy);
}

TEST(a_session_is_marked_once_behind_a_filter)
{
    char *const *vector = vector_of("A=1|MEMTRACK_SESSION=?17:x:y:/c|LD_PRELOAD=/libmemtrack.so");
    char count[16];
    const char *mark;

    begin(POOL_OPTION_FOLLOW);
    filter_remember();
    sys_expect_filter(SYS_FILTER_OTHERS);
    environment_copy(&copy, vector, &program);
    CHECK_TEXT(copy.vector[0], "A=1");
    CHECK_TEXT(copy.vector[2], "LD_PRELOAD=/libmemtrack.so");
    mark = strchr(copy.vector[1], '=') + 1;
    CHECK(mark[0] == '?' && strspn(mark + 1, "0123456789") == strcspn(mark, ":") - 1);
    CHECK_TEXT(filter_skip_mark(mark), "x:y:/c");
    CHECK(filter_allows(mark)); /* none has come since */
    environment_finish(&copy);
    snprintf(count, sizeof(count), "?%u:x", (unsigned)atoi(mark + 1) + 1);
    CHECK(filter_allows(count) == (atoi(mark + 1) == 0));
    CHECK(filter_allows("x:y:/c"));
    CHECK_TEXT(filter_skip_mark("x:y:/c"), "x:y:/c");
    CHECK_TEXT(filter_skip_mark("?5"), "");
}
