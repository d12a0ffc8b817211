/*
 * One walk: the chain of frames compared with the chain of the walk before.
 *
 * Runs in the program's threads, inside their malloc. Everything here is inlined into the walkers
 * of walk.c, once for each frame_family, with the layout as constants.
 *
 * The comparison is a prediction: the next frame's address comes from the cache and is only used
 * once the frame before has been seen to point there, so the loads of many frames overlap, and no
 * address is followed that the live chain did not give (memory of frames that are gone may be
 * unmapped).
 *
 * Frames are counted from the root. What holds between walks: frames[0, depth) were linked in this
 * way, root first; entry i holds in shown how many of frames[0, i] were given out, the mark of a
 * truncated chain included.
 */
#ifndef PYTHON_CHAIN_H
#define PYTHON_CHAIN_H

#include "python/chain_frame.h"
#include "python/chain_trust.h"
#include "python/code_names.h"
#include "python/layout.h"
#include "python/load.h"
#include "python/walk.h"

#include <memtrack/protocol.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    CHAIN_MAX_DEPTH = 1 << 18, /* 10 MiB of cache; a deeper chain is truncated */
    /* Cached frames looked at to find where the chains meet; else they are compared from the root. */
    CHAIN_MEETING_SEARCH = 16,
    /*
     * Frames verified below the meeting point. Below them nothing is expected to have changed, and
     * every so often it is looked at all the same: as often as costs no more than this each walk.
     */
    CHAIN_VERIFY_LIMIT = 4096,
};

/* A frame's instruction and the word beside it, compared as one. */
typedef uint64_t chain_place __attribute__((vector_size(16)));

/* Where the chain meets the cached one. */
struct chain_match {
    uint32_t kept;  /* cached frames that are linked as they were */
    uint32_t same;  /* of these, from the root: those in which nothing has changed */
    uint32_t above; /* frames of the chain above the kept ones */
};

/*
 * Compare frames[floor, count) with the chain, from the inner end; the innermost is known to be in
 * it. match: kept and same are set when all are linked as they were.
 * ret_next: else the outer frame at which the search goes on; match->kept is the number of cached
 * frames below the broken link.
 */
CHAIN_INLINE bool chain_verify(const struct python_walk *walk, uint32_t count, uint32_t floor,
                               const struct frame_layout *layout, struct chain_match *match,
                               uintptr_t *ret_next)
{
    const struct python_walk_frame *entry = &walk->frames[count - 1];
    const struct python_walk_frame *last = &walk->frames[floor];
    const struct python_walk_frame *changed = &walk->frames[match->same];
    uintptr_t frame = entry->frame, previous, next;

    for (;; entry--) {
        if (__builtin_expect(chain_differs(frame, entry, layout), 0))
            changed = entry;
        previous = chain_previous(frame, layout);
        if (entry == last)
            break;
        next = entry[-1].frame;
        frame = load_as_predicted(next);
        if (__builtin_expect(previous != next, 0))
            goto broken;
    }
    if (floor == 0 && previous != 0 && !walk->is_truncated)
        goto broken;
    match->same = (uint32_t)(changed - walk->frames);
    return true;

broken:
    match->kept = (uint32_t)(entry - walk->frames);
    *ret_next = previous;
    return false;
}

CHAIN_INLINE chain_place chain_place_at(uintptr_t address)
{
    chain_place place;

    memcpy(&place, (const void *)address, sizeof(place));
    return place;
}

/*
 * Keep what lies beside the instructions of a chain that has not changed: nothing that is shown, but
 * chain_is_same() compares it. Only of frames that it would look at: they have been seen alive.
 */
CHAIN_INLINE void chain_keep_beside(struct python_walk *walk, const struct frame_layout *layout)
{
    uint32_t from = chain_floor(walk, layout);

    if (layout->entry == 0 || (from == 0 && walk->depth > CHAIN_SHORT))
        return;
    for (uint32_t i = walk->depth; i-- > from;)
        walk->frames[i].beside = chain_beside(walk->frames[i].frame, layout);
}

/*
 * Whether the chain from this frame on is frames[from, count), and nothing has changed in it.
 * from: 0, or trusted.
 */
CHAIN_INLINE bool chain_matches(const struct python_walk *walk, uint32_t from, uint32_t count,
                                uintptr_t top, const struct frame_layout *layout)
{
    const struct python_walk_frame *last = walk->frames + from;
    const struct python_walk_frame *entry = walk->frames + count;
    uintptr_t frame = top, predicted;
    chain_place differences = {0, 0};

    while (entry != last) {
        entry--;
        predicted = load_as_predicted(entry->frame);
        if (frame != entry->frame)
            return false;
        if (layout->entry != 0)
            differences |= chain_place_at(predicted + layout->instruction) ^
                           chain_place_at((uintptr_t)&entry->instruction);
        else if (chain_differs(predicted, entry, layout))
            return false;
        frame = chain_previous(predicted, layout);
    }
    if ((differences[0] | differences[1]) != 0)
        return false;
    return frame == 0 || from != 0;
}

/* As chain_is_same(), of a chain that is not short. */
CHAIN_INLINE bool chain_is_same_deep(const struct python_walk *walk, uintptr_t state, uintptr_t top,
                                     const struct frame_layout *layout)
{
    const struct python_walk_frame *innermost;
    uint32_t trusted;

    if (walk->depth <= CHAIN_SHORT || walk->is_truncated ||
        walk->generation != code_names_generation())
        return false;
    trusted = chain_trusted(walk, state, layout);
    if (trusted == 0 || walk->depth - trusted > CHAIN_CHUNK_FRAMES)
        return false;
    /* What differs is mostly the innermost one. */
    innermost = &walk->frames[walk->depth - 1];
    if (top != innermost->frame || chain_differs(top, innermost, layout))
        return false;
    return chain_matches(walk, trusted, walk->depth, top, layout);
}

/*
 * Returns true when the chain is the cached one and nothing has changed in it: the usual case, in
 * the fewest steps. Only asked where few frames have to be looked at, which are compared again when
 * it is not so.
 */
CHAIN_INLINE bool chain_is_same(const struct python_walk *walk, uintptr_t state, uintptr_t top,
                                const struct frame_layout *layout)
{
    if (__builtin_expect(walk->short_generation == code_names_generation(), 1))
        return chain_matches(walk, 0, walk->depth, top, layout);
    return chain_is_same_deep(walk, state, top, layout);
}

/*
 * Returns true when the innermost frame of a short chain is at another place of its code than it was, and
 * all else is as it was: the usual case of a line that allocates more than once.
 */
CHAIN_INLINE bool chain_has_moved(const struct python_walk *walk, uintptr_t top,
                                  const struct frame_layout *layout)
{
    const struct python_walk_frame *innermost;

    if (walk->short_generation != code_names_generation() || walk->depth == 0)
        return false;
    innermost = &walk->frames[walk->depth - 1];
    if (top != innermost->frame || !chain_differs(top, innermost, layout) ||
        load_word(top, layout->code) != innermost->code || innermost->code_id == CODE_ID_NONE ||
        innermost->code_id == CHAIN_BOUNDARY)
        return false;
    return chain_matches(walk, 0, walk->depth - 1, chain_previous(top, layout), layout);
}

/* A walk has ended: what chain_is_same() asks first. */
CHAIN_INLINE void chain_set_short(struct python_walk *walk)
{
    bool is_short = walk->depth <= CHAIN_SHORT && !walk->is_truncated;

    walk->short_generation = is_short ? walk->generation : GENERATION_NONE;
}

/*
 * Verify the chain from frames[count - 1] outwards, as far as it has to be. As chain_verify().
 * trusted: what chain_watermark() or chain_floor() returned.
 */
CHAIN_INLINE bool chain_verify_below(struct python_walk *walk, uint32_t count, uint32_t trusted,
                                     const struct frame_layout *layout, struct chain_match *match,
                                     uintptr_t *ret_next)
{
    uint32_t floor = 0;

    match->kept = count;
    match->same = count;
    if (trusted != 0 && trusted < count) {
        if (!chain_verify(walk, count, trusted, layout, match, ret_next))
            return false;
        /* A mark may lie on a generator's frame, which has been taken up again elsewhere. */
        if (layout->watermark == 0 ||
            load_u8(walk->frames[trusted].frame, layout->owner) == FRAME_OWNED_BY_THREAD)
            return true;
        count = trusted + 1;
    }
    if (count > CHAIN_VERIFY_LIMIT && walk->unverified < count) {
        floor = count - CHAIN_VERIFY_LIMIT;
        walk->unverified += CHAIN_VERIFY_LIMIT;
    } else {
        walk->unverified = 0;
    }
    return chain_verify(walk, count, floor, layout, match, ret_next);
}

/* Return the index of a frame among the innermost of frames[0, count), count when it is not there. */
CHAIN_INLINE uint32_t chain_find(const struct python_walk *walk, uint32_t count, uintptr_t frame)
{
    for (uint32_t i = 1; i <= CHAIN_MEETING_SEARCH && i <= count; i++) {
        if (walk->frames[count - i].frame == frame)
            return count - i;
    }
    return count;
}

/*
 * Find where the chain meets the cached one. The frames above are counted, at most one more than
 * CHAIN_MAX_DEPTH.
 * cached: cached frames that may be compared.
 */
CHAIN_INLINE struct chain_match chain_meet(struct python_walk *walk, uintptr_t state,
                                           uintptr_t frame, uint32_t cached,
                                           const struct frame_layout *layout)
{
    struct chain_match match = {0};
    uint32_t trusted =
        layout->chunk != 0 ? chain_floor(walk, layout) : chain_watermark(walk, state, layout);
    uint32_t above = 0;

    while (frame != 0 && above <= CHAIN_MAX_DEPTH) {
        uint32_t found = chain_find(walk, cached, frame);

        if (found == cached) {
            frame = chain_previous(frame, layout);
            above++;
            continue;
        }
        if (chain_verify_below(walk, found + 1, trusted, layout, &match, &frame)) {
            match.above = above;
            return match;
        }
        above += found + 1 - match.kept;
        cached = match.kept;
        trusted = 0;
    }
    match.kept = 0;
    match.same = 0;
    match.above = above;
    return match;
}

/*
 * Write the chain into frames[from, depth), and return the first index at which it differs from
 * what stood there, depth when none does. Ids of code stay where the code is the same; else they are
 * CODE_ID_NONE.
 * cached: entries that hold something.
 * check_names: the code at an address may be another than it was.
 */
CHAIN_INLINE uint32_t chain_fill(struct python_walk *walk, uintptr_t frame, uint32_t from,
                                 uint32_t depth, uint32_t cached, bool check_names,
                                 const struct frame_layout *layout)
{
    uint32_t changed = depth;

    for (uint32_t i = depth; i-- > from; frame = chain_previous(frame, layout)) {
        struct python_walk_frame *entry = &walk->frames[i];
        uintptr_t code = load_word(frame, layout->code);
        uint32_t id = i < cached ? entry->code_id : CODE_ID_NONE;

        if (i >= cached || entry->code != code)
            id = CODE_ID_NONE;
        else if (check_names && id != CHAIN_BOUNDARY)
            id = code_names_find(code & ~(uintptr_t)FRAME_CODE_TAGS);
        if (i >= cached || entry->frame != frame || chain_differs(frame, entry, layout) ||
            id != entry->code_id || entry->code != code)
            changed = i;
        entry->frame = frame;
        entry->instruction = chain_instruction(frame, layout);
        entry->beside = chain_beside(frame, layout);
        entry->code = code;
        entry->code_id = id;
    }
    return changed;
}

/* Return the address that a frame's instruction pointer counts from. */
CHAIN_INLINE uintptr_t chain_bytecode(uintptr_t frame, uintptr_t code,
                                      const struct frame_layout *layout,
                                      const struct code_layout *code_layout)
{
    uintptr_t copies, copy;
    uint32_t index;

    /*
     * _PyCodeArray of Include/cpython/code.h, 3.14: a size and that many pointers; index 0 is the
     * code's own. A thread that adds a copy replaces the array, so it is read anew each time.
     */
    if (layout->copy == 0)
        return code + code_layout->bytecode;
    index = load_u32(frame, layout->copy);
    copies = load_word(code, code_layout->copies);
    if (index == 0 || copies == 0 || index >= load_word(copies, 0))
        return code + code_layout->bytecode;
    copy = load_word(copies, 8 + 8 * (size_t)index);
    return copy != 0 ? copy : code + code_layout->bytecode;
}

/* Return the offset of a frame's instruction in bytes; negative before the first one. */
CHAIN_INLINE uint64_t chain_offset(const struct python_walk_frame *entry, uintptr_t code,
                                   const struct frame_layout *layout,
                                   const struct code_layout *code_layout)
{
    if (layout->instruction_kind == INSTRUCTION_BYTES)
        return (uint64_t)(int64_t)(int32_t)entry->instruction;
    if (layout->instruction_kind == INSTRUCTION_UNITS)
        return (uint64_t)(int64_t)(int32_t)entry->instruction * 2;
    return entry->instruction - chain_bytecode(entry->frame, code, layout, code_layout);
}

/*
 * Give out frames[from, depth): count them, announce their code, and put what is recorded of them
 * into walk->pushed behind what stands there.
 * shown: frames given out below from.
 */
CHAIN_INLINE uint32_t chain_push(struct python_walk *walk, uint32_t from, uint32_t depth,
                                 uint32_t shown, uint32_t pushed,
                                 const struct python_runtime *runtime,
                                 const struct announcer *announcer,
                                 const struct frame_layout *layout)
{
    bool is_inner =
        from != 0 ? walk->frames[from - 1].code_id != CHAIN_BOUNDARY : walk->is_truncated;

    for (uint32_t i = from; i < depth; i++) {
        struct python_walk_frame *entry = &walk->frames[i];
        uintptr_t code = entry->code & ~(uintptr_t)FRAME_CODE_TAGS;
        uint32_t id = entry->code_id;
        uint64_t offset, frame;

        entry->shown = shown;
        if (chain_is_boundary(entry->frame, layout)) {
            entry->code_id = CHAIN_BOUNDARY;
            is_inner = false;
            continue;
        }
        if (id == CODE_ID_NONE || id == CHAIN_BOUNDARY) {
            id = code_names_get(runtime, code, announcer);
            entry->code_id = id;
        }
        offset = id == CODE_ID_NONE ? SPECIAL_UNKNOWN
                                    : chain_offset(entry, code, layout, &runtime->layout.code);
        frame = (offset & ((UINT64_C(1) << FRAME_OFFSET_BITS) - 1)) | (uint64_t)id
                                                                          << FRAME_CODE_SHIFT;
        /* Up to 3.10 each frame is an activation; in 3.11 it says so; from 3.12 a boundary does. */
        if (layout->owner != 0 ? !is_inner : layout->entry == 0 || chain_is_entry(entry, layout))
            frame |= FRAME_ENTRY;
        is_inner = true;
        entry->shown = ++shown;
        walk->pushed[pushed++] = frame;
    }
    /*
     * An activation that begins or ends: else its loop would be taken for that of the group outside. The
     * root of 3.15 is a member of the thread state, of no activation.
     */
    if (__builtin_expect(python_marks_boundaries, 0) && depth > (layout->watermark != 0 ? 1 : 0) &&
        walk->frames[depth - 1].code_id == CHAIN_BOUNDARY) {
        shown++;
        walk->pushed[pushed++] = SPECIAL_NO_FRAME | FRAME_ENTRY;
    }
    walk->depth = depth;
    walk->shown_depth = shown;
    return pushed;
}

#endif
