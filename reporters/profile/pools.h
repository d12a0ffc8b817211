/*
 * What the program's own pools gave out, pool by pool: beside the heap, never in it.
 *
 * Not thread-safe. A block counts for the pool that gave it out, whoever takes it back; a forked child
 * begins with none.
 */
#ifndef PROFILE_POOLS_H
#define PROFILE_POOLS_H

#include "capture/merge.h"
#include "profile/live_blocks.h"
#include "profile/profile.h"

#include <stdint.h>

struct pools {
    struct profile_pool *sums;  /* by allocator; NULL: no block yet */
    uint64_t *live_bytes;       /* likewise */
    struct live_blocks *blocks; /* of each process; row: the allocator, tick: the stack, shown: the
                                   stream */
    size_t process_capacity;    /* of blocks */
};

/* All zero bytes is its beginning. Take an ALLOC or FREE of DOMAIN_POOL; others are passed over. Context: tool. */
void pools_take(struct pools *pools, const struct capture *capture, const struct event *event);

/* A process has ended, or there are no more events: what it has was never taken back. */
void pools_end_process(struct pools *pools, uint32_t process_index);

/*
 * Return those that occur, by number, with what has not been taken back yet as what never was; the
 * caller's, to be freed. NULL: none. Context: tool.
 */
struct profile_pool *pools_sums(const struct pools *pools, uint32_t *ret_count);

/* Give it back. Context: tool. */
void pools_finish(struct pools *pools);

#endif
