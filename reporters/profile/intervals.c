/*
 * Intervals, summed as they come: there are at most as many as rows and pairs of samples, however
 * many blocks. Runs in the tools.
 */
#include "profile/intervals.h"

#include "base/memory.h"

#include <stdlib.h>

static bool is_same(const void *items, uint32_t item, const void *key)
{
    const struct profile_interval *a = (const struct profile_interval *)items + item, *b = key;

    return a->row == b->row && a->from_bucket == b->from_bucket && a->to_bucket == b->to_bucket;
}

void intervals_add(struct intervals *intervals, uint32_t row, uint32_t from_bucket,
                   uint32_t to_bucket, uint64_t bytes)
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
    intervals->items[item].bytes += bytes;
    intervals->items[item].allocations++;
}

static int compare(const void *left, const void *right)
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
        qsort(items, intervals->item_count, sizeof(*items), compare);
    *ret_count = intervals->item_count;
    intervals->items = NULL;
    intervals_finish(intervals);
    return items;
}

void intervals_finish(struct intervals *intervals)
{
    free(intervals->items);
    hash_index_finish(&intervals->index);
    *intervals = (struct intervals){0};
}
