/*
 * Which samples show a block, said while the events are read once: against a second way, which keeps
 * all changes and asks when it is over. It knows from the start how long the buckets will be.
 */
#include "base/memory.h"
#include "profile/intervals.h"
#include "profile/timeline.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

enum {
    BUCKETS = 6,
    ROWS = 3,
    MAX_BLOCKS = 100000,
};

/* A block as both ways know it. */
struct known {
    uint64_t bytes;
    uint32_t row, shown;
    uint64_t born, gone;             /* changes of the heap with it; 0: not yet */
    uint32_t from_bucket, to_bucket; /* as the second way says */
};

static struct timeline timeline;
static struct timeline_heap heap;
static struct intervals intervals;
static struct known *blocks;
static uint32_t block_count, live_count;
static uint32_t live[MAX_BLOCKS];
static uint64_t now_ns, changes, instants[PROFILE_BUCKETS], highest[PROFILE_BUCKETS];
static uint32_t bucket, bucket_ms, seed;

/* final_ms: of a bucket, when all is over. */
static void begin(uint32_t random_seed, uint32_t final_ms)
{
    memset(&heap, 0, sizeof(heap));
    memset(instants, 0, sizeof(instants));
    memset(highest, 0, sizeof(highest));
    timeline_init(&timeline);
    intervals = (struct intervals){.is_wanted = true};
    blocks = memory_allocate(MAX_BLOCKS, sizeof(*blocks));
    block_count = live_count = bucket = 0;
    now_ns = changes = 0;
    seed = random_seed;
    bucket_ms = final_ms;
}

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)seed * limit >> 32);
}

static void add(uint64_t bytes)
{
    struct known *block = &blocks[block_count];

    CHECK(block_count < MAX_BLOCKS);
    heap.bytes += bytes;
    heap.blocks++;
    *block = (struct known){.bytes = bytes, .row = random_below(ROWS), .born = ++changes};
    block->shown = timeline_add(&timeline, now_ns, &heap);
    if (heap.bytes > highest[bucket]) {
        highest[bucket] = heap.bytes;
        instants[bucket] = changes;
    }
    live[live_count++] = block_count++;
}

static void remove_at(uint32_t at)
{
    struct known *block = &blocks[live[at]];

    heap.bytes -= block->bytes;
    heap.blocks--;
    block->gone = ++changes;
    intervals_add(&intervals, &timeline, block->row, block->shown, timeline_remove(&timeline),
                  (struct profile_cost){block->bytes, 1});
    live[at] = live[--live_count];
}

static void go_to(uint32_t next_ms)
{
    struct timeline_pairs pairs;

    now_ns = next_ms * MS;
    if (timeline_is_over(&timeline, now_ns))
        intervals_settle(&intervals, &timeline);
    while (!timeline_advance(&timeline, now_ns, &heap)) {
        timeline_halve(&timeline, &pairs);
        intervals_halve(&intervals, &pairs);
    }
    for (; bucket < next_ms / bucket_ms; highest[bucket] = heap.bytes, instants[bucket] = changes)
        bucket++;
}

/* The first sample that is not before so many changes. */
static uint32_t sample_of(uint64_t change)
{
    uint32_t sample = 0;

    while (sample <= bucket && instants[sample] < change)
        sample++;
    return sample;
}

static uint32_t to_bucket_of(const struct known *block)
{
    return block->gone != 0 ? sample_of(block->gone) : PROFILE_NEVER;
}

static void compare_samples(void)
{
    CHECK_EQUAL(timeline.bucket_ns, bucket_ms * MS);
    CHECK_EQUAL(timeline.bucket_count, bucket + 1);
    for (uint32_t i = 0; i <= bucket; i++)
        CHECK_EQUAL(timeline.samples[i].heap_bytes, highest[i]);
}

/* End, and compare each interval with the blocks that are in it. */
static void compare(void)
{
    uint64_t count, compared_blocks = 0, shown_blocks = 0;
    struct profile_interval *items;

    compare_samples();
    intervals_settle(&intervals, &timeline);
    for (uint32_t i = 0; i < live_count; i++) {
        const struct known *block = &blocks[live[i]];

        intervals_add_last(&intervals, &timeline, block->row, block->shown,
                           (struct profile_cost){block->bytes, 1});
    }
    items = intervals_take(&intervals, &count);
    for (uint32_t i = 0; i < block_count; i++) {
        blocks[i].from_bucket = sample_of(blocks[i].born);
        blocks[i].to_bucket = to_bucket_of(&blocks[i]);
        shown_blocks +=
            blocks[i].from_bucket <= bucket && blocks[i].from_bucket < blocks[i].to_bucket;
    }
    for (uint64_t k = 0; k < count; k++) {
        uint64_t bytes = 0, allocations = 0;

        for (uint32_t i = 0; i < block_count; i++)
            if (blocks[i].row == items[k].row && blocks[i].from_bucket == items[k].from_bucket &&
                blocks[i].to_bucket == items[k].to_bucket) {
                bytes += blocks[i].bytes;
                allocations++;
            }
        CHECK_EQUAL(items[k].bytes, bytes);
        CHECK_EQUAL(items[k].allocations, allocations);
        compared_blocks += allocations;
    }
    CHECK_EQUAL(compared_blocks, shown_blocks);
    CHECK(shown_blocks > 0);
    free(items);
    free(blocks);
    timeline_finish(&timeline);
}

TEST(random_changes_give_the_intervals_that_a_second_reading_would)
{
    for (uint32_t number = 1; number <= 20; number++) {
        test_case("seed %u", number);
        begin(number, 1);
        for (uint32_t next = 0; next < BUCKETS; next++) {
            if (random_below(4) != 0)
                go_to(next);
            for (unsigned i = 0; i < 300; i++) {
                if (live_count > 0 && random_below(100) < 30 + next * 8)
                    remove_at(random_below(live_count));
                else
                    add(random_below(5) == 0 ? 0 : 1 + random_below(100));
            }
        }
        go_to(BUCKETS - 1);
        compare();
    }
}

TEST(buckets_made_of_pairs_are_what_longer_ones_would_have_been)
{
    for (uint32_t number = 1; number <= 8; number++) {
        uint32_t ms = 0, ends_ms = number % 2 != 0 ? 12000 : 2047 + number;

        test_case("seed %u", number);
        begin(number, ends_ms > 8192 ? 8 : ends_ms > 2047 ? 2 : 1);
        while (ms < ends_ms) {
            ms += random_below(100) == 0 ? random_below(900) : random_below(2 + ends_ms / 1000);
            go_to(ms < ends_ms ? ms : ends_ms);
            for (unsigned i = random_below(4); i > 0; i--) {
                if (live_count > 0 && random_below(100) < 48)
                    remove_at(random_below(live_count));
                else
                    add(random_below(5) == 0 ? 0 : 1 + random_below(100));
            }
        }
        compare();
    }
}

TEST(a_long_silence_halves_the_buckets_many_times)
{
    begin(1, 512);
    add(100);
    go_to(1);
    add(50);
    go_to(1000000);
    remove_at(0);
    add(7);
    compare();
}

TEST(blocks_that_wait_for_the_end_of_a_bucket_are_told_when_there_are_many)
{
    begin(1, 1);
    for (unsigned i = 0; i < 9000; i++)
        add(10);
    while (live_count > 1000)
        remove_at(0); /* all of them were there when the heap was highest */
    for (unsigned i = 0; i < 9000; i++)
        add(10); /* ... until now: none of them is shown any more */
    CHECK(intervals.waiting_count == 8000);
    while (live_count > 4000)
        remove_at(live_count - 1);
    CHECK(intervals.waiting_count < 8000);
    go_to(3);
    while (live_count > 100)
        remove_at(0);
    go_to(BUCKETS - 1);
    compare();
}

TEST(a_block_that_no_sample_shows_does_not_wait)
{
    begin(1, 1);
    add(1000);
    for (unsigned i = 0; i < 5000; i++) {
        add(10);
        remove_at(1);
    }
    CHECK_EQUAL(intervals.waiting_count, 1); /* the first of them was the highest */
    compare();
}
