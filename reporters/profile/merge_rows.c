/*
 * The merging. Done once, at the end: so an event costs no more where there are levels.
 */
#include "profile/merge_rows.h"

#include "base/hash_index.h"
#include "base/memory.h"
#include "profile/intervals.h"

#include <stdlib.h>

/* A row's stack without its level, and its thread. */
struct key {
    const struct capture_stack *stacks;
    const struct profile_row *row;
};

static bool is_same(const void *items, uint32_t item, const void *wanted)
{
    const struct profile_row *row = (const struct profile_row *)items + item;
    const struct key *key = wanted;
    const struct capture_stack *a = &key->stacks[row->stack], *b = &key->stacks[key->row->stack];

    return row->stream == key->row->stream && a->python_node == b->python_node &&
           a->native_node == b->native_node && a->allocator == b->allocator &&
           a->map_class == b->map_class;
}

static uint64_t hash_of(const struct key *key)
{
    const struct capture_stack *stack = &key->stacks[key->row->stack];
    uint64_t kind = (uint64_t)stack->allocator << 8 | stack->map_class;

    return hash_index_mix((uint64_t)stack->python_node << 32 | stack->native_node,
                          (uint64_t)key->row->stream << 32 | kind);
}

static bool has_levels(const struct profile *profile)
{
    for (uint32_t i = 0; i < profile->row_count; i++)
        if (profile->capture->stacks[profile->rows[i].stack].level > 0)
            return true;
    return false;
}

static void add_costs(struct profile_row *row, const struct profile_row *added)
{
    for (unsigned view = 0; view < VIEW_COUNT; view++) {
        row->costs[view].bytes += added->costs[view].bytes;
        row->costs[view].allocations += added->costs[view].allocations;
    }
}

/* Merge the rows. places: gets where each is now. */
static void merge(struct profile *profile, uint32_t *places)
{
    struct hash_index index = {.item_count = 0};
    uint32_t count = 0;

    for (uint32_t i = 0; i < profile->row_count; i++) {
        struct key key = {profile->capture->stacks, &profile->rows[i]};
        uint64_t hash = hash_of(&key);
        uint32_t item = hash_index_find(&index, hash, is_same, profile->rows, &key);

        if (item == HASH_INDEX_NONE) {
            item = count++;
            hash_index_add(&index, hash, item);
            profile->rows[item] = profile->rows[i];
        } else {
            add_costs(&profile->rows[item], &profile->rows[i]);
        }
        places[i] = item;
    }
    profile->row_count = count;
    hash_index_finish(&index);
}

static void merge_intervals(struct profile *profile, const uint32_t *places)
{
    struct profile_interval *intervals = profile->intervals;
    uint64_t count = 0;

    for (uint64_t i = 0; i < profile->interval_count; i++)
        intervals[i].row = places[intervals[i].row];
    if (profile->interval_count > 0)
        qsort(intervals, profile->interval_count, sizeof(*intervals), intervals_compare);
    for (uint64_t i = 0; i < profile->interval_count; i++) {
        if (count > 0 && intervals_compare(&intervals[count - 1], &intervals[i]) == 0) {
            intervals[count - 1].bytes += intervals[i].bytes;
            intervals[count - 1].allocations += intervals[i].allocations;
        } else {
            intervals[count++] = intervals[i];
        }
    }
    profile->interval_count = count;
}

void merge_rows_of_levels(struct profile *profile)
{
    uint32_t *places;

    if (!has_levels(profile))
        return;
    places = memory_allocate(profile->row_count, sizeof(*places));
    merge(profile, places);
    merge_intervals(profile, places);
    free(places);
}
