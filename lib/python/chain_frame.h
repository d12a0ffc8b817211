/*
 * One frame of an interpreter, and what a walk keeps of it.
 *
 * Runs in the program's threads, inside their malloc; inlined into the walkers, with the layout as
 * constants. A frame is that of the calling thread, and alive.
 */
#ifndef PYTHON_CHAIN_FRAME_H
#define PYTHON_CHAIN_FRAME_H

#include "python/code_names.h"
#include "python/layout.h"
#include "python/load.h"

#include <stdbool.h>
#include <stdint.h>

#define CHAIN_INLINE static inline __attribute__((always_inline))

/* python_walk_frame.code_id, besides ids; CODE_ID_NONE: not known, or no code. */
#define CHAIN_BOUNDARY CODE_ID_MAX /* a frame of the interpreter's own, not shown */

struct python_walk_frame {
    uintptr_t frame;
    uintptr_t instruction; /* as chain_instruction() tells */
    uint64_t beside;       /* 3.11: the word behind it, in which is_entry is; else 0 */
    uintptr_t code;        /* with its tags */
    uint32_t code_id;
    uint32_t shown;
};

/* Return the innermost frame of a thread state; 0 when it runs none. Context: hot path. */
CHAIN_INLINE uintptr_t chain_top(uintptr_t state, const struct frame_layout *layout)
{
    uintptr_t top = load_word(state, layout->state_frame);

    if (layout->has_cframe && top != 0)
        top = load_word(top, layout->cframe_frame);
    return top;
}

/* Return the frame that called this one; 0 at the root. Context: hot path. */
CHAIN_INLINE uintptr_t chain_previous(uintptr_t frame, const struct frame_layout *layout)
{
    return load_word(frame, layout->previous);
}

/* Return where a frame is: an address or an offset, as its version holds it. Context: hot path. */
CHAIN_INLINE uintptr_t chain_instruction(uintptr_t frame, const struct frame_layout *layout)
{
    if (layout->instruction_kind != INSTRUCTION_POINTER)
        return load_u32(frame, layout->instruction);
    return load_word(frame, layout->instruction);
}

/* Return the word beside it, where that says something. Context: hot path. */
CHAIN_INLINE uint64_t chain_beside(uintptr_t frame, const struct frame_layout *layout)
{
    return layout->entry != 0 ? load_word(frame, layout->instruction + 8u) : 0;
}

/* 3.11: whether the frame begins an activation of the interpreter. Context: hot path. */
CHAIN_INLINE bool chain_is_entry(const struct python_walk_frame *entry,
                                 const struct frame_layout *layout)
{
    return (entry->beside >> 8 * (layout->entry - layout->instruction - 8) & 0xff) != 0;
}

/* Returns true for a frame of the interpreter's own, which runs no code. Context: hot path. */
CHAIN_INLINE bool chain_is_boundary(uintptr_t frame, const struct frame_layout *layout)
{
    return layout->owner != 0 && load_u8(frame, layout->owner) >= FRAME_OWNED_BY_C_FROM;
}

/* True when a frame does not say what the entry of its address says. */
CHAIN_INLINE bool chain_differs(uintptr_t frame, const struct python_walk_frame *entry,
                                const struct frame_layout *layout)
{
    bool differs = chain_instruction(frame, layout) != entry->instruction;

    if (layout->entry != 0)
        differs |= (load_u8(frame, layout->entry) != 0) != chain_is_entry(entry, layout);

    /* A pointer into a code object says which; a number does not, nor a pointer into a copy. */
    if (layout->instruction_kind != INSTRUCTION_POINTER || layout->copy != 0)
        differs |= load_word(frame, layout->code) != entry->code;
    return differs;
}

#endif
