/*
 * What the malloc family writes into a ring.
 */
#include "session.h"

#include "test.h"

/* Play a scene that goes well. */
static void play(const char *scene, const struct session_options *options,
                 struct session_result *ret_result)
{
    session_run_scene(options, scene, ret_result);
    CHECK_EQUAL(ret_result->status, 0);
    CHECK_EQUAL(ret_result->count_hellos, 1);
}

/* Find the next record of this op and these bytes, which must be there. */
static struct pool_record next(struct pool_cursor *cursor, enum slot_op op, uint64_t bytes)
{
    struct pool_record record;

    test_case("op %d, %" PRIu64 " bytes", (int)op, bytes);
    CHECK(pool_cursor_find(cursor, op, bytes, &record));
    return record;
}

TEST(a_block_is_recorded_when_it_comes_and_when_it_goes)
{
    struct session_options options = {0};
    struct session_result result;
    struct pool_cursor cursor;
    struct pool_record record;
    uintptr_t address;

    play("malloc", &options, &result);
    cursor = session_main_stream(&result, 1);
    record = next(&cursor, OP_ALLOC, 12345);
    CHECK_EQUAL(record.allocator, ALLOCATOR_MALLOC);
    CHECK_EQUAL(record.domain, DOMAIN_HEAP);
    CHECK(!record.is_detached);
    address = record.address;
    record = next(&cursor, OP_FREE, 0);
    CHECK_EQUAL(record.address, address);
    CHECK_EQUAL(record.allocator, ALLOCATOR_FREE);
    test_pool_finish(&result.pool);
}

TEST(the_first_records_are_sync_and_clock)
{
    struct session_options options = {0};
    struct session_result result;
    struct pool_cursor cursor;
    struct pool_record record;

    play("malloc", &options, &result);
    cursor = session_main_stream(&result, 1);
    CHECK(pool_cursor_next(&cursor, &record));
    CHECK_EQUAL(record.op, OP_SYNC);
    CHECK_EQUAL(record.w1 >> 32 & 255, SYNC_CLAIM);
    CHECK((uint32_t)record.w1 > 0);
    CHECK(pool_cursor_next(&cursor, &record));
    CHECK_EQUAL(record.op, OP_CLOCK);
    CHECK(record.w1 > 0);
    test_pool_finish(&result.pool);
}

TEST(realloc_is_a_release_and_an_allocation)
{
    struct session_options options = {0};
    struct session_result result;
    struct pool_cursor cursor;
    struct pool_record record;
    uintptr_t address;

    play("realloc", &options, &result);
    cursor = session_main_stream(&result, 1);
    record = next(&cursor, OP_ALLOC, 1111);
    CHECK_EQUAL(record.allocator, ALLOCATOR_REALLOC);
    address = record.address;
    record = next(&cursor, OP_FREE, 0);
    CHECK_EQUAL(record.address, address);
    CHECK_EQUAL(record.allocator, ALLOCATOR_REALLOC);
    record = next(&cursor, OP_ALLOC, 222222);
    CHECK_EQUAL(record.allocator, ALLOCATOR_REALLOC);
    address = record.address;
    record = next(&cursor, OP_FREE, 0);
    CHECK_EQUAL(record.address, address);
    record = next(&cursor, OP_ALLOC, 3333);
    CHECK_EQUAL(record.allocator, ALLOCATOR_REALLOCARRAY);
    address = record.address;
    record = next(&cursor, OP_FREE, 0);
    CHECK_EQUAL(record.address, address);
    CHECK_EQUAL(record.allocator, ALLOCATOR_REALLOC);
    CHECK_EQUAL(pool_count(&result.pool, OP_UNDO), 0);
    CHECK_EQUAL(pool_count(&result.pool, OP_FAIL), 0);
    test_pool_finish(&result.pool);
}

TEST(every_entry_has_its_number)
{
    static const struct {
        uint64_t bytes;
        enum allocator allocator;
    } made[] = {
        {7007, ALLOCATOR_CALLOC},        {1002, ALLOCATOR_POSIX_MEMALIGN},
        {1088, ALLOCATOR_ALIGNED_ALLOC}, {1003, ALLOCATOR_MEMALIGN},
        {1004, ALLOCATOR_VALLOC},        {1005, ALLOCATOR_PVALLOC},
        {1006, ALLOCATOR_MALLOC},        {1007, ALLOCATOR_MEMALIGN},
    };
    struct session_options options = {0};
    struct session_result result;
    struct pool_cursor cursor;
    uintptr_t addresses[8];

    play("family", &options, &result);
    cursor = session_main_stream(&result, 1);
    for (unsigned i = 0; i < 8; i++) {
        struct pool_record record = next(&cursor, OP_ALLOC, made[i].bytes);

        CHECK_EQUAL(record.allocator, made[i].allocator);
        addresses[i] = record.address;
    }
    for (unsigned i = 0; i < 8; i++) {
        struct pool_record record = next(&cursor, OP_FREE, 0);

        CHECK_EQUAL(record.address, addresses[i]);
        CHECK_EQUAL(record.allocator, i == 6   ? ALLOCATOR_FREE_SIZED
                                      : i == 7 ? ALLOCATOR_FREE_ALIGNED_SIZED
                                               : ALLOCATOR_FREE);
    }
    test_pool_finish(&result.pool);
}

TEST(a_failure_is_recorded_and_its_release_taken_back)
{
    struct session_options options = {0};
    struct session_result result;
    struct pool_cursor cursor;
    struct pool_record record;
    uintptr_t address;

    play("failures", &options, &result);
    cursor = session_main_stream(&result, 1);
    address = next(&cursor, OP_ALLOC, 4321).address;
    CHECK_EQUAL(next(&cursor, OP_FAIL, BLOCK_BYTES_MASK).allocator, ALLOCATOR_MALLOC);
    CHECK_EQUAL(next(&cursor, OP_FAIL, BLOCK_BYTES_MASK).allocator, ALLOCATOR_CALLOC);
    record = next(&cursor, OP_FREE, 0);
    CHECK_EQUAL(record.address, address);
    CHECK_EQUAL(record.allocator, ALLOCATOR_REALLOC);
    record = next(&cursor, OP_UNDO, 0);
    CHECK_EQUAL(record.address, address);
    CHECK_EQUAL(record.allocator, ALLOCATOR_REALLOC);
    CHECK_EQUAL(next(&cursor, OP_FAIL, BLOCK_BYTES_MASK).allocator, ALLOCATOR_REALLOC);
    CHECK_EQUAL(next(&cursor, OP_FAIL, BLOCK_BYTES_MASK).allocator, ALLOCATOR_REALLOCARRAY);
    CHECK_EQUAL(next(&cursor, OP_FAIL, BLOCK_BYTES_MASK).allocator, ALLOCATOR_POSIX_MEMALIGN);
    record = next(&cursor, OP_FREE, 0);
    CHECK_EQUAL(record.address, address);
    CHECK_EQUAL(pool_count(&result.pool, OP_FAIL), 5);
    CHECK_EQUAL(pool_count(&result.pool, OP_UNDO), 1);
    test_pool_finish(&result.pool);
}

TEST(a_big_block_begins_a_segment)
{
    struct session_options options = {0};
    struct session_result result;
    struct pool_cursor cursor;
    struct pool_record record;

    play("big", &options, &result);
    cursor = session_main_stream(&result, 1);
    for (unsigned i = 0; i < 3; i++) {
        do
            record = next(&cursor, OP_SYNC, UINT64_MAX);
        while ((record.w1 >> 32 & 255) != SYNC_BIG);
        CHECK(pool_cursor_next(&cursor, &record));
        CHECK_EQUAL(record.op, OP_ALLOC);
        CHECK_EQUAL(record.bytes, 65536 + i);
    }
    test_pool_finish(&result.pool);
}

TEST(a_size_beyond_4_gib_fits)
{
    struct session_options options = {0};
    struct session_result result;
    struct pool_cursor cursor;

    session_run_scene(&options, "large", &result);
    cursor = session_main_stream(&result, 1);
    next(&cursor, OP_ALLOC, UINT64_C(3) << 30);
    test_pool_finish(&result.pool);
}

/* One event of a process, for replaying. */
struct replayed {
    uint64_t segment;
    uint64_t order; /* in its stream */
    struct pool_record record;
};

static int compare_replayed(const void *left, const void *right)
{
    const struct replayed *a = left, *b = right;

    if (a->segment != b->segment)
        return a->segment < b->segment ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Put the heap's events into their order: on each address ALLOC and FREE must take turns. */
static void check_alternation(const struct test_pool *pool, bool may_have_holes)
{
    struct replayed *events = NULL;
    size_t count = 0, capacity = 0;
    static uintptr_t live[1 << 16];
    size_t count_live = 0, violations = 0;

    for (uint32_t i = 0; i < pool->count_streams; i++) {
        struct pool_cursor cursor = {.stream = &pool->streams[i]};
        struct pool_record record;

        while (pool_cursor_next(&cursor, &record)) {
            if (record.domain != DOMAIN_HEAP || (record.op != OP_ALLOC && record.op != OP_FREE))
                continue;
            if (count == capacity) {
                capacity = capacity == 0 ? 4096 : 2 * capacity;
                events = realloc(events, capacity * sizeof(*events));
                CHECK(events != NULL);
            }
            events[count++] = (struct replayed){record.segment, cursor.next, record};
        }
    }
    qsort(events, count, sizeof(*events), compare_replayed);
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;

        while (at < count_live && live[at] != events[i].record.address)
            at++;
        if (events[i].record.op == OP_ALLOC) {
            violations += at < count_live;
            CHECK(count_live < sizeof(live) / sizeof(live[0]));
            if (at == count_live)
                live[count_live++] = events[i].record.address;
        } else if (at < count_live) {
            live[at] = live[--count_live];
        } else {
            violations++;
        }
    }
    free(events);
    CHECK(count > 0);
    /* The event of a hook that was left has not been recorded: its other half stands alone. */
    if (!may_have_holes)
        CHECK_EQUAL(violations, 0);
}

TEST(events_of_threads_come_in_their_order)
{
    struct session_options options = {0};
    struct session_result result;

    play("threads", &options, &result);
    CHECK_EQUAL(result.pool.count_streams, 5);
    check_alternation(&result.pool, false);
    test_pool_finish(&result.pool);
}

TEST(a_block_handed_over_is_released_behind_its_allocation)
{
    struct session_options options = {.ring_count = 256};
    struct session_result result;

    play("hand_over", &options, &result);
    check_alternation(&result.pool, false);
    test_pool_finish(&result.pool);
}

TEST(hooks_left_by_siglongjmp_leave_a_ring_that_can_be_read)
{
    struct session_options options = {.preload_more = MEMTRACK_PROVIDER};
    struct session_result result;
    struct pool_cursor cursor;

    play("jumps", &options, &result);
    cursor = session_main_stream(&result, 1);
    next(&cursor, OP_ALLOC, 12345);
    next(&cursor, OP_FREE, 0);
    CHECK_EQUAL(result.pool.streams[0].lost, 0);
    check_alternation(&result.pool, true);
    test_pool_finish(&result.pool);
}

TEST(an_allocator_that_calls_itself_by_name_is_recorded_once)
{
    struct session_options options = {.preload_more = MEMTRACK_PROVIDER};
    struct session_result result;
    struct pool_cursor cursor;
    struct pool_record record;
    unsigned count = 0;

    play("family", &options, &result);
    cursor = session_main_stream(&result, 1);
    while (pool_cursor_find(&cursor, OP_ALLOC, 7007, &record)) {
        CHECK_EQUAL(record.allocator, ALLOCATOR_CALLOC);
        count++;
    }
    CHECK_EQUAL(count, 1);
    check_alternation(&result.pool, false);
    test_pool_finish(&result.pool);
}

TEST(what_an_allocator_maps_for_itself_is_an_arena)
{
    struct session_options options = {.preload_more = MEMTRACK_PROVIDER};
    struct session_result result;
    struct pool_cursor cursor;
    struct pool_record record;

    play("malloc", &options, &result);
    cursor = session_main_stream(&result, 1);
    while (pool_cursor_next(&cursor, &record) && record.op != OP_MAP)
        ;
    CHECK_EQUAL(record.op, OP_MAP);
    CHECK_EQUAL(record.map_class, CLASS_ARENA);
    CHECK_EQUAL(result.pool.table[0].flags, 0);
    test_pool_finish(&result.pool);
}

TEST(a_malloc_that_comes_before_ours_is_told)
{
    struct session_options options = {.preload_before = MEMTRACK_PROVIDER};
    struct session_result result;

    play("malloc", &options, &result);
    CHECK_EQUAL(result.pool.table[0].flags, PROCESS_HAS_OTHER_MALLOC);
    test_pool_finish(&result.pool);
}

TEST(a_full_ring_waits_for_its_reader)
{
    struct session_options options = {0};
    struct session_result result;
    struct pool_cursor cursor;
    struct pool_record record;
    unsigned count = 0, count_clocks = 0;

    play("many", &options, &result);
    cursor = session_main_stream(&result, 1);
    while (pool_cursor_next(&cursor, &record)) {
        count += record.op == OP_ALLOC && record.bytes == 33;
        count_clocks += record.op == OP_CLOCK;
    }
    CHECK_EQUAL(count, 40000);
    CHECK(count_clocks >= 80000 / RING_SLOT_COUNT);
    CHECK_EQUAL(result.pool.streams[0].lost, 0);
    test_pool_finish(&result.pool);
}
