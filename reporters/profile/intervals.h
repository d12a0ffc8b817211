/*
 * Which samples show a block: from the first to the first that does not, summed over equal blocks.
 *
 * What the sample of the current bucket shows is known when the bucket is over, so what is released
 * in it waits till then. What no sample can show any more does not wait: so only what is live when the
 * bucket's heap is highest does, and some others for a while.
 */
#ifndef PROFILE_INTERVALS_H
#define PROFILE_INTERVALS_H

#include "base/hash_index.h"
#include "profile/profile.h"
#include "profile/timeline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block that was released in the current bucket. */
struct interval_waiting {
    struct profile_cost cost;
    uint32_t row;
    uint32_t from_run,
        to_run; /* of the timeline: the first that shows it, the first that does not */
};

struct intervals {
    bool is_wanted; /* else nothing is to be added */
    struct interval_waiting *waiting;
    size_t waiting_count, waiting_capacity;
    size_t most_waiting; /* before it is seen who need not wait any more */
    struct profile_interval *items;
    size_t item_count, item_capacity;
    struct hash_index index;
};

/* Add one that waits; from_run is less than to_run. Context: tool. */
void intervals_wait(struct intervals *intervals, const struct timeline *timeline,
                    const struct interval_waiting *waiting);

/*
 * Add a block of a row that is released now. from_run, to_run: as timeline_add() and
 * timeline_remove() have returned them. Context: tool.
 */
static inline void intervals_add(struct intervals *intervals, const struct timeline *timeline,
                                 uint32_t row, uint32_t from_run, uint32_t to_run,
                                 struct profile_cost cost)
{
    struct interval_waiting waiting = {cost, row, from_run, to_run};

    if (from_run < to_run)
        intervals_wait(intervals, timeline, &waiting);
}

/* The last bucket is over: nobody waits any more. Context: tool. */
void intervals_settle(struct intervals *intervals, const struct timeline *timeline);

/*
 * Pairs of buckets have become one each: intervals that are the same now become one. Nobody waits.
 * Context: tool.
 */
void intervals_halve(struct intervals *intervals, const struct timeline_pairs *pairs);

/* Add a block that is there still when the last bucket is over. Context: tool. */
void intervals_add_last(struct intervals *intervals, const struct timeline *timeline, uint32_t row,
                        uint32_t from_run, struct profile_cost cost);

/* Return the same ones, which go on by themselves; to be given to intervals_finish(). Context: tool. */
struct intervals intervals_copy(const struct intervals *intervals);

/* Compare two struct profile_interval for qsort(): by row, then by time. Context: tool. */
int intervals_compare(const void *left, const void *right);

/*
 * Put them in order and hand them out. ret_count: how many.
 * Returns memory to be given to free(); the intervals are empty then. Context: tool.
 */
struct profile_interval *intervals_take(struct intervals *intervals, uint64_t *ret_count);

/* Give it back. Context: tool. */
void intervals_finish(struct intervals *intervals);

#endif
