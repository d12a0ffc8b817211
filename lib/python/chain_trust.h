/*
 * How far a chain has to be compared: what the interpreter does anyway tells that frames further out
 * cannot have changed since the last walk.
 *
 * Runs in the program's threads, inside their malloc; inlined into the walkers. What holds: a frame
 * that was trusted and is still in the chain is the same activation, and what called it waits for
 * it. Nothing of the interpreter's is written but its watermark, which is made for that.
 */
#ifndef PYTHON_CHAIN_TRUST_H
#define PYTHON_CHAIN_TRUST_H

#include "python/chain_frame.h"
#include "python/runtime.h"
#include "python/walk.h"

#include <stdatomic.h>

enum {
    CHAIN_WATERMARK_SEARCH = 16, /* frames looked at for one that can carry the watermark */
    CHAIN_SHORT = 24,            /* a chain that is compared to the root at once */
    CHAIN_CHUNK_FRAMES = 1024,   /* looked at for the first one of a chunk, at most */
};

/*
 * 3.15: return the index of a frame below which nothing can have changed since the last walk, 0
 * when there is none. The interpreter keeps last_profiled_frame on the frame that was put there, or,
 * when that has ended, on the frame before, and counts each such step: so both together tell whether
 * it is still our mark, or a sampling profiler has set its own.
 */
CHAIN_INLINE uint32_t chain_watermark(const struct python_walk *walk, uintptr_t state,
                                      const struct frame_layout *layout)
{
    uintptr_t steps;
    uint32_t index;

    if (layout->watermark == 0 || walk->watermark_index == 0 || walk->thread_state != state)
        return 0;
    steps = load_word(state, layout->watermark_sequence) - walk->watermark_sequence;
    if (steps >= walk->watermark_index)
        return 0;
    index = walk->watermark_index - (uint32_t)steps;
    if (index >= walk->depth || walk->frames[index].frame != load_word(state, layout->watermark))
        return 0;
    return index;
}

/*
 * 3.15: put the mark on the innermost frame that is taken off it by returning: a generator's frame
 * stays valid over a yield, and an interpreter's own lies on the C stack. Whoever else uses the mark
 * sees by the sequence that it is not theirs.
 */
CHAIN_INLINE void chain_set_watermark(struct python_walk *walk, uintptr_t state,
                                      const struct frame_layout *layout)
{
    uintptr_t sequence;
    uint32_t index = walk->depth;

    if (layout->watermark == 0)
        return;
    walk->watermark_index = 0;
    for (unsigned i = 0; i < CHAIN_WATERMARK_SEARCH; i++) {
        if (index-- <= 1)
            return;
        if (load_u8(walk->frames[index].frame, layout->owner) == FRAME_OWNED_BY_THREAD)
            break;
        if (i + 1 == CHAIN_WATERMARK_SEARCH)
            return;
    }
    sequence = load_word(state, layout->watermark_sequence);
    if (load_word(state, layout->watermark) != walk->frames[index].frame) {
        sequence++;
        store_word(state, layout->watermark, walk->frames[index].frame);
        store_word(state, layout->watermark_sequence, sequence);
    }
    walk->thread_state = state;
    walk->watermark_sequence = sequence;
    walk->watermark_index = index;
}

/*
 * 3.11 to 3.14: return the index of the first frame of a chunk, below which nothing can have changed
 * since the last walk, 0 when there is none. Frames of functions are put into chunks one behind the
 * other, and the interpreter unmaps a chunk when its first frame returns. So while nothing has been
 * unmapped in this process that frame is there, and what called it still waits for it.
 *
 * A release that keeps one chunk for the next call unmaps one when a second frame that is the first of
 * its chunk returns: then it has kept one already, or the first of the two has been called again. So
 * there it is the chunk before the innermost one. Not so when a thread has several stacks: another
 * one may take what was kept. A library that does that is known by name, or by another root.
 */
CHAIN_INLINE uint32_t chain_floor(const struct python_walk *walk, const struct frame_layout *layout)
{
    if (layout->chunk == 0 || walk->floor_index == 0)
        return 0;
    if (walk->floor_unmaps != atomic_load_explicit(&python_unmaps, memory_order_relaxed))
        return 0;
    /* A coroutine library may link a root to what called it, which does not wait for its end. */
    return chain_previous(walk->frames[0].frame, layout) == 0 ? walk->floor_index : 0;
}

/* The frames up to the floor are others now. */
CHAIN_INLINE void chain_forget_floor(struct python_walk *walk)
{
    walk->floor_chunk = 0;
    walk->floor_index = 0;
}

/*
 * Whether the chain begins with the first frame of this chunk's root: all of it is one stack of
 * frames. From 3.12 on it may have a frame of the interpreter's own before it.
 */
CHAIN_INLINE bool chain_has_root(const struct python_walk *walk, uintptr_t chunk,
                                 const struct frame_layout *layout)
{
    uintptr_t previous;

    while ((previous = load_word(chunk, CHUNK_PREVIOUS)) != 0)
        chunk = previous;
    if (walk->frames[0].frame == chunk + CHUNK_ROOT_FRAMES)
        return true;
    /* No frame is read that the live chain has not given. */
    return walk->depth > 1 && walk->frames[1].frame == chunk + CHUNK_ROOT_FRAMES &&
           chain_previous(walk->frames[1].frame, layout) == walk->frames[0].frame &&
           chain_is_boundary(walk->frames[0].frame, layout);
}

/*
 * Note which chunk is the root of the thread's stack: it is the same as long as the state lives, unless
 * there are several stacks.
 */
CHAIN_INLINE void chain_note_root(struct python_walk *walk, uintptr_t state,
                                  const struct python_runtime *runtime,
                                  const struct frame_layout *layout)
{
    uintptr_t chunk = 0, previous;

    if (layout->chunk == 0 || !runtime->keeps_chunk || state == 0 || walk->has_stacks)
        return;
    for (previous = load_word(state, layout->chunk); previous != 0;
         previous = load_word(chunk, CHUNK_PREVIOUS))
        chunk = previous;
    if (walk->root_state != state) {
        walk->root_state = state;
        walk->root_chunk = chunk;
    } else if (walk->root_chunk == 0) {
        walk->root_chunk = chunk; /* its first frame had not been called then */
    } else if (walk->root_chunk != chunk) {
        walk->has_stacks = true;
        chain_forget_floor(walk);
    }
}

/* 3.11 to 3.14: find what chain_floor() returns, after a walk of a chain that is not short. */
CHAIN_INLINE void chain_set_floor(struct python_walk *walk, uintptr_t state,
                                  const struct python_runtime *runtime,
                                  const struct frame_layout *layout)
{
    uint64_t unmaps = atomic_load_explicit(&python_unmaps, memory_order_relaxed);
    uint32_t index = walk->depth;
    uintptr_t chunk;

    if (layout->chunk == 0 || walk->depth <= CHAIN_SHORT || walk->is_truncated || state == 0)
        return;
    if (walk->unverified != 0)
        return; /* of a very deep chain not all has been compared: it may be stale below */
    chunk = load_word(state, layout->chunk);
    if (chunk == walk->floor_chunk && unmaps == walk->floor_unmaps)
        return;
    walk->floor_chunk = chunk;
    walk->floor_unmaps = unmaps;
    walk->floor_index = 0;
    if (chunk == 0 || !runtime_unmaps_chunks(runtime))
        return;
    if (runtime->keeps_chunk) {
        if (walk->has_stacks || atomic_load_explicit(&python_has_stacks, memory_order_relaxed))
            return;
        chunk = load_word(chunk, CHUNK_PREVIOUS);
        if (chunk == 0)
            return;
    }
    if (load_word(chunk, CHUNK_PREVIOUS) == 0 || !chain_has_root(walk, chunk, layout))
        return; /* below a root nothing waits for it */
    for (unsigned i = 0; i < CHAIN_CHUNK_FRAMES && index-- > 1; i++) {
        if (walk->frames[index].frame == chunk + CHUNK_FRAMES) {
            walk->floor_index = index;
            return;
        }
    }
}

/*
 * Return the index of a frame below which nothing can have changed, when that is easily told; else 0.
 * Of the watermark: only where it was put, not where it has gone to since.
 */
CHAIN_INLINE uint32_t chain_trusted(const struct python_walk *walk, uintptr_t state,
                                    const struct frame_layout *layout)
{
    uint32_t index = walk->watermark_index;

    if (layout->watermark == 0)
        return chain_floor(walk, layout);
    if (walk->thread_state != state ||
        load_word(state, layout->watermark_sequence) != walk->watermark_sequence ||
        load_word(state, layout->watermark) != walk->frames[index].frame)
        return 0;
    return index;
}

#endif
