/*
 * Nothing is recorded while nobody wants it, little is done for events then, and it begins and ends at
 * the event that follows.
 */
#include "pool.h"
#include "record/mark.h"
#include "record/process.h"
#include "record/track.h"

#include "test.h"

#define PAGE UINT64_C(0x700000123000)

static struct test_pool pool;

static void begin(enum pool_state state)
{
    test_pool_make(&pool, 4, 0);
    pool.header->state = state;
    pool.table[0].state = PROCESS_CLAIMED;
    CHECK(process_open(pool.header, pool.header->pool_bytes, 4, 0));
}

/* As the collector does it. */
static void change(enum pool_state state)
{
    pool.header->state = state;
    test_pool_tick(&pool);
}

static void allocate(unsigned number, uint64_t bytes)
{
    track_allocated(DOMAIN_HEAP, PAGE + 64 * number, bytes, ALLOCATOR_MALLOC);
}

static void release(unsigned number)
{
    track_released(DOMAIN_HEAP, PAGE + 64 * number, ALLOCATOR_FREE);
}

static void expect(unsigned allocations, unsigned releases)
{
    test_pool_drain(&pool, false);
    CHECK_EQUAL(pool_count(&pool, OP_ALLOC), allocations);
    CHECK_EQUAL(pool_count(&pool, OP_FREE), releases);
}

TEST(a_dormant_process_takes_no_ring)
{
    begin(POOL_DORMANT);
    for (unsigned i = 0; i < 100; i++) {
        allocate(i, 10);
        release(i);
        mark_record(MARK_INSTANT, "x", 0, NULL);
    }
    CHECK_EQUAL(mark_next_phase(), 0);
    expect(0, 0);
    CHECK_EQUAL(pool.count_streams, 0);
    CHECK_EQUAL(pool.directory[0].state, RING_FREE);
    CHECK_EQUAL(pool.table[0].counters[COUNTER_LOST], 0);
    change(POOL_RECORDING);
    release(1);
    allocate(2, 10);
    expect(1, 1);
}

TEST(the_state_is_looked_at_once_in_an_epoch)
{
    begin(POOL_DORMANT);
    CHECK(!process_is_silent());
    allocate(0, 10);
    CHECK(process_is_silent());
    test_pool_tick(&pool);
    CHECK(!process_is_silent());
    release(0);
    CHECK(process_is_silent());
    change(POOL_RECORDING);
    CHECK(!process_is_silent());
    allocate(0, 10);
    test_pool_tick(&pool);
    allocate(1, 10);
    CHECK(!process_is_silent());
    expect(2, 0);
}

TEST(a_pause_is_a_gap)
{
    begin(POOL_RECORDING);
    allocate(0, 10);
    change(POOL_PAUSED);
    allocate(1, 10);
    release(0);
    change(POOL_RECORDING);
    allocate(2, 10);
    release(1);
    expect(2, 1);
}

TEST(what_is_recorded_of_the_first_event_is_what_is_recorded_of_all)
{
    test_pool_make(&pool, 4, 0);
    pool.header->min_size = 100;
    pool.header->state = POOL_DORMANT;
    pool.table[0].state = PROCESS_CLAIMED;
    CHECK(process_open(pool.header, pool.header->pool_bytes, 4, 0));
    allocate(0, 500);
    CHECK_EQUAL(process.mode, 0);
    change(POOL_RECORDING);
    allocate(1, 50);
    allocate(2, 100);
    allocate(3, 50);
    CHECK_EQUAL(process.mode, PROCESS_SKIPS_SMALL);
    expect(1, 0);
}

TEST(the_end_lets_go_of_the_pool)
{
    begin(POOL_RECORDING);
    allocate(0, 10);
    test_pool_drain(&pool, false);
    change(POOL_ENDED);
    release(0);
    CHECK(process_is_silent());
    CHECK_EQUAL(process.mode, 0);
    CHECK_EQUAL(process.header->magic, 0);
}

TEST(without_a_session_all_is_silent)
{
    CHECK(process_is_silent());
    allocate(0, 10);
    release(0);
    CHECK(process_is_silent());
}
