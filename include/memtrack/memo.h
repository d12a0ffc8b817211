/* Where a memo of a native stack begins, for both sides of the rings (protocol.h: NATIVE_MEMO_*). */
#ifndef MEMTRACK_MEMO_H
#define MEMTRACK_MEMO_H

#include "memtrack/protocol.h"

#include <stdint.h>

/*
 * Return where the memo of a chain begins: rarely at another depth, so that memos stand on one base.
 * depth: of the chain. Context: any thread.
 */
static inline uint32_t memo_base(uint32_t depth)
{
    uint32_t least = MEMO_FRAMES - MEMO_BASE_STEP; /* of its frames */

    return depth < least ? 0 : (depth - least) / MEMO_BASE_STEP * MEMO_BASE_STEP;
}

#endif
