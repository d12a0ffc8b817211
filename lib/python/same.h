/*
 * Whether a thread's Python stack is what it was, asked in line: of a short chain, with the layout as
 * constants and no call.
 *
 * Runs in the program's threads, inside their malloc. All other chains, and interpreters of which a
 * call has to tell the thread's state, are asked about through python_walk_if_same().
 */
#ifndef PYTHON_SAME_H
#define PYTHON_SAME_H

#include "base/arch.h"
#include "python/chain.h"
#include "python/layout_table.h"

#include <stddef.h>
#include <stdint.h>

/* Which state a thread runs with. Constant once an interpreter is followed. */
struct python_at_hand {
    uintptr_t in_use;  /* up to 3.11: where the state is that holds the GIL */
    size_t thread;     /* up to 3.11: offset of its thread in it */
    intptr_t attached; /* from 3.12: where a thread's state is, from its thread pointer; or 0 */
    struct code_layout code;
    enum frame_family family; /* to be asked about in line; FRAMES_COUNT: none */
};

/* Hidden, as is all of ours: said here the compiler addresses it without a table between. */
extern struct python_at_hand python_at_hand __attribute__((visibility("hidden")));

/*
 * Return the state that the calling thread runs with, 0 when it runs with none, or, up to 3.11, when
 * it is another than at the last walk.
 * family: constant; from 3.12 on only where python_at_hand.attached is known.
 * Context: hot path.
 */
CHAIN_INLINE uintptr_t python_state_at_hand(const struct python_walk *walk,
                                            enum frame_family family)
{
    uintptr_t state;

    if (family >= FRAMES_3_12)
        return arch_thread_word(python_at_hand.attached);
    /* Who holds the GIL: us, or a thread whose state was made where ours had been. */
    state = load_word(python_at_hand.in_use, 0);
    if (state != walk->thread_state || state == 0)
        return 0;
    return load_word(state, python_at_hand.thread) == walk->thread ? state : 0;
}

/* Whether the chain is one that python_short_is_same() may be asked about. Context: hot path. */
CHAIN_INLINE bool python_walk_is_short(const struct python_walk *walk)
{
    return walk->short_generation == code_names_generation();
}

/*
 * Whether a short chain is what it was at the last walk, and nothing has changed in it.
 * family: constant, python_at_hand.family.
 * Context: hot path.
 */
CHAIN_INLINE bool python_short_is_same(const struct python_walk *walk, enum frame_family family)
{
    const struct frame_layout layout = frame_layout_of(family);
    uintptr_t state = python_state_at_hand(walk, family);

    return state != 0 && chain_matches(walk, 0, walk->depth, chain_top(state, &layout), &layout);
}

/* What has become of a short chain since the last walk. */
enum python_nearness {
    PYTHON_SAME,
    PYTHON_MOVED, /* its innermost frame is at another place of its code, all else is as it was */
    PYTHON_OTHER, /* python_walk_update() has to tell */
};

/* Where the innermost frame is now. */
struct python_move {
    uintptr_t instruction;
    uint64_t beside;
    uint64_t offset; /* of PYTHON_MOVED: in its code, as it is given out */
};

/*
 * Tell what has become of a short chain. family, Context: as python_short_is_same().
 * ret_move: is to be given to python_short_move() once it has been recorded.
 */
CHAIN_INLINE enum python_nearness python_short_look(const struct python_walk *walk,
                                                    enum frame_family family,
                                                    struct python_move *ret_move)
{
    const struct frame_layout layout = frame_layout_of(family);
    uintptr_t state = python_state_at_hand(walk, family);
    uint32_t outer = walk->depth - 1;
    struct python_walk_frame innermost;
    uintptr_t top;

    if (state == 0 || walk->depth == 0)
        return PYTHON_OTHER;
    innermost = walk->frames[outer];
    top = chain_top(state, &layout);
    if (top != innermost.frame || load_word(top, layout.code) != innermost.code ||
        innermost.code_id == CODE_ID_NONE || innermost.code_id == CHAIN_BOUNDARY ||
        !chain_matches(walk, 0, outer, chain_previous(top, &layout), &layout))
        return PYTHON_OTHER;
    ret_move->instruction = chain_instruction(top, &layout);
    ret_move->beside = chain_beside(top, &layout);
    if (ret_move->instruction == innermost.instruction)
        return chain_differs(top, &innermost, &layout) ? PYTHON_OTHER : PYTHON_SAME;
    /* A generator's frame may begin an activation now that did not, or the other way round. */
    innermost.instruction = ret_move->instruction;
    if (chain_differs(top, &innermost, &layout))
        return PYTHON_OTHER;
    ret_move->offset = chain_offset(&innermost, innermost.code & ~(uintptr_t)FRAME_CODE_TAGS,
                                    &layout, &python_at_hand.code) &
                       ((UINT64_C(1) << FRAME_OFFSET_BITS) - 1);
    return PYTHON_MOVED;
}

/* Keep where the innermost frame is. Context: hot path. */
CHAIN_INLINE void python_short_move(const struct python_walk *walk, const struct python_move *move)
{
    struct python_walk_frame *innermost = &walk->frames[walk->depth - 1];

    innermost->instruction = move->instruction;
    innermost->beside = move->beside;
}

#endif
