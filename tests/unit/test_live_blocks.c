/*
 * Live blocks against plain arrays, at addresses that would make a table slow.
 */
#include "profile/live_blocks.h"

#include "test.h"

enum {
    KEY_COUNT = 3000,
    STEP_COUNT = 200000,
};

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Keys a fixed distance apart: neighbours, cache lines, pages, and nearly the whole space. */
static uint64_t key_at(unsigned i, uint64_t distance)
{
    return LIVE_KEY | (UINT64_C(0x7f0000000010) + i * distance) % (UINT64_C(1) << 60);
}

static void check_against_array(uint64_t distance)
{
    static uint64_t bytes[KEY_COUNT]; /* 0: not live */
    struct live_blocks blocks = {0};
    size_t live_count = 0;

    memset(bytes, 0, sizeof(bytes));
    for (unsigned step = 0; step < STEP_COUNT; step++) {
        unsigned i = (unsigned)(next_random() % KEY_COUNT);
        uint64_t key = key_at(i, distance);
        struct live_block *found = live_blocks_find(&blocks, key);
        bool is_new;

        test_case("distance %" PRIu64 ", step %u", distance, step);
        CHECK_EQUAL(found != NULL, bytes[i] != 0);
        if (found != NULL) {
            CHECK_EQUAL(found->block.bytes, bytes[i]);
            live_blocks_remove(&blocks, found);
            bytes[i] = 0;
            live_count--;
        } else {
            bytes[i] = step + 1;
            found = live_blocks_put(&blocks, key, &is_new);
            CHECK(is_new);
            found->block.bytes = bytes[i];
            live_count++;
        }
        CHECK_EQUAL(blocks.count, live_count);
    }
    live_blocks_finish(&blocks);
}

TEST(what_is_put_is_found_until_it_is_removed)
{
    static const uint64_t distances[] = {
        16, 48, 64, 4096, UINT64_C(1) << 21, UINT64_C(0x123456789abcd)};

    for (unsigned i = 0; i < sizeof(distances) / sizeof(distances[0]); i++)
        check_against_array(distances[i]);
}

TEST(a_block_that_is_there_is_put_only_once)
{
    struct live_blocks blocks = {0};
    bool is_new;

    CHECK(live_blocks_find(&blocks, LIVE_KEY) == NULL);
    live_blocks_put(&blocks, LIVE_KEY, &is_new)->block.bytes = 5;
    CHECK(is_new);
    CHECK_EQUAL(live_blocks_put(&blocks, LIVE_KEY, &is_new)->block.bytes, 5);
    CHECK(!is_new);
    CHECK_EQUAL(blocks.count, 1);
    live_blocks_finish(&blocks);
}

/* Blocks of equal size from power-of-two classes all begin at the same place of a page. */
TEST(blocks_at_equal_places_of_pages_do_not_meet_in_one_slot)
{
    struct live_blocks blocks = {0};
    size_t moved = 0, mask;
    bool is_new;

    for (unsigned i = 0; i < 100000; i++)
        live_blocks_put(&blocks, key_at(i, 4096), &is_new);
    mask = blocks.slot_count - 1;
    for (size_t at = 0; at < blocks.slot_count; at++)
        if (blocks.slots[at].key != 0)
            moved += (at - address_slot(blocks.slots[at].key, blocks.shift)) & mask;
    CHECK(moved < 2 * blocks.count); /* on average not two slots beyond their own */
    live_blocks_finish(&blocks);
}
