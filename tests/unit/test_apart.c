/*
 * Work apart: what it comes to is had whole or not at all, and no way to end it reaches us.
 */
#include "test.h"

#include "symbol/apart.h"

#include <fcntl.h>
#include <signal.h>

enum {
    LARGE_BYTES = 3 << 20,
    LONG_SECONDS = 100,
};

enum way {
    WAY_WELL,
    WAY_NOTHING,
    WAY_LARGE,
    WAY_CRASH,
    WAY_ABORT,
    WAY_EXIT,
    WAY_FAIL,
    WAY_KILL,
    WAY_PRINT,
    WAY_COUNT,
};

static bool do_work(void *user, size_t index, const uint8_t **ret_bytes, size_t *ret_size_bytes)
{
    static uint8_t large[LARGE_BYTES];

    (void)user;
    switch ((enum way)(index % WAY_COUNT)) {
    case WAY_WELL:
    case WAY_PRINT:
        printf("this is nobody's output\n");
        fflush(stdout);
        *ret_bytes = (const uint8_t *)"well";
        *ret_size_bytes = 4;
        return true;
    case WAY_NOTHING:
        return true;
    case WAY_LARGE:
        memset(large, 7, sizeof(large));
        *ret_bytes = large;
        *ret_size_bytes = sizeof(large);
        return true;
    case WAY_CRASH:
        raise(SIGSEGV);
        return true;
    case WAY_ABORT:
        abort();
    case WAY_EXIT:
        exit(0); // NOLINT(concurrency-mt-unsafe)
    case WAY_KILL:
        raise(SIGKILL);
        return true;
    case WAY_FAIL:
    case WAY_COUNT:
        break;
    }
    return false;
}

static void check_results(size_t rounds)
{
    size_t count = rounds * WAY_COUNT;
    struct apart_result *results = calloc(count, sizeof(*results));

    CHECK(results != NULL);
    apart_run(do_work, NULL, count, LONG_SECONDS, results);
    for (size_t i = 0; i < count; i++) {
        enum way way = (enum way)(i % WAY_COUNT);
        size_t expected = way == WAY_LARGE ? LARGE_BYTES : way == WAY_NOTHING ? 0 : 4;
        bool is_well = way == WAY_WELL || way == WAY_PRINT || expected != 4;

        test_case("way %d", (int)way);
        CHECK((results[i].bytes != NULL) == is_well);
        if (is_well)
            CHECK_EQUAL(results[i].size_bytes, expected);
        if (way == WAY_LARGE)
            CHECK(results[i].bytes[0] == 7 && results[i].bytes[LARGE_BYTES - 1] == 7);
        free(results[i].bytes);
    }
    free(results);
}

TEST(what_ends_a_worker_ends_nothing_else)
{
    check_results(3);
}

TEST(a_program_that_takes_no_notice_of_its_children_gets_the_same)
{
    signal(SIGCHLD, SIG_IGN);
    check_results(1);
}

static bool never_end(void *user, size_t index, const uint8_t **ret_bytes, size_t *ret_size_bytes)
{
    (void)user;
    (void)index;
    (void)ret_bytes;
    (void)ret_size_bytes;
    for (volatile uint64_t i = 0;; i++)
        ;
    return true;
}

TEST(work_without_an_end_is_ended)
{
    struct apart_result results[2];

    apart_run(never_end, NULL, 2, 1, results);
    CHECK(results[0].bytes == NULL && results[1].bytes == NULL);
}

TEST(no_work_is_done_at_once)
{
    apart_run(do_work, NULL, 0, LONG_SECONDS, NULL);
}

static int trace_fd;

static void leave_a_trace(void)
{
    if (write(trace_fd, "!", 1) != 1)
        abort();
}

TEST(what_a_program_does_at_its_end_workers_do_not)
{
    struct apart_result results[WAY_COUNT];
    char text[] = "/tmp/memtrack-test-XXXXXX";
    int fd = mkstemp(text), saved = dup(STDOUT_FILENO);

    trace_fd = fd;
    CHECK(fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0 && atexit(leave_a_trace) == 0);
    printf("once"); /* in the buffer, which a worker has too */
    apart_run(do_work, NULL, WAY_COUNT, LONG_SECONDS, results);
    fflush(stdout);
    CHECK(dup2(saved, STDOUT_FILENO) >= 0);
    CHECK_EQUAL((uint64_t)lseek(fd, 0, SEEK_END), strlen("once"));
    unlink(text);
    for (size_t i = 0; i < WAY_COUNT; i++)
        free(results[i].bytes);
    trace_fd = open("/dev/null", O_WRONLY);
    close(fd);
}
