/*
 * Processes and threads: who gets a slot, what a life writes into a ring.
 */
#include "session.h"

#include "test.h"

#include <sys/mman.h>
#include <sys/resource.h>

static struct session_result result;

static void play(const char *scene, uint64_t pool_options)
{
    struct session_options options = {.pool_options = pool_options};

    session_run_scene(&options, scene, &result);
    CHECK(WIFEXITED(result.status));
}

static const struct pool_process *process_of(uint32_t number)
{
    for (uint32_t i = 0; i < POOL_PROCESS_COUNT; i++)
        if (result.pool.table[i].number == number)
            return &result.pool.table[i];
    CHECK(false);
    return NULL;
}

static bool has_process(uint32_t number)
{
    for (uint32_t i = 0; i < POOL_PROCESS_COUNT; i++)
        if (result.pool.table[i].number == number)
            return true;
    return false;
}

static bool find(uint32_t process, enum slot_op op, uint64_t bytes, struct pool_record *ret_record)
{
    struct pool_cursor cursor = session_main_stream(&result, process);

    return pool_cursor_find(&cursor, op, bytes, ret_record);
}

TEST(the_first_process_is_a_start_and_says_who_it_is)
{
    const struct pool_process *process;

    play("malloc", 0);
    process = process_of(1);
    CHECK_EQUAL(process->how, PROCESS_BY_START);
    CHECK_EQUAL(process->pid, result.hello.pid);
    CHECK_EQUAL(process->parent_number, 0);
    CHECK(process->first_segment > 0 && process->started_ns > 0 && process->epoch > 0);
    CHECK_EQUAL(result.hello.how, PROCESS_BY_EXEC);
}

TEST(a_forked_child_records_in_a_slot_of_its_own)
{
    struct pool_record record, life;
    const struct pool_process *child;
    uintptr_t address;

    play("fork", POOL_OPTION_FOLLOW);
    CHECK_EQUAL(result.status, 0);
    CHECK_EQUAL(result.count_hellos, 1);
    child = process_of(2);
    CHECK_EQUAL(child->how, PROCESS_BY_FORK);
    CHECK_EQUAL(child->parent_number, 1);
    CHECK(find(1, OP_ALLOC, 11111, &record));
    address = record.address;
    CHECK(find(1, OP_LIFE, UINT64_MAX, &life));
    CHECK_EQUAL(life.payload, LIFE_FORK);
    /* All before the mark is before the child's beginning, all behind it is not. */
    CHECK(life.segment < child->first_segment);
    CHECK(find(1, OP_ALLOC, 33333, &record));
    CHECK(record.segment >= child->first_segment || record.segment > life.segment);
    CHECK(find(2, OP_FREE, 0, &record));
    CHECK_EQUAL(record.address, address);
    CHECK(record.segment >= child->first_segment);
    CHECK(find(2, OP_ALLOC, 22222, &record));
    CHECK(find(2, OP_LIFE, UINT64_MAX, &record));
    CHECK_EQUAL(record.payload, LIFE_EXIT);
    CHECK_EQUAL(record.w1, 5);
}

TEST(a_grandchild_of_a_silent_child_is_the_first_ones_child)
{
    play("raw_fork", POOL_OPTION_FOLLOW);
    CHECK_EQUAL(result.status, 0);
    CHECK(!has_process(3));
    CHECK_EQUAL(process_of(2)->parent_number, 1);
}

TEST(a_child_that_is_not_followed_leaves_no_trace)
{
    struct pool_record record;

    play("fork", 0);
    CHECK_EQUAL(result.status, 0);
    CHECK(!has_process(2));
    CHECK_EQUAL(result.pool.count_streams, 1);
    CHECK(find(1, OP_ALLOC, 33333, &record));
    CHECK(!find(1, OP_ALLOC, 22222, &record));
    CHECK_EQUAL(process_of(1)->counters[COUNTER_LOST], 0);
}

TEST(what_a_child_of_vfork_does_is_its_parents)
{
    struct pool_record record;

    play("vfork", POOL_OPTION_FOLLOW);
    CHECK_EQUAL(result.status, 0);
    CHECK(!has_process(2));
    CHECK(find(1, OP_ALLOC, 22222, &record));
    CHECK(find(1, OP_ALLOC, 33333, &record));
    CHECK(!find(1, OP_LIFE, UINT64_MAX, &record)); /* it did not end */
}

TEST(an_exec_is_announced_and_the_new_image_comes_back)
{
    struct pool_record record;

    play("exec", POOL_OPTION_FOLLOW);
    CHECK_EQUAL(result.status, 0);
    CHECK_EQUAL(result.count_hellos, 2);
    CHECK(find(1, OP_LIFE, UINT64_MAX, &record));
    CHECK_EQUAL(record.payload, LIFE_EXEC);
    CHECK_EQUAL(record.arg, 0);
    CHECK_EQUAL(process_of(2)->how, PROCESS_BY_EXEC);
    CHECK(find(2, OP_ALLOC, 12345, &record));
}

TEST(an_exec_that_leaves_the_session_says_so)
{
    struct pool_record record;

    play("exec_without_session", POOL_OPTION_FOLLOW);
    CHECK_EQUAL(result.status, 0);
    CHECK_EQUAL(result.count_hellos, 1);
    CHECK(find(1, OP_LIFE, UINT64_MAX, &record));
    CHECK_EQUAL(record.payload, LIFE_EXEC);
    CHECK_EQUAL(record.arg, 1);
}

TEST(an_exec_that_failed_is_taken_back)
{
    struct pool_cursor cursor;
    struct pool_record record;

    play("exec_fails", POOL_OPTION_FOLLOW);
    CHECK_EQUAL(result.status, 0);
    cursor = session_main_stream(&result, 1);
    CHECK(pool_cursor_find(&cursor, OP_LIFE, UINT64_MAX, &record));
    CHECK_EQUAL(record.payload, LIFE_EXEC);
    CHECK(pool_cursor_find(&cursor, OP_LIFE, UINT64_MAX, &record));
    CHECK_EQUAL(record.payload, LIFE_EXEC_FAILED);
    CHECK_EQUAL(record.w1, 2); /* ENOENT */
    CHECK(pool_cursor_find(&cursor, OP_ALLOC, 33333, &record));
}

TEST(an_exec_is_refused_for_what_linux_refuses_it_for)
{
    struct pool_record record;

    play("exec_refused", POOL_OPTION_FOLLOW);
    CHECK_EQUAL(result.status, 0);
    CHECK(find(1, OP_ALLOC, 33333, &record));
}

TEST(the_exit_code_is_noted)
{
    struct pool_record record;

    play("exit", 0);
    CHECK_EQUAL(WEXITSTATUS(result.status), 77);
    CHECK(find(1, OP_LIFE, UINT64_MAX, &record));
    CHECK_EQUAL(record.payload, LIFE_EXIT);
    CHECK_EQUAL(record.w1, 77);
    test_pool_finish(&result.pool);
    play("quick_exit", 0);
    CHECK_EQUAL(WEXITSTATUS(result.status), 78);
    CHECK(find(1, OP_LIFE, UINT64_MAX, &record));
    CHECK_EQUAL(record.w1, 78);
}

/* Run the scene that starts children in five ways; what each said of its environment. */
static void run_children(uint64_t pool_options, char *ret_text, size_t text_bytes)
{
    int fd = memfd_create("output", MFD_CLOEXEC);
    struct session_options options = {.pool_options = pool_options, .output_fd = fd};
    ssize_t size;

    CHECK(fd >= 0);
    session_run_scene(&options, "children", &result);
    size = pread(fd, ret_text, text_bytes - 1, 0);
    CHECK(size >= 0);
    ret_text[size] = '\0';
    close(fd);
    CHECK_EQUAL(result.status, 0);
}

TEST(children_find_the_session_in_their_environment)
{
    char text[32];

    run_children(POOL_OPTION_FOLLOW, text, sizeof(text));
    CHECK_TEXT(text, "99999");
}

TEST(children_that_are_not_followed_do_not_find_it)
{
    char text[32];

    run_children(0, text, sizeof(text));
    CHECK_TEXT(text, "00000");
    CHECK_EQUAL(result.count_hellos, 1);
}

TEST(a_name_of_a_thread_is_announced)
{
    unsigned found = 0;

    play("names", 0);
    for (uint32_t i = 0; i < result.pool.count_streams; i++) {
        const struct pool_stream *stream = &result.pool.streams[i];
        struct pool_cursor cursor = {.stream = stream};
        struct pool_record record;
        uint8_t bytes[30];

        while (pool_cursor_find(&cursor, OP_BLOB, UINT64_MAX, &record)) {
            CHECK_EQUAL(record.arg, 3); /* first and last */
            CHECK_EQUAL(record.payload & 255, BLOB_NAME);
            CHECK_EQUAL(record.w1, record.payload >> 24 & 0xfff);
            memcpy(bytes, &record.rest[0].w1, 8);
            memcpy(bytes + 8, &record.rest[0].w0, 7);
            CHECK(memcmp(bytes, &stream->tid, 4) == 0 && bytes[4] == NAME_THREAD);
            found |= memcmp(bytes + 8, "first", 5) == 0 && record.w1 == 13 ? 1 : 0;
            found |= memcmp(bytes + 8, "second", 6) == 0 && record.w1 == 14 ? 2 : 0;
        }
    }
    CHECK_EQUAL(found, 3);
}

static void limit_address_space(void)
{
    struct rlimit limit = {(rlim_t)1 << 30, (rlim_t)1 << 30};

    setrlimit(RLIMIT_AS, &limit);
}

TEST(a_small_target_maps_the_first_rings_only)
{
    struct session_options options = {.ring_count = 4096, .in_child = limit_address_space};
    struct pool_record record;

    session_run_scene(&options, "malloc", &result);
    CHECK_EQUAL(result.status, 0);
    CHECK(find(1, OP_ALLOC, 12345, &record));
}
