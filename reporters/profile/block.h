/*
 * What the model keeps of something live: a block, or a part of a range.
 */
#ifndef PROFILE_BLOCK_H
#define PROFILE_BLOCK_H

#include <stdint.h>

#define ROW_NONE UINT32_MAX /* live, but not counted */

struct block {
    uint64_t bytes;
    uint32_t row;     /* ROW_NONE, or which stack in which thread has allocated it */
    uint32_t tick;    /* of its birth: index in capture.ticks + 1; 0: before the first */
    uint32_t ordinal; /* how many blocks its thread had allocated with it, modulo 2^32; of a range:
                         how many maps there had been in all */
    uint32_t shown;   /* first run of the timeline that shows it (timeline.h) */
};

#endif
