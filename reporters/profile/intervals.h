/*
 * Which samples show a block: from the first to the first that does not, summed over equal blocks.
 *
 * Needs a reading of the events in which the samples' instants are known already, so a second one.
 */
#ifndef PROFILE_INTERVALS_H
#define PROFILE_INTERVALS_H

#include "base/hash_index.h"
#include "profile/profile.h"

#include <stddef.h>
#include <stdint.h>

struct intervals {
    const uint64_t *instants; /* of the samples, rising; the owner's. NULL: none are wanted */
    uint32_t sample_count;
    uint32_t next; /* first sample that is not over */
    struct profile_interval *items;
    size_t item_count, item_capacity;
    struct hash_index index;
};

/* Return the first sample that shows what has been there since so many changes. Context: tool. */
static inline uint32_t intervals_next(struct intervals *intervals, uint64_t changes)
{
    while (intervals->next < intervals->sample_count &&
           intervals->instants[intervals->next] < changes)
        intervals->next++;
    return intervals->next;
}

/* Add a block of a row; nothing when no sample shows it. Context: tool. */
void intervals_add(struct intervals *intervals, uint32_t row, uint32_t from_bucket,
                   uint32_t to_bucket, uint64_t bytes);

/*
 * Put them in order and hand them out. ret_count: how many.
 * Returns memory to be given to free(); the intervals are empty then. Context: tool.
 */
struct profile_interval *intervals_take(struct intervals *intervals, uint64_t *ret_count);

/* Give it back. Context: tool. */
void intervals_finish(struct intervals *intervals);

#endif
