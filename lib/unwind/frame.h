/*
 * A frame of a stack that was walked, and what of it has to be as it was for the next one to be the same.
 *
 * A frame's state is what a function has when the one that it called returns. The step to the next outer
 * state reads its return address, and the frame pointer if that was saved. So when a state is one of the
 * last walk's, and the words that were read from there on are what they were, so are all outer states.
 */
#ifndef UNWIND_FRAME_H
#define UNWIND_FRAME_H

#include "unwind/rows.h"
#include "unwind/unwind.h"

#include <stdbool.h>
#include <stdint.h>

enum frame_flag {
    FRAME_NEEDS_FP = 1u << 0, /* some step outwards depends on the frame pointer's value here */
    FRAME_IS_EXACT = 1u << 1,
    FRAME_IS_BARRIER = 1u << 2, /* the step outwards read other words than those two */
    FRAME_USES_FP = 1u << 3,    /* the step outwards depends on it */
    FRAME_SETS_FP = 1u << 4,    /* ... and finds the outer one in memory */
    FRAME_IS_MARK = 1u << 5,    /* no frame: pc says why the outer ones are not there */
};

struct unwind_frame {
    uintptr_t sp, pc, fp;
    uintptr_t slot; /* where fp was read by the step to this frame; 0: it is the inner frame's */
    uint32_t flags; /* enum frame_flag */
};

/* Return where the step to a frame has read its address. Context: hot path. */
static inline uintptr_t frame_link(const struct unwind_frame *frame)
{
    return frame->sp - sizeof(uintptr_t);
}

/*
 * Whether the step to a frame would come to the same state again.
 * frame: not behind a barrier, nor a mark. Context: hot path.
 */
static inline bool frame_is_unchanged(const struct unwind_frame *frame)
{
    if (*(const uintptr_t *)frame_link(frame) != frame->pc)
        return false;
    return (frame->flags & FRAME_NEEDS_FP) == 0 || frame->slot == 0 ||
           *(const uintptr_t *)frame->slot == frame->fp;
}

/* Whether a state is that of a frame, as far as it matters from there on. Context: hot path. */
static inline bool frame_is_state(const struct unwind_frame *frame,
                                  const struct unwind_state *state)
{
    return frame->sp == state->sp && frame->pc == state->pc &&
           ((frame->flags & FRAME_IS_EXACT) != 0) == state->is_exact &&
           (frame->flags & FRAME_IS_MARK) == 0 &&
           ((frame->flags & FRAME_NEEDS_FP) == 0 || frame->fp == state->fp);
}

/* Return what a row says of the frame pointer, as flags. Context: hot path. */
static inline uint32_t frame_flags_of(unwind_row row)
{
    switch (row >> ROW_KIND_SHIFT) {
    case ROW_SP:
    case ROW_END:
        return 0;
    case ROW_SP_SAVED:
        return FRAME_SETS_FP;
    case ROW_FP_SAVED:
        return FRAME_USES_FP | FRAME_SETS_FP;
    case ROW_FP:
        return FRAME_USES_FP;
    default: /* more than is worth telling apart */
        return FRAME_USES_FP | FRAME_IS_BARRIER;
    }
}

#endif
