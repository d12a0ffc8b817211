/*
 * An event of a sample, interrupted at any instruction by a handler that allocates and releases.
 *
 * What holds wherever the instant was, also when the handler never returns: the ring has no FREE
 * without its ALLOC, no block twice, and the releases of all recorded blocks; and blocks that come
 * later are sampled as ever. Where the sample has begun late, there may be a FREE too many.
 */
#include "record/track.h"

#include "pool.h"
#include "steps.h"
#include "test.h"

#include <setjmp.h>

#define PAGE UINT64_C(0x700000123000)

enum {
    MEAN = 64,
    LATE_LEVEL = 1, /* which has this mean */
    BLOCKS = 64,
};

static struct test_pool pool;
static sigjmp_buf jump;
static volatile bool must_jump, has_arrived;
static bool is_late; /* the sample has begun in the midst of the recording */

static uintptr_t address_of(unsigned block)
{
    return PAGE + block * 16;
}

static void allocate(unsigned block, size_t size_bytes)
{
    track_allocated(DOMAIN_HEAP, address_of(block), size_bytes, ALLOCATOR_MALLOC);
}

static void release(unsigned block)
{
    track_released(DOMAIN_HEAP, address_of(block), ALLOCATOR_FREE);
}

static void begin(void)
{
    test_pool_make(&pool, 4, 0);
    if (is_late)
        pool.header->sample_level = LATE_LEVEL;
    else
        pool.header->sample_bytes = MEAN;
    pool.table[0].state = PROCESS_CLAIMED;
    CHECK(process_open(pool.header, pool.header->pool_bytes, 4, 0));
    allocate(0, MEAN); /* large: always recorded */
    context_own->sample.random = 12345;
}

/* A block that is recorded for certain, one that is perhaps, and one of before. */
static void handle(int number)
{
    (void)number;
    has_arrived = true;
    allocate(1, MEAN);
    release(1);
    allocate(2, MEAN - 1);
    release(0);
    if (must_jump)
        siglongjmp(jump, 1);
}

/* Read what is recorded: the live blocks at the end, each at most once. */
static void read_back(bool *is_live)
{
    struct pool_cursor cursor;
    struct pool_record event;

    test_pool_drain(&pool, true);
    CHECK_EQUAL(pool.count_streams, 1);
    cursor = (struct pool_cursor){.stream = &pool.streams[0]};
    while (pool_cursor_next(&cursor, &event)) {
        unsigned block = (unsigned)((event.address - PAGE) / 16);

        if (event.op != OP_ALLOC && event.op != OP_FREE)
            continue;
        CHECK(block < BLOCKS);
        test_case("block %u", block);
        if (is_late && event.op == OP_FREE && !is_live[block])
            continue; /* it was forgotten that the block was passed over */
        CHECK_EQUAL(is_live[block], event.op == OP_FREE);
        is_live[block] = event.op == OP_ALLOC;
    }
}

/* What comes later is as ever: large blocks all, of small ones some. */
static unsigned go_on(void)
{
    unsigned long before = pool.directory[0].cursor;

    for (unsigned i = 0; i < 200; i++) {
        allocate(4 + i % 50, MEAN / 4);
        release(4 + i % 50);
    }
    allocate(60, MEAN);
    CHECK(context_own->sample.left_bytes < MEAN);
    return (unsigned)(pool.directory[0].cursor - before);
}

static void check(bool is_3_live)
{
    bool is_live[BLOCKS] = {false};
    unsigned count = go_on();

    CHECK(has_arrived);
    /* 44 of 200 on average, each with its release. */
    CHECK(count > 20 && count < 250);
    read_back(is_live);
    CHECK(is_live[60]);
    CHECK(!is_live[0] && !is_live[1]);
    CHECK(!is_3_live || is_live[3]);
    for (unsigned i = 4; i < 54; i++)
        CHECK(!is_live[i]);
}

static void run(void (*event)(void), bool is_3_live)
{
    signal(SIGUSR1, handle);
    if (sigsetjmp(jump, 1) == 0) {
        steps_begin();
        event();
        steps_end();
    }
    check(is_3_live && !must_jump);
}

static void allocate_large(void)
{
    allocate(3, MEAN);
}

/* Fits into what is left or not: both have been drawn by the test. */
static void allocate_small(void)
{
    allocate(3, 20);
}

static void release_recorded(void)
{
    release(3);
}

static void scene_of_large_block(void)
{
    begin();
    run(allocate_large, true);
}

static void scene_of_passed_block(void)
{
    begin();
    context_own->sample.left_bytes = 20;
    run(allocate_small, false);
}

static void scene_of_picked_block(void)
{
    begin();
    context_own->sample.left_bytes = context_own->sample.rest_bytes = 0;
    /* Unless the handler came first, and drew. */
    run(allocate_small, false);
}

static void scene_of_release(void)
{
    begin();
    allocate(3, MEAN);
    run(release_recorded, false);
}

static void jump_from_large_block(void)
{
    must_jump = true;
    scene_of_large_block();
}

static void jump_from_passed_block(void)
{
    must_jump = true;
    scene_of_passed_block();
}

static void jump_from_picked_block(void)
{
    must_jump = true;
    scene_of_picked_block();
}

static void jump_from_release(void)
{
    must_jump = true;
    scene_of_release();
}

TEST(a_large_block_is_recorded_around_any_handler)
{
    steps_run_all(scene_of_large_block);
}

TEST(a_block_that_is_passed_over_is_so_around_any_handler)
{
    steps_run_all(scene_of_passed_block);
}

TEST(a_picked_block_is_recorded_around_any_handler)
{
    steps_run_all(scene_of_picked_block);
}

TEST(a_release_is_recorded_around_any_handler)
{
    steps_run_all(scene_of_release);
}

TEST(a_jump_out_of_a_large_block_harms_no_later_one)
{
    steps_run_all(jump_from_large_block);
}

TEST(a_jump_out_of_a_passed_block_harms_no_later_one)
{
    steps_run_all(jump_from_passed_block);
}

TEST(a_jump_out_of_a_picked_block_harms_no_later_one)
{
    steps_run_all(jump_from_picked_block);
}

TEST(a_jump_out_of_a_release_harms_no_later_one)
{
    steps_run_all(jump_from_release);
}

TEST(a_passed_block_of_a_late_sample_stands_any_handler)
{
    is_late = true;
    steps_run_all(scene_of_passed_block);
}

TEST(a_picked_block_of_a_late_sample_stands_any_handler)
{
    is_late = true;
    steps_run_all(scene_of_picked_block);
}

TEST(a_release_of_a_late_sample_stands_any_handler)
{
    is_late = true;
    steps_run_all(scene_of_release);
}

TEST(a_jump_out_of_a_passed_block_of_a_late_sample_harms_no_later_one)
{
    is_late = true;
    steps_run_all(jump_from_passed_block);
}

TEST(a_jump_out_of_a_picked_block_of_a_late_sample_harms_no_later_one)
{
    is_late = true;
    steps_run_all(jump_from_picked_block);
}

TEST(a_jump_out_of_a_release_of_a_late_sample_harms_no_later_one)
{
    is_late = true;
    steps_run_all(jump_from_release);
}
