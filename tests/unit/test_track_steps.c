/*
 * An event, interrupted at any instruction by a handler that records too.
 *
 * The program's thread records an event while its parent steps it; the handler records on top of
 * it, and plays another thread that takes the page away. What the ring holds afterwards must be
 * whole and in order wherever the instant was, also when the handler never returns.
 */
#include "record/track.h"

#include "pool.h"
#include "steps.h"
#include "test.h"

#include <setjmp.h>

#define PAGE UINT64_C(0x700000123000)

static struct test_pool pool;
static struct order_thread other;
static uint64_t event_in_between; /* its segment */
static sigjmp_buf jump;
static volatile bool must_jump, has_arrived;

static void record(unsigned block)
{
    track_allocated(DOMAIN_HEAP, PAGE + block * 16, 100 + block, ALLOCATOR_MALLOC);
}

/* Begin a session, and record once: what follows is not the first event. */
static void begin(void)
{
    test_pool_make(&pool, 4, 0);
    pool.table[0].state = PROCESS_CLAIMED;
    CHECK(process_open(pool.header, pool.header->pool_bytes, 4, 0));
    order_join(&process_order, &other, 1000);
    record(0);
}

/* The other thread records something on the page. */
static void other_records(void)
{
    if (order_check(&process_order, &other, PAGE))
        event_in_between = other.segment;
}

/* Find the event of a block: there must be one, and no other. Returns its segment. */
static uint64_t segment_of(unsigned block)
{
    uint64_t segment = 0;

    for (uint32_t i = 0; i < pool.count_streams; i++) {
        struct pool_cursor cursor = {.stream = &pool.streams[i]};
        struct pool_record event;

        while (pool_cursor_find(&cursor, OP_ALLOC, 100 + block, &event)) {
            CHECK_EQUAL(segment, 0);
            CHECK_EQUAL(event.address, PAGE + block * 16);
            segment = event.segment;
        }
    }
    CHECK(segment != 0);
    return segment;
}

/* In the handler: another thread's event on the page, then one of our own. */
static void handler_records(int number)
{
    (void)number;
    has_arrived = true;
    other_records();
    record(2);
    if (must_jump)
        siglongjmp(jump, 1);
}

/* Record block 1 while traced, 3 afterwards, and check the order of all. */
static void record_while_traced(void)
{
    signal(SIGUSR1, handler_records);
    if (sigsetjmp(jump, 1) == 0) {
        steps_begin();
        record(1);
        steps_end();
    }
    record(3);
    test_pool_drain(&pool, true);
    CHECK(has_arrived);
    CHECK(segment_of(2) > event_in_between);
    CHECK(segment_of(3) > event_in_between);
    CHECK(segment_of(3) >= segment_of(2));
    if (!must_jump)
        CHECK(segment_of(1) <= segment_of(3));
}

static void scene_of_own_page(void)
{
    begin();
    record_while_traced();
}

static void scene_of_foreign_page(void)
{
    begin();
    other_records();
    record_while_traced();
}

static void scene_of_shared_page(void)
{
    begin();
    process_order.owner[order_bucket(PAGE)] = ORDER_TAG_SHARED;
    record_while_traced();
}

static void scene_of_new_epoch(void)
{
    begin();
    test_pool_tick(&pool);
    record_while_traced();
}

/* The lap is full: there is room to be made, and a CLOCK is due. */
static void scene_of_lap_end(void)
{
    begin();
    while (pool.directory[0].cursor % RING_SLOT_COUNT != 0)
        track_released(DOMAIN_HEAP, PAGE, ALLOCATOR_FREE);
    test_pool_drain(&pool, false);
    record_while_traced();
}

static void jump_from_own_page(void)
{
    must_jump = true;
    scene_of_own_page();
}

static void jump_from_foreign_page(void)
{
    must_jump = true;
    scene_of_foreign_page();
}

static void jump_from_shared_page(void)
{
    must_jump = true;
    scene_of_shared_page();
}

static void jump_from_lap_end(void)
{
    must_jump = true;
    scene_of_lap_end();
}

TEST(an_event_on_its_own_page_is_recorded_once_around_any_handler)
{
    steps_run_all(scene_of_own_page);
}

TEST(an_event_on_a_foreign_page_is_recorded_once_around_any_handler)
{
    steps_run_all(scene_of_foreign_page);
}

TEST(an_event_on_a_shared_page_is_recorded_once_around_any_handler)
{
    steps_run_all(scene_of_shared_page);
}

TEST(an_event_in_a_new_epoch_is_recorded_once_around_any_handler)
{
    steps_run_all(scene_of_new_epoch);
}

TEST(an_event_at_the_end_of_a_lap_is_recorded_once_around_any_handler)
{
    steps_run_all(scene_of_lap_end);
}

TEST(a_jump_out_of_the_usual_event_harms_no_later_one)
{
    steps_run_all(jump_from_own_page);
}

TEST(a_jump_out_of_taking_a_page_harms_no_later_event)
{
    steps_run_all(jump_from_foreign_page);
}

TEST(a_jump_out_of_a_shared_page_harms_no_later_event)
{
    steps_run_all(jump_from_shared_page);
}

TEST(a_jump_out_of_the_end_of_a_lap_harms_no_later_event)
{
    steps_run_all(jump_from_lap_end);
}
