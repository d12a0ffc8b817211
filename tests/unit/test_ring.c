/*
 * Rings: laps, room, waiting, holes, and what is counted when it is too late.
 */
#include "record/ring.h"

#include "base/syscalls.h"
#include "pool.h"
#include "record/process.h"
#include "record/track.h"

#include "test.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>

#define PAGE UINT64_C(0x700000123000)

static struct test_pool pool;

static void begin(uint32_t ring_count)
{
    test_pool_make(&pool, ring_count, POOL_OPTION_FOLLOW);
    pool.table[0].state = PROCESS_CLAIMED;
    CHECK(process_open(pool.header, pool.header->pool_bytes, ring_count, 0));
}

static void allocate(uint64_t bytes)
{
    track_allocated(DOMAIN_HEAP, PAGE, bytes, ALLOCATOR_MALLOC);
}

static struct ring_entry *first_ring(void)
{
    return &pool.directory[0];
}

/* Count the events of these bytes in the first stream. */
static uint64_t count_events(uint64_t bytes)
{
    struct pool_cursor cursor = {.stream = &pool.streams[0]};
    struct pool_record record;
    uint64_t count = 0;

    while (pool_cursor_find(&cursor, OP_ALLOC, bytes, &record))
        count++;
    return count;
}

TEST(a_thread_takes_the_lowest_free_ring)
{
    struct pool_cursor cursor;
    struct pool_record record;

    begin(4);
    pool.directory[0].state = RING_OWNED;
    pool.directory[1].cursor = pool.directory[1].consumed = 12345;
    allocate(1);
    CHECK_EQUAL(pool.directory[1].state, RING_OWNED);
    CHECK_EQUAL(pool.directory[1].start, 12345);
    CHECK_EQUAL(pool.directory[1].tid, sys_thread_id());
    CHECK_EQUAL(pool.directory[1].process, 1);
    test_pool_drain(&pool, false);
    cursor = (struct pool_cursor){.stream = &pool.streams[0]};
    CHECK(pool_cursor_find(&cursor, OP_ALLOC, 1, &record));
}

TEST(a_ring_without_memory_is_not_taken)
{
    begin(4);
    pool.header->rings_ready = 0;
    pool.directory[0].state = RING_OWNED;
    pool.header->death[0] = pool.header->death[1] = pool.header->death[2] = pool.header->death[3] =
        0; /* or it would be waited for */
    allocate(1);
    CHECK_EQUAL(pool.directory[1].state, RING_FREE);
    CHECK_EQUAL(pool.table[0].counters[COUNTER_LOST], 1);
}

TEST(a_group_does_not_lie_across_laps)
{
    struct slot name[40];
    uint64_t lap_begin;

    begin(1);
    allocate(1);
    while (first_ring()->cursor % RING_SLOT_COUNT != RING_SLOT_COUNT - 10)
        allocate(1);
    test_pool_drain(&pool, false);
    lap_begin = first_ring()->cursor + 10;
    /* One record of 40 slots. */
    for (unsigned i = 0; i < 40; i++)
        name[i] = (struct slot){0x1111 + i, 0x2222 + i};
    name[0].w0 = slot_head(OP_BLOB) | (uint64_t)(39 * 15) << 24;
    CHECK(ring_write(context_own, name, 40));
    test_pool_drain(&pool, false);
    /* CLOCK is due in the new lap, then comes the group. */
    CHECK_EQUAL(first_ring()->cursor, lap_begin + 1 + 40);
    for (unsigned i = 0; i < 10; i++)
        CHECK_EQUAL(pool.streams[0].slots[lap_begin - 10 + i].w0, slot_head(OP_NOP));
    CHECK_EQUAL(pool.streams[0].slots[lap_begin].w0, slot_head(OP_CLOCK));
    for (unsigned i = 1; i < 40; i++)
        CHECK_EQUAL(pool.streams[0].slots[lap_begin + 1 + i].w1, 0x2222 + i);
}

TEST(each_lap_has_a_clock)
{
    begin(1);
    for (unsigned i = 0; i < 5 * RING_SLOT_COUNT; i++) {
        allocate(7);
        if (i % 1000 == 0)
            test_pool_drain(&pool, false);
    }
    test_pool_drain(&pool, false);
    CHECK_EQUAL(count_events(7), 5 * RING_SLOT_COUNT);
    CHECK_EQUAL(pool_count(&pool, OP_CLOCK), 1 + 5);
    CHECK_EQUAL(pool.table[0].counters[COUNTER_WAITS], 0);
}

TEST(a_sleeping_reader_is_woken_once_there_is_enough_of_a_ring_to_read)
{
    begin(1);
    pool.header->collector_sleeping = 1;
    for (unsigned i = 0; i < RING_SLOT_COUNT / 8 * 5 - 10; i++)
        allocate(7);
    CHECK_EQUAL(pool.header->doorbell, 0);
    for (unsigned i = 0; i < 10; i++)
        allocate(7);
    CHECK_EQUAL(pool.header->doorbell, 1);
    for (unsigned i = 0; i < RING_SLOT_COUNT / 4; i++)
        allocate(7); /* it has not had a processor since */
    CHECK_EQUAL(pool.header->doorbell, 1);
    pool.header->collector_sleeping = 1;
    test_pool_drain(&pool, false);
    for (unsigned i = 0; i < RING_SLOT_COUNT / 4; i++)
        allocate(7);
    CHECK_EQUAL(pool.header->doorbell, 1);
}

/* The reader, in a thread of its own. */
static pthread_t reader;
static atomic_bool must_stop;

/* Reads nothing before somebody has to wait for it. */
static void *read_slowly(void *unused)
{
    (void)unused;
    while (!must_stop && pool.table[0].counters[COUNTER_WAITS] == 0)
        sys_sleep(1000000);
    while (!must_stop) {
        sys_sleep(5000000);
        atomic_fetch_add(&pool.header->heartbeat, 1);
        test_pool_drain(&pool, false);
    }
    return NULL;
}

static void start_reader(void)
{
    CHECK(pthread_create(&reader, NULL, read_slowly, NULL) == 0);
}

static void stop_reader(void)
{
    must_stop = true;
    CHECK(pthread_join(reader, NULL) == 0);
    test_pool_drain(&pool, false);
}

TEST(a_full_ring_waits_for_a_reader_that_moves)
{
    begin(1);
    start_reader();
    for (unsigned i = 0; i < 3 * RING_SLOT_COUNT; i++)
        allocate(7);
    stop_reader();
    CHECK_EQUAL(count_events(7), 3 * RING_SLOT_COUNT);
    CHECK_EQUAL(first_ring()->lost, 0);
    CHECK(pool.table[0].counters[COUNTER_WAITS] > 0);
    CHECK(pool.table[0].counters[COUNTER_WAIT_NS] > 0);
    CHECK_EQUAL(first_ring()->waiting, 0);
}

TEST(what_a_reader_that_stands_still_misses_is_counted_and_told)
{
    struct pool_cursor cursor;
    struct pool_record record;

    begin(1);
    for (unsigned i = 0; i < RING_SLOT_COUNT + 100; i++)
        allocate(7);
    CHECK(first_ring()->lost > 100);
    test_pool_drain(&pool, false);
    /* The reader moves again: so do we, and say how many are missing where they are missing. */
    allocate(8);
    test_pool_drain(&pool, false);
    cursor = (struct pool_cursor){.stream = &pool.streams[0]};
    CHECK(pool_cursor_find(&cursor, OP_LOST, UINT64_MAX, &record));
    CHECK_EQUAL(record.w1, first_ring()->lost);
    CHECK_EQUAL(count_events(7) + first_ring()->lost, RING_SLOT_COUNT + 100);
    CHECK(pool_cursor_find(&cursor, OP_ALLOC, 8, &record));
    CHECK_EQUAL(count_events(8), 1);
}

TEST(a_dead_reader_ends_recording_at_once)
{
    begin(1);
    allocate(1);
    *(uint32_t *)pool.header->death |= FUTEX_OWNER_DIED;
    for (unsigned i = 0; i < 2 * RING_SLOT_COUNT; i++)
        allocate(7);
    CHECK(process.is_off);
    CHECK_EQUAL(first_ring()->lost, 1); /* the one at which it was seen */
    CHECK(first_ring()->cursor <= RING_SLOT_COUNT);
}

TEST(a_hole_does_not_stop_a_ring_for_good)
{
    uint64_t hole;

    begin(1);
    allocate(1);
    /* A hook was left between reserving and filling. */
    hole = first_ring()->cursor;
    first_ring()->cursor += 3;
    allocate(2);
    /* The reader stands at the hole; the ring fills up behind it. */
    start_reader();
    for (unsigned i = 0; i < 2 * RING_SLOT_COUNT; i++)
        allocate(7);
    stop_reader();
    CHECK_EQUAL(first_ring()->repaired, 3);
    CHECK_EQUAL(first_ring()->lost, 0);
    CHECK_EQUAL(count_events(2), 1);
    CHECK_EQUAL(count_events(7), 2 * RING_SLOT_COUNT);
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQUAL(pool.streams[0].slots[hole + i].w0, slot_head(OP_NOP));
}

static void *allocate_once(void *unused)
{
    (void)unused;
    allocate(1);
    return NULL;
}

TEST(a_process_tells_its_memory_and_each_thread_adds_its_context)
{
    uint64_t with_one, with_two;
    pthread_t thread;

    begin(4);
    allocate(1);
    with_one = pool.table[0].counters[COUNTER_MEMORY_BYTES];
    CHECK(with_one > sizeof(process_order) && with_one < 1 << 20);
    CHECK(pthread_create(&thread, NULL, allocate_once, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    with_two = pool.table[0].counters[COUNTER_MEMORY_BYTES];
    CHECK_EQUAL(with_two - with_one, sizeof(struct context));
}

TEST(a_paused_session_records_nothing_and_loses_nothing)
{
    begin(1);
    allocate(1);
    pool.header->state = POOL_PAUSED;
    test_pool_tick(&pool);
    allocate(2);
    pool.header->state = POOL_RECORDING;
    test_pool_tick(&pool);
    allocate(3);
    test_pool_drain(&pool, false);
    CHECK_EQUAL(count_events(2), 0);
    CHECK_EQUAL(count_events(3), 1);
    CHECK_EQUAL(first_ring()->lost, 0);
}

TEST(a_session_that_has_ended_is_let_go)
{
    begin(1);
    allocate(1);
    pool.header->state = POOL_ENDED;
    /* Another view of the pool: ours is replaced. */
    allocate(2);
    test_pool_tick(&pool);
    allocate(3);
    CHECK(process.is_off);
    CHECK_EQUAL(pool.header->magic, 0); /* memory of our own, not the pool */
}
