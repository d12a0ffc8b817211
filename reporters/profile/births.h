/*
 * Inside the folder: which blocks were allocated in a part of the time.
 *
 * A bound is a place between two events. A block's tick says on which side of it the block was born;
 * of the tick that the bound lies in, how many blocks its thread, or maps all threads, had allocated.
 */
#ifndef PROFILE_BIRTHS_H
#define PROFILE_BIRTHS_H

#include "profile/block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct birth_bound {
    uint32_t tick;        /* in force there; as struct block has it */
    uint32_t map_ordinal; /* of the last map before it */
    uint32_t *ordinals; /* by stream: of its last block before it; NULL: the bound is not reached */
};

struct births {
    struct birth_bound from, to;
    bool is_from_start; /* from is before all events */
};

/* Was a block born behind a bound? stream: who allocated it. Context: tool. */
static inline bool births_is_behind(const struct birth_bound *bound, const struct block *block,
                                    uint32_t stream, bool is_range)
{
    if (bound->ordinals == NULL)
        return false;
    if (block->tick != bound->tick)
        return block->tick > bound->tick;
    return (int32_t)(block->ordinal - (is_range ? bound->map_ordinal : bound->ordinals[stream])) >
           0;
}

/* Was a block born between the bounds? Nothing was before the first is reached. Context: tool. */
static inline bool births_has(const struct births *births, const struct block *block,
                              uint32_t stream, bool is_range)
{
    return (births->is_from_start || births_is_behind(&births->from, block, stream, is_range)) &&
           !births_is_behind(&births->to, block, stream, is_range);
}

#endif
