/*
 * Intervals, summed as they come: there are at most as many as rows and pairs of samples, however
 * many blocks. Runs in the tools.
 */
#include "profile/intervals.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

enum {
    FEW_WAITING = 1 << 12,
};

static bool is_same(const void *items, uint32_t item, const void *key)
{
    const struct profile_interval *a = (const struct profile_interval *)items + item, *b = key;

    return a->row == b->row && a->from_bucket == b->from_bucket && a->to_bucket == b->to_bucket;
}

static void add(struct intervals *intervals, uint32_t row, uint32_t from_bucket, uint32_t to_bucket,
                struct profile_cost cost)
{
    struct profile_interval key = {.row = row, .from_bucket = from_bucket, .to_bucket = to_bucket};
    uint64_t hash = hash_index_mix(row, (uint64_t)from_bucket << 32 | to_bucket);
    uint32_t item;

    if (from_bucket >= to_bucket)
        return;
    item = hash_index_find(&intervals->index, hash, is_same, intervals->items, &key);
    if (item == HASH_INDEX_NONE) {
        item = (uint32_t)intervals->item_count++;
        intervals->items = memory_grow(intervals->items, &intervals->item_capacity,
                                       intervals->item_count, sizeof(*intervals->items));
        intervals->items[item] = key;
        hash_index_add(&intervals->index, hash, item);
    }
    intervals->items[item].bytes += cost.bytes;
    intervals->items[item].allocations += cost.allocations;
}

/* Add those that a run which has begun tells; the others wait on. */
static void settle_until(struct intervals *intervals, const struct timeline *timeline, uint32_t run)
{
    size_t kept = 0;

    for (size_t i = 0; i < intervals->waiting_count; i++) {
        const struct interval_waiting *waiting = &intervals->waiting[i];

        if (waiting->to_run > run)
            intervals->waiting[kept++] = *waiting;
        else
            add(intervals, waiting->row, timeline_sample_of(timeline, waiting->from_run),
                timeline_sample_of(timeline, waiting->to_run), waiting->cost);
    }
    intervals->waiting_count = kept;
}

void intervals_wait(struct intervals *intervals, const struct timeline *timeline,
                    const struct interval_waiting *waiting)
{
    if (intervals->waiting_count >= intervals->most_waiting) {
        settle_until(intervals, timeline, timeline->run);
        intervals->most_waiting = 2 * intervals->waiting_count + FEW_WAITING;
    }
    intervals->waiting = memory_grow(intervals->waiting, &intervals->waiting_capacity,
                                     intervals->waiting_count + 1, sizeof(*intervals->waiting));
    intervals->waiting[intervals->waiting_count++] = *waiting;
}

void intervals_settle(struct intervals *intervals, const struct timeline *timeline)
{
    settle_until(intervals, timeline, UINT32_MAX);
}

void intervals_halve(struct intervals *intervals, const struct timeline_pairs *pairs)
{
    struct profile_interval *items = intervals->items;
    size_t item_count = intervals->item_count;

    assert(intervals->waiting_count == 0);
    hash_index_finish(&intervals->index);
    intervals->items = NULL;
    intervals->item_count = intervals->item_capacity = 0;
    for (size_t i = 0; i < item_count; i++)
        add(intervals, items[i].row, timeline_pairs_sample(pairs, items[i].from_bucket),
            timeline_pairs_sample(pairs, items[i].to_bucket),
            (struct profile_cost){items[i].bytes, items[i].allocations});
    free(items);
}

void intervals_add_last(struct intervals *intervals, const struct timeline *timeline, uint32_t row,
                        uint32_t from_run, struct profile_cost cost)
{
    uint32_t from_bucket = timeline_sample_of(timeline, from_run);

    if (from_bucket < timeline->bucket_count)
        add(intervals, row, from_bucket, PROFILE_NEVER, cost);
}

struct intervals intervals_copy(const struct intervals *intervals)
{
    struct intervals copy = *intervals;

    copy.waiting = NULL;
    copy.items = NULL;
    copy.waiting_capacity = intervals->waiting_count;
    copy.item_capacity = intervals->item_count;
    if (intervals->waiting_count > 0)
        copy.waiting =
            memory_copy(intervals->waiting, intervals->waiting_count, sizeof(*copy.waiting));
    if (intervals->item_count > 0)
        copy.items = memory_copy(intervals->items, intervals->item_count, sizeof(*copy.items));
    copy.index = hash_index_copy(&intervals->index);
    return copy;
}

int intervals_compare(const void *left, const void *right)
{
    const struct profile_interval *a = left, *b = right;

    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->from_bucket != b->from_bucket)
        return a->from_bucket < b->from_bucket ? -1 : 1;
    return (a->to_bucket > b->to_bucket) - (a->to_bucket < b->to_bucket);
}

struct profile_interval *intervals_take(struct intervals *intervals, uint64_t *ret_count)
{
    struct profile_interval *items = intervals->items;

    /* Asked for and none is different from not asked for. */
    if (items == NULL)
        items = memory_allocate(1, sizeof(*items));
    if (intervals->item_count > 0)
        qsort(items, intervals->item_count, sizeof(*items), intervals_compare);
    *ret_count = intervals->item_count;
    intervals->items = NULL;
    intervals_finish(intervals);
    return items;
}

void intervals_finish(struct intervals *intervals)
{
    free(intervals->waiting);
    free(intervals->items);
    hash_index_finish(&intervals->index);
    *intervals = (struct intervals){0};
}
