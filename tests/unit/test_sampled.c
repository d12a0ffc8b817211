/*
 * A process of which a sample is recorded: what comes into the ring, and what does not.
 */
#include "partial.h"

enum {
    MEAN = 4096,
};

static void begin(enum pool_state state)
{
    test_pool_make(&pool, 4, POOL_OPTION_FOLLOW);
    pool.header->state = state;
    pool.header->sample_bytes = MEAN;
    partial_open();
}

TEST(releases_of_the_sample_alone_are_recorded)
{
    unsigned recorded = 0;

    begin(POOL_RECORDING);
    for (unsigned i = 0; i < 4000; i++)
        allocate(i, 500);
    for (unsigned i = 0; i < 4000; i++)
        recorded += release(i);
    CHECK(recorded > 300 && recorded < 650); /* 460 and 20 */
    expect(recorded, recorded);
    for (unsigned i = 0; i < 4000; i++)
        CHECK(!release(i));
}

TEST(a_release_that_did_not_happen_may_happen_later)
{
    begin(POOL_RECORDING);
    allocate(1, MEAN);
    allocate(2, 0);
    CHECK(release(1));
    track_undone(DOMAIN_HEAP, address_of(1), 0, ALLOCATOR_REALLOC, NULL);
    CHECK(release(1));
    CHECK(!release(1));
    CHECK(!release(2));
    expect(1, 2);
    CHECK_EQUAL(pool_count(&pool, OP_UNDO), 1);
}

TEST(pools_and_ranges_are_recorded_whole)
{
    begin(POOL_RECORDING);
    for (unsigned i = 0; i < 1000; i++)
        track_allocated(DOMAIN_POOL, address_of(i), 1, ALLOCATOR_POOL);
    for (unsigned i = 0; i < 1000; i++)
        CHECK(track_released(DOMAIN_POOL, address_of(i), ALLOCATOR_POOL) != 0);
    track_mapped(PARTIAL_PAGE, 4096, ALLOCATOR_MMAP, CLASS_ANONYMOUS, NULL);
    expect(1000, 1000);
    CHECK_EQUAL(pool_count(&pool, OP_MAP), 1);
}

/* Nobody reads: the ring is full, and after a second nobody waits. */
TEST(a_block_that_could_not_be_recorded_is_not_in_the_sample)
{
    unsigned lost = 2 * RING_SLOT_COUNT;

    begin(POOL_RECORDING);
    for (unsigned i = 0; i <= lost; i++)
        allocate(i, MEAN);
    CHECK(pool.directory[0].lost > 0);
    CHECK(!sample_set_take(DOMAIN_HEAP, address_of(lost)));
    CHECK(sample_set_take(DOMAIN_HEAP, address_of(0)));
}

TEST(the_event_that_ends_a_silence_is_of_the_sample_or_not)
{
    begin(POOL_PAUSED);
    for (unsigned i = 0; i < 100; i++)
        allocate(i, MEAN);
    pool.header->state = POOL_RECORDING;
    test_pool_tick(&pool);
    CHECK(!release(7));
    allocate(8, MEAN);
    CHECK(release(8));
    expect(1, 1);
}

TEST(a_forked_child_draws_numbers_of_its_own_and_knows_its_parents_blocks)
{
    uint64_t random;
    int status;
    pid_t child;

    begin(POOL_RECORDING);
    allocate(1, MEAN);
    allocate(2, 1);
    random = context_own->sample.random;
    CHECK(random != 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        allocate(3, 1);
        CHECK(context_own->sample.random != 0);
        CHECK(context_own->sample.random != random);
        CHECK(release(1));
        CHECK(!release(2));
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(release(1));
}
