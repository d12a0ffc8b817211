/*
 * The page's intervals: what each row of the tree allocated and released, by bucket of time.
 *
 * Runs in the tools. What holds: intervals are sorted by row, then from_bucket, then to_bucket, and
 * no two are alike in all three; merging keeps the bytes and allocations of every row, and never
 * mixes what was released with what was not.
 */
#ifndef RENDER_PAGE_TIME_H
#define RENDER_PAGE_TIME_H

#include "profile/profile.h"
#include "render/page_tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PAGE_NEVER_BUCKET = 2 * PROFILE_BUCKETS, /* the to_bucket of what was not released */
};

struct page_interval {
    uint32_t row;                    /* in page_tree.rows */
    uint16_t from_bucket, to_bucket; /* as in struct profile_interval, but for PAGE_NEVER_BUCKET */
    uint64_t bytes;
    uint64_t allocations;
};

struct page_time {
    struct page_interval *intervals;
    size_t interval_count;
    bool is_merged; /* page_time_merge() changed the times of some */
};

/*
 * Collect the profile's intervals by the rows of the tree.
 * Returns with interval_count 0 when the profile has none. Context: tool.
 */
void page_time_init(struct page_time *time, const struct profile *profile,
                    const struct page_tree *tree);

/*
 * Bring the number of intervals down to limit_count, or as near as can be without mixing rows.
 * Blocks of one row that were allocated and released at nearly the same times become one interval
 * between their mean times; those with the least bytes x time go first. Context: tool.
 */
void page_time_merge(struct page_time *time, size_t limit_count);

/* Give it back. Context: tool. */
void page_time_finish(struct page_time *time);

#endif
