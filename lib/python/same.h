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

#endif
