/*
 * A process that begins to sample in the midst of its recording: what was recorded before is released
 * as it was, and what is recorded from then on says with which chance it was.
 *
 * The generator is seeded with a constant, so a run is like every other.
 */
#include "partial.h"
#include "record/passed.h"

enum {
    LEVEL = 7, /* 4096 bytes */
    MEAN = 4096,
};

static void begin(uint64_t min_size)
{
    test_pool_make(&pool, 4, POOL_OPTION_FOLLOW);
    pool.header->state = POOL_RECORDING;
    pool.header->min_size = min_size;
    partial_open();
}

/* The collector wants a level; the process has seen it with the event of this block. */
static void degrade(uint32_t level, uintptr_t address)
{
    pool.header->sample_level = level;
    test_pool_tick(&pool);
    track_allocated(DOMAIN_HEAP, address, 1 << 20, ALLOCATOR_MALLOC);
    CHECK((process.wanted_mode & PROCESS_DEGRADES) != 0);
    sample_begin(&context_own->sample, process_sample_mean(), 12345);
}

TEST(what_was_recorded_before_is_released_as_recorded)
{
    begin(0);
    for (unsigned i = 0; i < 1000; i++)
        allocate(i, 16);
    degrade(LEVEL, address_of(5000));
    for (unsigned i = 0; i < 1000; i++)
        CHECK(release(i));
    expect(1001, 1000);
}

TEST(releases_of_blocks_that_were_passed_over_are_too)
{
    unsigned recorded = 0;

    begin(0);
    degrade(LEVEL, address_of(5000));
    for (unsigned i = 0; i < 4000; i++)
        allocate(i, 500);
    for (unsigned i = 0; i < 4000; i++)
        recorded += release(i);
    CHECK(recorded > 330 && recorded < 590); /* 460 and 20: 6.5 standard errors */
    expect(1 + recorded, recorded);
}

/* A level each, with the sizes that have a chance in it. */
TEST(a_block_says_at_which_level_it_was_picked)
{
    struct pool_cursor cursor;
    struct pool_record event;
    double sums[SAMPLE_LEVEL_MOST + 1] = {0};

    begin(0);
    allocate(4999, 40);
    for (uint32_t level = 1; level <= 3; level++) {
        degrade(2 * level, address_of(5000 + level));
        for (unsigned i = 0; i < 20000; i++)
            allocate(i % 4000, 40);
        allocate(4500 + level, SAMPLE_LEVEL_BYTES(2 * level));
        test_pool_drain(&pool, false);
    }
    cursor = (struct pool_cursor){.stream = &pool.streams[0]};
    while (pool_cursor_next(&cursor, &event)) {
        if (event.op != OP_ALLOC)
            continue;
        CHECK(event.bytes == 40 || event.map_class == 0);
        CHECK(event.map_class % 2 == 0 && event.map_class <= 6);
        if (event.bytes == 40)
            sums[event.map_class] += 40;
    }
    CHECK(sums[0] == 40);
    /* 40 / (1 - exp(-40 / mean)) for each, with 6.5 standard errors. */
    CHECK(sums[2] * 3.7260 > 800000 - 60700 && sums[2] * 3.7260 < 800000 + 60700);
    CHECK(sums[4] * 13.3065 > 800000 - 130000 && sums[4] * 13.3065 < 800000 + 130000);
    CHECK(sums[6] * 51.7016 > 800000 - 262000 && sums[6] * 51.7016 < 800000 + 262000);
}

TEST(a_higher_level_is_taken_where_the_next_way_is_drawn)
{
    begin(0);
    degrade(1, address_of(5000));
    allocate(1, 60);
    CHECK_EQUAL(context_own->sample.mean_bytes, 64);
    pool.header->sample_level = 3;
    context_own->sample.left_bytes = 20;
    context_own->sample.rest_bytes = 0;
    allocate(2, 10);
    CHECK_EQUAL(context_own->sample.mean_bytes, 64);
    allocate(3, 20);
    CHECK_EQUAL(context_own->sample.mean_bytes, 256);
    pool.header->sample_level = 4;
    allocate(4, 256); /* is recorded at any level up to 3 */
    CHECK_EQUAL(context_own->sample.mean_bytes, 512);
}

TEST(a_realloc_of_a_block_that_was_passed_over_releases_nothing)
{
    begin(0);
    degrade(LEVEL, address_of(5000));
    context_own->sample.left_bytes = MEAN - 1;
    allocate(1, 100);
    CHECK(!release(1));
    allocate(2, MEAN);
    CHECK(release(2));
    track_undone(DOMAIN_HEAP, address_of(2), 0, ALLOCATOR_REALLOC, NULL);
    CHECK(release(2));
    expect(2, 2);
    CHECK_EQUAL(pool_count(&pool, OP_UNDO), 1);
}

/* Its address was given out again: the entry of before speaks of a block that is gone. */
TEST(a_release_that_nobody_saw_hides_no_other)
{
    begin(0);
    degrade(LEVEL, address_of(5000));
    context_own->sample.left_bytes = MEAN - 1;
    allocate(1, 100);
    allocate(1, MEAN);
    CHECK(release(1));
    expect(2, 1);
}

TEST(blocks_that_lie_close_together_are_told_apart)
{
    begin(0);
    passed_prepare();
    passed_put(DOMAIN_HEAP, PARTIAL_PAGE);
    CHECK(!passed_take(DOMAIN_HEAP, PARTIAL_PAGE + 8));
    CHECK(!passed_take(DOMAIN_PYTHON_RAW, PARTIAL_PAGE));
    passed_put(DOMAIN_PYTHON_OBJECT, PARTIAL_PAGE + 8);
    CHECK(
        !passed_take(DOMAIN_HEAP, PARTIAL_PAGE)); /* forgotten: its release is recorded too many */
    CHECK(passed_take(DOMAIN_PYTHON_OBJECT, PARTIAL_PAGE + 8));
    CHECK(!passed_take(DOMAIN_PYTHON_OBJECT, PARTIAL_PAGE + 8));
    passed_put(DOMAIN_HEAP, PARTIAL_PAGE + 4);
    CHECK(!passed_take(DOMAIN_HEAP, PARTIAL_PAGE + 4));
    passed_put(DOMAIN_HEAP, UINT64_C(1) << 50);
    CHECK(!passed_take(DOMAIN_HEAP, UINT64_C(1) << 50));
    CHECK(passed_bytes() > 0);
}

TEST(pools_are_recorded_whole)
{
    begin(0);
    degrade(LEVEL, address_of(5000));
    for (unsigned i = 0; i < 1000; i++)
        track_allocated(DOMAIN_POOL, address_of(i), 1, ALLOCATOR_POOL);
    for (unsigned i = 0; i < 1000; i++)
        CHECK(track_released(DOMAIN_POOL, address_of(i), ALLOCATOR_POOL) != 0);
    expect(1001, 1000);
}

TEST(small_blocks_are_left_out_still)
{
    begin(200);
    degrade(LEVEL, address_of(5000));
    for (unsigned i = 0; i < 4000; i++)
        allocate(i, 199);
    expect(1, 0);
}

/* The header is the collector's, but the program can write into it. */
TEST(a_level_that_there_cannot_be_is_the_highest)
{
    begin(0);
    degrade(77, address_of(5000));
    CHECK_EQUAL(process_sample_mean(), UINT64_C(1) << 20);
}

TEST(a_process_that_begins_later_samples_from_its_start_on)
{
    test_pool_make(&pool, 4, POOL_OPTION_FOLLOW);
    pool.header->state = POOL_RECORDING;
    pool.header->sample_level = LEVEL;
    partial_open();
    for (unsigned i = 0; i < 1000; i++)
        allocate(i, 10);
    for (unsigned i = 0; i < 1000; i++)
        release(i);
    test_pool_drain(&pool, false);
    CHECK(pool_count(&pool, OP_ALLOC) < 20);
    CHECK_EQUAL(pool_count(&pool, OP_ALLOC), pool_count(&pool, OP_FREE));
}

TEST(a_forked_child_knows_what_was_passed_over)
{
    uint64_t random;
    int status;
    pid_t child;

    begin(0);
    allocate(0, 100);
    degrade(LEVEL, address_of(5000));
    context_own->sample.left_bytes = MEAN - 1;
    allocate(1, 100);
    random = context_own->sample.random;
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        allocate(3, MEAN);
        CHECK(context_own->sample.random != 0 && context_own->sample.random != random);
        CHECK(release(0));
        CHECK(!release(1));
        CHECK(release(3));
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(!release(1));
    CHECK(release(0));
}
