/*
 * One event: a block or a range was allocated, or is about to be released.
 *
 * Runs in the program's threads, inside their malloc. The usual event is recorded in line: its
 * thread is known, its page was this thread's last, there is room. For all else there is one call.
 * errno is nobody's business here: nothing below touches it.
 *
 * Allocations are recorded after the real call, releases before it (order.h says why).
 */
#ifndef RECORD_TRACK_H
#define RECORD_TRACK_H

#include "base/arch.h"
#include "memtrack/protocol.h"
#include "python/same.h"
#include "python/walk.h"
#include "record/chain.h"
#include "record/context.h"
#include "record/order.h"
#include "record/process.h"
#include "record/ring.h"
#include "record/sample_set.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TRACK_SYNC_BYTES = 64 * 1024, /* the peak is exact to so much a thread */
    TRACK_AHEAD_SLOTS = 32,       /* fetched early: the reader's processor has had these lines */
};

/* Return w0 of an event, but for the lap. Context: hot path. */
static inline uint64_t track_w0(enum slot_op op, enum domain domain, uintptr_t address)
{
    return slot_head(op) | (uint64_t)domain << SLOT_DOMAIN_SHIFT | (uint64_t)address >> 3;
}

/* Return what w1 says of an address: the bits that w0 has no room for. Context: hot path. */
static inline uint64_t track_low(uintptr_t address)
{
    return (uint64_t)(address % 8) << BLOCK_LOW_SHIFT;
}

/* Return w1 of an event. size_bytes: less than 2^48. Context: hot path. */
static inline uint64_t track_w1(size_t size_bytes, enum allocator allocator, uintptr_t address)
{
    return size_bytes | (uint64_t)allocator << BLOCK_ALLOCATOR_SHIFT | track_low(address);
}

/* Return enum process_mode: what an allocation is besides a lone event. Context: hot path. */
static inline unsigned track_mode(void)
{
    /* Relaxed: it changes when an interpreter turns up; one event early or late is no matter. */
    return atomic_load_explicit(&process.mode, memory_order_relaxed);
}

/* Return the epoch of usual events. Context: hot path. */
static inline const _Atomic uint32_t *track_usual_epoch(void)
{
    /* Relaxed: process_follow_level() says when it changes, and that an event of before is no matter. */
    return atomic_load_explicit(&process.usual_epoch, memory_order_relaxed);
}

/*
 * The slow halves of what follows. Those of allocations return the address: a hook can end in them.
 * caller: the return address of the hook, which tells the allocator's own calls from the program's.
 * Context: hot path.
 */
uintptr_t track_allocated_slow(enum domain domain, uintptr_t address, size_t size_bytes,
                               enum allocator allocator, const void *caller)
    __attribute__((cold, noinline));
uintptr_t track_allocated_stack(enum domain domain, uintptr_t address, size_t size_bytes,
                                enum allocator allocator, const void *caller)
    __attribute__((noinline));
/* Where native stacks are walked. site: of the hook. Returns the address. */
uintptr_t track_allocated_native(enum domain domain, uintptr_t address, size_t size_bytes,
                                 enum allocator allocator, const struct call_site *site)
    __attribute__((noinline));
/* Of a sample: a block that sample_passes() has not passed over. */
uintptr_t track_allocated_picked(enum domain domain, uintptr_t address, size_t size_bytes,
                                 enum allocator allocator, const void *caller)
    __attribute__((cold, noinline));
/* Returns the address; 0 when the block is not of those that are recorded. */
uintptr_t track_released_slow(enum domain domain, uintptr_t address, enum allocator allocator,
                              const void *caller) __attribute__((noinline));

/*
 * Take a block's bytes from those that may be allocated before the next SYNC.
 * Returns false when there are too few.
 */
static inline __attribute__((always_inline)) bool track_take_bytes(struct context *context,
                                                                   size_t size_bytes)
{
    /* Wraps round where there are too few: then it is set right here, or by a handler's segment. */
    if (likely(!__builtin_sub_overflow(context->sync_bytes, size_bytes, &context->sync_bytes)))
        return true;
    /* A thread alone is in order already, but for what is large by itself. */
    if (atomic_load_explicit(&process.is_alone, memory_order_relaxed) &&
        size_bytes < TRACK_SYNC_BYTES) {
        context->sync_bytes = TRACK_SYNC_BYTES - 1 - size_bytes;
        return true;
    }
    context->sync_bytes += size_bytes;
    return false;
}

/*
 * Record an event if nothing stands in the way; one attempt.
 * delta: the one slot that goes ahead of it, or NULL.
 * epoch: track_usual_epoch(), or process.epoch where it is known that the event is to be recorded.
 * w1: as track_w1() makes it of an address that is a multiple of 8: any other goes the slow way.
 * size_bytes: of a block that is allocated. is_allocation: constant.
 * Returns false when nothing has been recorded.
 * Context: hot path.
 */
static inline __attribute__((always_inline)) bool
track_try_after(struct context *context, const struct slot *delta, const _Atomic uint32_t *epoch,
                uint64_t w0, uint64_t w1, uintptr_t address, size_t size_bytes, bool is_allocation)
{
    unsigned ahead = delta != NULL;
    struct ring_entry *ring;
    struct slot *slots;
    uint64_t cursor;

    if (unlikely(address % 8 != 0))
        return false;
    /* Relaxed: the epoch says that there is something to look at, the slow path looks. */
    if (unlikely(context->epoch != atomic_load_explicit(epoch, memory_order_relaxed)))
        return false;
    ring = context->ring;
    atomic_signal_fence(memory_order_seq_cst);
    slots = context->slots;
    if (unlikely(slots == NULL))
        return false;
    /* Before all other checks: a handler that records makes the reservation fail. */
    cursor = atomic_load_explicit(&ring->cursor, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (unlikely(cursor + ahead >= context->end))
        return false;
    /* Relaxed: order.c, and the fence of process_end_alone(). */
    if (!atomic_load_explicit(&process.is_alone, memory_order_relaxed) &&
        unlikely(atomic_load_explicit(&process_order.owner[order_bucket(address)],
                                      memory_order_relaxed) !=
                 atomic_load_explicit(&context->order.match, memory_order_relaxed)))
        return false;
    if (is_allocation && unlikely(!track_take_bytes(context, size_bytes)))
        return false;
    /* The bytes of an attempt that fails here stay taken: the next SYNC comes early. */
    if (unlikely(!arch_reserve(&ring->cursor, cursor, cursor + ahead + 1)))
        return false;
    /* Past the ring's end it fetches what is not needed, which harms nobody. */
    __builtin_prefetch(ring_slot(slots, cursor) + TRACK_AHEAD_SLOTS, 1);
    /* Relaxed: the delta's words are this thread's own. */
    if (delta != NULL)
        ring_fill(slots, cursor, atomic_load_explicit(&delta->w0, memory_order_relaxed),
                  atomic_load_explicit(&delta->w1, memory_order_relaxed));
    ring_fill(slots, cursor + ahead, w0, w1);
    return true;
}

/* The same of a lone event. Context: hot path. */
static inline __attribute__((always_inline)) bool
track_try(struct context *context, const _Atomic uint32_t *epoch, uint64_t w0, uint64_t w1,
          uintptr_t address, size_t size_bytes, bool is_allocation)
{
    return track_try_after(context, NULL, epoch, w0, w1, address, size_bytes, is_allocation);
}

/* Record an allocation of a block with the stack that the reader has; one attempt. */
static inline __attribute__((always_inline)) bool
track_try_block(struct context *context, enum domain domain, uintptr_t address, size_t size_bytes,
                enum allocator allocator)
{
    return track_try(context, track_usual_epoch(), track_w0(OP_ALLOC, domain, address),
                     track_w1(size_bytes, allocator, 0), address, size_bytes, true);
}

/*
 * Record an allocation of a block where stacks are walked, when the thread's is what it was; one
 * attempt. Returns false when nothing has been recorded: track_allocated_stack() has to.
 */
static inline __attribute__((always_inline)) bool track_try_same_stack(enum domain domain,
                                                                       uintptr_t address,
                                                                       size_t size_bytes,
                                                                       enum allocator allocator)
{
    struct context *context = context_own;
    const struct python_walk *walk;

    if (unlikely(track_mode() != PROCESS_WALKS_PYTHON) || unlikely(!chain_take_once(context)))
        return false;
    walk = python_walk_if_same(&context->walk);
    if (likely(walk != NULL)) {
        /* Found by what was returned: to keep it over the call costs more. */
        context = context_of_walk(walk);
        if (likely(track_try_block(context, domain, address, size_bytes, allocator))) {
            chain_release(context);
            return true;
        }
    }
    chain_release_own();
    return false;
}

/* How far track_try_short_stack() has come. */
enum track_attempt {
    ATTEMPT_RECORDED,
    ATTEMPT_NOT_SHORT, /* track_allocated_python() can tell */
    ATTEMPT_CHANGED,   /* track_allocated_stack() has to look, or to record */
};

/*
 * As track_try_same_stack(), without a call: where the stack is a short one.
 * family: constant, python_at_hand.family.
 */
static inline __attribute__((always_inline)) enum track_attempt
track_try_short_stack(enum domain domain, uintptr_t address, size_t size_bytes,
                      enum allocator allocator, enum frame_family family)
{
    struct context *context = context_own;
    enum track_attempt attempt = ATTEMPT_CHANGED;

    if (unlikely(track_mode() != PROCESS_WALKS_PYTHON) || unlikely(!chain_take_once(context)))
        return ATTEMPT_CHANGED;
    if (unlikely(!python_walk_is_short(&context->walk)))
        attempt = ATTEMPT_NOT_SHORT;
    else if (likely(python_short_is_same(&context->walk, family)) &&
             likely(track_try_block(context, domain, address, size_bytes, allocator)))
        attempt = ATTEMPT_RECORDED;
    chain_release(context);
    return attempt;
}

/*
 * The usual halves of track_allocated(), for hooks that are two functions themselves: without
 * a mode, and with one. Inline: where they return to is the caller of the hook.
 */
static inline __attribute__((always_inline)) uintptr_t
track_allocated_plain(enum domain domain, uintptr_t address, size_t size_bytes,
                      enum allocator allocator)
{
    if (likely(track_try_block(context_own, domain, address, size_bytes, allocator)))
        return address;
    return track_allocated_slow(domain, address, size_bytes, allocator,
                                __builtin_return_address(0));
}

/* Where stacks are walked, of a stack that is not short. caller: as above. Context: hot path. */
static inline __attribute__((always_inline)) uintptr_t
track_allocated_deep(enum domain domain, uintptr_t address, size_t size_bytes,
                     enum allocator allocator, const void *caller)
{
    if (likely(track_try_same_stack(domain, address, size_bytes, allocator)))
        return address;
    return track_allocated_stack(domain, address, size_bytes, allocator, caller);
}

/* Of a stack of any kind: one for each family of interpreters, the last for all others. */
typedef uintptr_t track_allocated_way(enum domain domain, uintptr_t address, size_t size_bytes,
                                      enum allocator allocator, const void *caller);

/* Hidden, as is all of ours: said here the compiler addresses it without a table between. */
extern track_allocated_way *const track_allocated_ways[FRAMES_COUNT + 1]
    __attribute__((visibility("hidden")));

/* By the way of the interpreter that is followed. caller: as above. Context: hot path. */
static inline __attribute__((always_inline)) uintptr_t
track_allocated_python(enum domain domain, uintptr_t address, size_t size_bytes,
                       enum allocator allocator, const void *caller)
{
    return track_allocated_ways[python_at_hand.family](domain, address, size_bytes, allocator,
                                                       caller);
}

/* Where native stacks are walked: from the caller of the hook that this is inlined into. Context: hot path. */
static inline __attribute__((always_inline)) uintptr_t
track_allocated_from_here(enum domain domain, uintptr_t address, size_t size_bytes,
                          enum allocator allocator)
{
    struct unwind_state state;
    struct call_site site = {__builtin_return_address(0), NULL};

    if (native_caller(&state))
        site.state = &state;
    return track_allocated_native(domain, address, size_bytes, allocator, &site);
}

/*
 * A block has been allocated.
 * address: not 0. size_bytes: as asked for.
 * Returns the address.
 * Context: hot path.
 */
static inline __attribute__((always_inline)) uintptr_t
track_allocated(enum domain domain, uintptr_t address, size_t size_bytes, enum allocator allocator)
{
    unsigned mode = track_mode();

    if (unlikely((mode & PROCESS_WALKS_NATIVE) != 0))
        return track_allocated_from_here(domain, address, size_bytes, allocator);
    if (unlikely(mode != 0))
        return track_allocated_python(domain, address, size_bytes, allocator,
                                      __builtin_return_address(0));
    return track_allocated_plain(domain, address, size_bytes, allocator);
}

/* Record a release if nothing stands in the way; one attempt, as track_try(). */
static inline __attribute__((always_inline)) bool
track_try_release(enum domain domain, uintptr_t address, enum allocator allocator)
{
    return track_try(context_own, track_usual_epoch(), track_w0(OP_FREE, domain, address),
                     track_w1(0, allocator, 0), address, 0, false);
}

/*
 * A block is about to be released.
 * address: not 0.
 * Returns the address; 0 when the block is not of those that are recorded: there is nothing to undo.
 * Context: hot path.
 */
static inline __attribute__((always_inline)) uintptr_t
track_released(enum domain domain, uintptr_t address, enum allocator allocator)
{
    if (likely(track_try_release(domain, address, allocator)))
        return address;
    return track_released_slow(domain, address, allocator, __builtin_return_address(0));
}

/*
 * The release recorded last on this address by this thread did not happen.
 * size_bytes: of the range for DOMAIN_MAP, else 0.
 * Context: hot path.
 */
void track_undone(enum domain domain, uintptr_t address, size_t size_bytes,
                  enum allocator allocator, const void *caller);

/* An allocation failed. size_bytes: as asked for. Context: hot path. */
void track_failed(enum domain domain, size_t size_bytes, enum allocator allocator,
                  const void *caller);

/*
 * A range has been mapped, is about to be unmapped, has another class now.
 * address, size_bytes: whole pages.
 * Context: hot path.
 */
void track_mapped(uintptr_t address, size_t size_bytes, enum allocator allocator,
                  enum map_class map_class, const void *caller);
void track_unmapped(uintptr_t address, size_t size_bytes, enum allocator allocator,
                    const void *caller);
void track_protected(uintptr_t address, size_t size_bytes, enum map_class map_class,
                     const void *caller);

#endif
