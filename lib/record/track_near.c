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

FRAME_FAMILIES(WAY)

#undef WAY

static uintptr_t allocated_in_any(enum domain domain, uintptr_t address, size_t size_bytes,
                                  enum allocator allocator, const void *caller)
{
    return track_allocated_deep(domain, address, size_bytes, allocator, caller);
}

#define ROW(family_, suffix_) [family_] = allocated##suffix_,

track_allocated_way *const track_allocated_ways[FRAMES_COUNT + 1] = {
    FRAME_FAMILIES(ROW)[FRAMES_COUNT] = allocated_in_any};

#undef ROW
