/*
 * The program does not notice: with a session, without one, with one that does not answer.
 */
#include "session.h"

#include "test.h"

#include <sys/mman.h>

static struct session_result result;

static void play(const struct session_options *options, const char *scene)
{
    session_run_scene(options, scene, &result);
    CHECK_EQUAL(result.status, 0);
}

TEST(errno_stays_what_it_was)
{
    struct session_options options = {0};

    play(&options, "errno");
    CHECK(pool_count(&result.pool, OP_SYNC) > 10); /* slow paths were taken */
}

TEST(nothing_is_allocated_by_recording)
{
    struct session_options options = {.preload_more = MEMTRACK_PROVIDER};

    play(&options, "counts");
    CHECK(pool_count(&result.pool, OP_CLOCK) > 1);
}

TEST(without_a_collector_nothing_happens)
{
    static const struct session_options cases[] = {
        {.refuses = true}, {.has_no_socket = true}, {.is_silent = true}};

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        test_case("case %u", i);
        play(&cases[i], "family");
        CHECK_EQUAL(result.pool.count_streams, 0);
        test_pool_finish(&result.pool);
        play(&cases[i], "fork");
        CHECK_EQUAL(result.pool.count_streams, 0);
        test_pool_finish(&result.pool);
    }
}

static void close_standard_input(void)
{
    close(STDIN_FILENO);
}

static void read_descriptors(bool is_tracked, char *ret_text, size_t text_bytes)
{
    int fd = memfd_create("output", MFD_CLOEXEC);
    struct session_options options = {
        .output_fd = fd, .in_child = close_standard_input, .has_no_socket = !is_tracked};
    ssize_t size;

    CHECK(fd >= 0);
    play(&options, "descriptors");
    CHECK_EQUAL(result.pool.count_streams, is_tracked ? 1 : 0);
    size = pread(fd, ret_text, text_bytes - 1, 0);
    CHECK(size > 0);
    ret_text[size] = '\0';
    close(fd);
}

TEST(no_descriptor_is_left_open)
{
    char tracked[256], alone[256];

    read_descriptors(true, tracked, sizeof(tracked));
    read_descriptors(false, alone, sizeof(alone));
    CHECK_TEXT(tracked, alone);
}

TEST(dlopen_finds_what_the_callers_runpath_says)
{
    struct session_options options = {0};
    struct pool_cursor cursor;
    struct pool_record record;

    play(&options, "runpath");
    /* RTLD_DEEPBIND did not take the plugin's malloc away from us. */
    cursor = session_main_stream(&result, 1);
    CHECK(pool_cursor_find(&cursor, OP_ALLOC, 54321, &record));
}

TEST(a_strict_filter_is_not_broken)
{
    struct session_options options = {0};

    play(&options, "strict");
    CHECK_EQUAL(result.pool.streams[0].lost, 0);
}

TEST(a_ring_that_nobody_drains_costs_the_program_a_second_and_no_more_data_than_is_counted)
{
    struct session_options options = {.lets_rings_fill = true, .is_stopped = true};
    struct pool_cursor cursor;
    struct pool_record record;
    uint64_t count = 0;

    play(&options, "many");
    cursor = session_main_stream(&result, 1);
    while (pool_cursor_next(&cursor, &record))
        count += record.bytes == 33 || record.op == OP_FREE;
    CHECK(result.pool.streams[0].lost > 0);
    CHECK(count + result.pool.streams[0].lost >= 80000);
}
