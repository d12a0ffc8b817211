/*
 * Allocations in Python programs: one way for each family of interpreters, with its layout as constants.
 *
 * Runs in the program's threads, inside their allocators. Where the stack is short and its innermost
 * frame has at most moved on in its code, as between the objects that a line makes, the event is one
 * slot and goes out from here; all else is for the general way.
 */
#include "record/track.h"

/* One attempt. Returns false as well when one slot cannot say it. */
static inline __attribute__((always_inline)) bool
try_moved(struct context *context, const struct python_move *move, enum domain domain,
          uintptr_t address, size_t size_bytes, enum allocator allocator)
{
    if (unlikely((size_bytes | move->offset) > MOVED_MASK))
        return false;
    return track_try(context, track_usual_epoch(), track_w0(OP_ALLOC_MOVED, domain, address),
                     track_w1(size_bytes | move->offset << MOVED_OFFSET_SHIFT, allocator, 0),
                     address, size_bytes, true);
}

static inline __attribute__((always_inline)) uintptr_t
allocated_in_family(enum domain domain, uintptr_t address, size_t size_bytes,
                    enum allocator allocator, const void *caller, enum frame_family family)
{
    struct context *context = context_own;
    bool is_recorded = false;
    struct python_move move;

    if (unlikely(track_mode() != PROCESS_WALKS_PYTHON) || unlikely(!chain_take_once(context)))
        return track_allocated_stack(domain, address, size_bytes, allocator, caller);
    if (unlikely(!python_walk_is_short(&context->walk))) {
        chain_release(context);
        return track_allocated_deep(domain, address, size_bytes, allocator, caller);
    }
    switch (python_short_look(&context->walk, family, &move)) {
    case PYTHON_SAME:
        is_recorded = track_try_block(context, domain, address, size_bytes, allocator);
        break;
    case PYTHON_MOVED:
        is_recorded = try_moved(context, &move, domain, address, size_bytes, allocator);
        break;
    default:
        break;
    }
    if (likely(is_recorded))
        python_short_move(&context->walk, &move);
    chain_release(context);
    if (likely(is_recorded))
        return address;
    return track_allocated_stack(domain, address, size_bytes, allocator, caller);
}

#define WAY(family_, suffix_)                                                                     \
    static uintptr_t allocated##suffix_(enum domain domain, uintptr_t address, size_t size_bytes, \
                                        enum allocator allocator, const void *caller)             \
    {                                                                                             \
        return allocated_in_family(domain, address, size_bytes, allocator, caller, family_);      \
    }

WAY(FRAMES_3_8, _3_8)
WAY(FRAMES_3_10, _3_10)
WAY(FRAMES_3_11, _3_11)
WAY(FRAMES_3_12, _3_12)
WAY(FRAMES_3_13, _3_13)
WAY(FRAMES_3_14, _3_14)
WAY(FRAMES_3_14T, _3_14t)
WAY(FRAMES_3_15, _3_15)
WAY(FRAMES_3_15T, _3_15t)

#undef WAY

static uintptr_t allocated_in_any(enum domain domain, uintptr_t address, size_t size_bytes,
                                  enum allocator allocator, const void *caller)
{
    return track_allocated_deep(domain, address, size_bytes, allocator, caller);
}

track_allocated_way *const track_allocated_ways[FRAMES_COUNT + 1] = {
    [FRAMES_3_8] = allocated_3_8,     [FRAMES_3_10] = allocated_3_10,
    [FRAMES_3_11] = allocated_3_11,   [FRAMES_3_12] = allocated_3_12,
    [FRAMES_3_13] = allocated_3_13,   [FRAMES_3_14] = allocated_3_14,
    [FRAMES_3_14T] = allocated_3_14t, [FRAMES_3_15] = allocated_3_15,
    [FRAMES_3_15T] = allocated_3_15t, [FRAMES_COUNT] = allocated_in_any,
};
