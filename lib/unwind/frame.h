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
#include <string.h>

/* In the upper bits of unwind_frame.how. The first two are those of enum row_kind. */
#define FRAME_FLAG_SHIFT 56
#define FRAME_USES_FP    (UINT64_C(1) << 56) /* the step outwards depends on the frame pointer */
#define FRAME_SETS_FP    (UINT64_C(1) << 57) /* ... and finds the outer one in memory */
#define FRAME_NEEDS_FP   (UINT64_C(1) << 58) /* some step outwards depends on its value here */
#define FRAME_IS_EXACT   (UINT64_C(1) << 59)
#define FRAME_IS_BARRIER (UINT64_C(1) << 60) /* the step outwards read other words than those two */
#define FRAME_IS_MARK    (UINT64_C(1) << 61) /* no frame: pc says why the outer ones are not there */
#define FRAME_SLOT_MASK  ((UINT64_C(1) << FRAME_FLAG_SHIFT) - 1)

struct unwind_frame {
    uintptr_t sp, pc, fp;
    /* bits 0-55: where fp was read by the step to this frame; 0: it is the inner frame's. 56-63: flags */
    uint64_t how;
};

/* Return a word of the stack; where a table lies it may lie across two. Context: hot path. */
static inline uintptr_t frame_word(uintptr_t address)
{
    uintptr_t word;

    memcpy(&word, (const void *)address, sizeof(word));
    return word;
}

/* Return the address that fp was read at, 0 when it was not. Context: hot path. */
static inline uintptr_t frame_slot(const struct unwind_frame *frame)
{
    return (uintptr_t)(frame->how & FRAME_SLOT_MASK);
}

/*
 * Whether the step to a frame would come to the same state again.
 * frame: not behind a barrier, nor a mark. Context: hot path.
 */
static inline bool frame_is_unchanged(const struct unwind_frame *frame)
{
    if (frame_word(frame->sp - sizeof(uintptr_t)) != frame->pc)
        return false;
    return (frame->how & FRAME_NEEDS_FP) == 0 || frame_slot(frame) == 0 ||
           frame_word(frame_slot(frame)) == frame->fp;
}

/* The frame that comes next: its state, and what is known of it. */
struct next_frame {
    uintptr_t pc, sp, fp;
    uint64_t how; /* where fp was read, and whether pc is exact: as unwind_frame.how */
};

/* Whether the next frame is one of the last walk's, as far as it matters from there on. Context: hot path. */
static inline __attribute__((always_inline)) bool frame_is_at(const struct next_frame *next,
                                                              const struct unwind_frame *frame)
{
    return frame->sp == next->sp && frame->pc == next->pc &&
           ((frame->how ^ next->how) & FRAME_IS_EXACT) == 0 &&
           ((frame->how & FRAME_NEEDS_FP) == 0 || frame->fp == next->fp);
}

/* Put what is now in the place of what was read last time: of a frame that stays, where it is met. Context: hot path. */
static inline void frame_renew(struct unwind_frame *frame, uintptr_t fp, uint64_t how)
{
    frame->fp = fp;
    frame->how = (frame->how & ~FRAME_SLOT_MASK) | (how & FRAME_SLOT_MASK);
}

/*
 * A state that was reached is frames[left - 1]. Find how far outwards the stack is what it was.
 * Returns the index of the outermost frame that is known to be. Context: hot path.
 */
static inline __attribute__((always_inline)) uint32_t
frame_verify(const struct unwind_frame *frames, uint32_t left)
{
    const struct unwind_frame *frame = &frames[left - 1];

    for (; frame > frames; frame--) {
        if (unlikely((frame->how & FRAME_IS_BARRIER) != 0)) {
            /* What was not found last time is not looked for each time. */
            if (frame == frames + 1 && (frame[-1].how & FRAME_IS_MARK) != 0)
                return 0;
            break;
        }
        if (unlikely(!frame_is_unchanged(&frame[-1])))
            break;
    }
    return (uint32_t)(frame - frames);
}

/*
 * Whether the outermost frame is the last one by words that its step has read: it has to be taken again.
 * Context: hot path.
 */
static inline bool frame_is_open(const struct unwind_frame *root)
{
    return unlikely((root->how & (FRAME_IS_BARRIER | FRAME_IS_MARK)) == FRAME_IS_BARRIER);
}

#endif
