/*
 * SYNC: when it is written, and what it says.
 */
#include "record/segment.h"

#include "pool.h"
#include "record/life.h"
#include "record/process.h"
#include "record/track.h"

#include "test.h"

#include <pthread.h>

#define PAGE UINT64_C(0x700000123000)

static struct test_pool pool;
static struct order_thread other;
static struct pool_cursor cursor;

static void begin(void)
{
    test_pool_make(&pool, 4, 0);
    pool.table[0].state = PROCESS_CLAIMED;
    CHECK(process_open(pool.header, pool.header->pool_bytes, 4, 0));
    order_join(&process_order, &other, 1000);
}

static void allocate(unsigned page, uint64_t bytes)
{
    track_allocated(DOMAIN_HEAP, PAGE + page * UINT64_C(4096), bytes, ALLOCATOR_MALLOC);
}

/* Read the next record of the thread, which must be of this op. */
static struct pool_record next(enum slot_op op)
{
    struct pool_record record;

    test_pool_drain(&pool, false);
    cursor.stream = &pool.streams[0];
    CHECK(pool_cursor_next(&cursor, &record));
    CHECK_EQUAL(record.op, op);
    return record;
}

static void expect_sync(enum sync_why why)
{
    CHECK_EQUAL(next(OP_SYNC).w1 >> 32 & 255, why);
}

static void begin_with_event(void)
{
    begin();
    allocate(0, 100);
    expect_sync(SYNC_CLAIM);
    next(OP_CLOCK);
    next(OP_ALLOC);
}

TEST(a_page_of_ones_own_needs_no_segment)
{
    begin_with_event();
    allocate(0, 100);
    allocate(1, 100); /* nobody's until now */
    next(OP_ALLOC);
    next(OP_ALLOC);
}

TEST(a_foreign_page_begins_a_segment_behind_its_owners)
{
    begin_with_event();
    CHECK(order_check(&process_order, &other, PAGE));
    allocate(0, 100);
    expect_sync(SYNC_PAGE);
    CHECK(next(OP_ALLOC).segment > other.segment);
    allocate(0, 100);
    next(OP_ALLOC);
}

TEST(a_thread_that_is_alone_begins_segments_for_what_is_large_alone)
{
    begin();
    process.is_alone = true;
    for (unsigned i = 0; i < 5; i++)
        allocate(0, TRACK_SYNC_BYTES - 1);
    allocate(0, TRACK_SYNC_BYTES);
    expect_sync(SYNC_CLAIM);
    next(OP_CLOCK);
    for (unsigned i = 0; i < 5; i++)
        next(OP_ALLOC);
    expect_sync(SYNC_BIG);
    next(OP_ALLOC);
}

/* Record on a thread of its own. */
static void *allocate_beside(void *page)
{
    allocate(*(unsigned *)page, 100);
    return NULL;
}

static void join_second_thread(unsigned page)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, allocate_beside, &page) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

TEST(a_thread_that_is_alone_looks_at_no_page)
{
    begin();
    process.is_alone = true;
    allocate(0, 100);
    CHECK(order_check(&process_order, &other, PAGE)); /* the first event takes its page */
    allocate(0, 100);
    allocate(1, 100);
    CHECK_EQUAL(process_order.owner[order_bucket(PAGE + 4096)], ORDER_TAG_NONE);
    expect_sync(SYNC_CLAIM);
    next(OP_CLOCK);
    next(OP_ALLOC);
    next(OP_ALLOC);
    next(OP_ALLOC);
}

TEST(a_second_thread_ends_that_for_good_and_stands_behind)
{
    struct pool_record record, second_record;
    struct pool_cursor second = {0};
    uint64_t first;

    begin();
    process.is_alone = true;
    allocate(0, 100);
    allocate(1, 100);
    join_second_thread(1);
    CHECK(!process.is_alone);
    allocate(1, 100);
    join_second_thread(2);
    CHECK(!process.is_alone);
    expect_sync(SYNC_CLAIM);
    next(OP_CLOCK);
    next(OP_ALLOC);
    first = next(OP_ALLOC).segment;
    expect_sync(SYNC_PAGE);
    record = next(OP_ALLOC);
    second.stream = &pool.streams[1];
    do
        CHECK(pool_cursor_next(&second, &second_record));
    while (second_record.op != OP_ALLOC);
    CHECK(second_record.segment > first);
    CHECK(second_record.segment < record.segment);
}

TEST(every_event_on_a_shared_page_begins_a_segment)
{
    begin_with_event();
    process_order.owner[order_bucket(PAGE)] = ORDER_TAG_SHARED;
    for (unsigned i = 0; i < 3; i++) {
        allocate(0, 100);
        expect_sync(SYNC_PAGE);
        next(OP_ALLOC);
    }
}

TEST(a_tick_begins_a_segment_that_tells_it)
{
    begin_with_event();
    test_pool_tick(&pool);
    pool.header->tick = 77;
    allocate(0, 100);
    CHECK_EQUAL(next(OP_SYNC).w1, 77 | (uint64_t)SYNC_EPOCH << 32);
    next(OP_ALLOC);
}

TEST(a_thread_alone_is_in_order_whatever_it_allocates)
{
    begin_with_event();
    for (unsigned i = 0; i < 100; i++)
        allocate(0, 10000);
    for (unsigned i = 0; i < 100; i++)
        next(OP_ALLOC);
}

TEST(with_threads_64_kib_begin_a_segment)
{
    unsigned count_syncs = 0;

    begin_with_event();
    process.image->rings_claimed = 2;
    for (unsigned i = 0; i < 100; i++)
        allocate(0, 10000);
    test_pool_drain(&pool, false);
    for (uint64_t since = 0, i = 0; i < 100;) {
        struct pool_record record;

        CHECK(pool_cursor_next(&cursor, &record));
        if (record.op == OP_SYNC) {
            CHECK_EQUAL(record.w1 >> 32 & 255, SYNC_NET);
            count_syncs++;
            since = 0;
            continue;
        }
        since += record.bytes;
        CHECK(since < 65536 + 10000);
        i++;
    }
    CHECK(count_syncs >= 1000000 / 70000);
}

TEST(a_big_event_begins_a_segment)
{
    begin_with_event();
    allocate(0, 65535);
    next(OP_ALLOC);
    allocate(0, 65536);
    expect_sync(SYNC_BIG);
    next(OP_ALLOC);
}

TEST(a_range_begins_a_segment_on_both_sides)
{
    begin_with_event();
    track_mapped(PAGE, 8192, ALLOCATOR_MMAP, CLASS_ANONYMOUS, NULL);
    expect_sync(SYNC_MAP);
    CHECK_EQUAL(next(OP_MAP).bytes, 8192);
    track_unmapped(PAGE, 8192, ALLOCATOR_MUNMAP, NULL);
    expect_sync(SYNC_MAP);
    next(OP_UNMAP);
}

TEST(a_fork_ahead_is_marked_behind_a_segment)
{
    uint32_t epoch;

    begin_with_event();
    epoch = pool.table[0].epoch;
    life_fork_ahead();
    expect_sync(SYNC_FORK);
    CHECK_EQUAL(next(OP_LIFE).payload, LIFE_FORK);
    CHECK_EQUAL(pool.table[0].epoch, epoch + 1);
}

TEST(an_epoch_is_never_0)
{
    begin_with_event();
    pool.table[0].epoch = UINT32_MAX;
    process_next_epoch();
    CHECK_EQUAL(pool.table[0].epoch, 1);
}

/* A hook that was left by siglongjmp() in the middle of taking a page. */
TEST(a_thread_left_busy_begins_a_segment_and_is_itself_again)
{
    begin_with_event();
    CHECK(order_check(&process_order, &other, PAGE));
    context_own->order.match = ORDER_TAG_BUSY;
    context_own->sync_frame = (uintptr_t)__builtin_frame_address(0) - 4096;
    allocate(0, 100);
    expect_sync(SYNC_PAGE);
    next(OP_ALLOC);
    CHECK_EQUAL(context_own->order.match, context_own->order.tag);
    allocate(0, 100);
    next(OP_ALLOC);
}

/* A handler on top of a hook that is taking a page. */
TEST(a_nested_event_begins_a_segment_and_leaves_the_thread_busy)
{
    uintptr_t outer = (uintptr_t)__builtin_frame_address(0) + 4096;

    begin_with_event();
    context_own->order.match = ORDER_TAG_BUSY;
    context_own->sync_frame = outer;
    allocate(0, 100);
    expect_sync(SYNC_PAGE);
    next(OP_ALLOC);
    CHECK_EQUAL(context_own->order.match, ORDER_TAG_BUSY);
    CHECK_EQUAL(context_own->sync_frame, outer);
}
