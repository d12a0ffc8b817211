/*
 * What a thread keeps between its events: its ring, its place in the order, its chains.
 *
 * There is one context for each ring, in memory that a forked child finds zeroed. A thread points
 * to its own with a variable of its own; before its first event that is a context of nobody.
 *
 * A context is touched by its thread, and by signal handlers on top of it. What holds: a handler
 * leaves everything as it found it, but for end, sync_bytes and the tallies, which only get newer;
 * and for a handler that forks and returns in the child, where all of it is zero from then on. So
 * ring and slots are read once, ring first, and used only when slots is not NULL.
 */
#ifndef RECORD_CONTEXT_H
#define RECORD_CONTEXT_H

#include "base/arch.h"
#include "memtrack/protocol.h"
#include "python/walk.h"
#include "record/order.h"
#include "record/process.h"
#include "record/sample.h"
#include "unwind/unwind.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context {
    /* One cache line for the hot path. */
    uint32_t epoch; /* the process's, when last looked at; 0: nobody's context */
    bool must_pop;  /* the reader's idea of the chain is not ours any more */
    bool is_lossy;  /* nobody drains: events are counted, not waited for */
    uint16_t blob_number;
    struct order_thread order;
    struct ring_entry *ring;
    struct slot *slots;
    uint64_t end;        /* the cursor may be moved so far without asking */
    uint64_t sync_bytes; /* may be allocated before the next SYNC */
    uintptr_t busy;      /* frame of the event that is using the chains, or 0 */

    struct sample_thread sample; /* all that the usual event of a sample touches */

    uintptr_t sync_frame;    /* while order.match is BUSY: of the event that made it so, or 0 */
    uint64_t lap;            /* the one in which CLOCK was written last, plus 1 */
    uint64_t lost;           /* events that the next LOST record will tell of */
    uint64_t lossy_consumed; /* what the reader had released when we stopped waiting */
    uint64_t wait_ns;        /* spent waiting for room, in all */
    struct python_walk walk;
    struct unwind_thread unwind;
    struct slot scratch[GROUP_MAX_SLOTS]; /* deltas of the event that is busy */
};

/* Return the context that has this walk. Context: hot path. */
static inline struct context *context_of_walk(const struct python_walk *walk)
{
    return (struct context *)((uintptr_t)walk - offsetof(struct context, walk));
}

/* The calling thread's; never NULL. */
extern __thread struct context *context_own __attribute__((tls_model("initial-exec")));

/* The thread has called dlopen() since it last looked for an interpreter. */
extern __thread bool context_has_loaded __attribute__((tls_model("initial-exec")));

/*
 * The context of a thread that is inside an entry of the allocator which may call another entry by
 * its name: what is called then is no event of the program. Its own context is held meanwhile.
 */
extern struct context context_muted;

struct context_held {
    struct context *context;
    uintptr_t frame; /* of the hook that muted the thread */
    /* The block that the hook was called for, where it is a wrapper of Python's allocators (pymem.c). */
    uintptr_t block;   /* to be released; 0: none */
    size_t size_bytes; /* of the one to be allocated; CONTEXT_NO_SIZE: none */
};

/* More than any block has, nor nearly any. */
#define CONTEXT_NO_SIZE (SIZE_MAX / 2)

extern __thread struct context_held context_held __attribute__((tls_model("initial-exec")));

/*
 * Mute the calling thread, until context_unmute() with what this returned.
 * block, size_bytes: as in struct context_held.
 * Context: hot path.
 */
static inline __attribute__((always_inline)) struct context *context_mute_for(uintptr_t block,
                                                                              size_t size_bytes)
{
    struct context *context = context_own;

    /* Already muted: we are called by the allocator, or by a handler; what is held stays held. */
    if (context != &context_muted) {
        context_held.context = context;
        context_held.frame = (uintptr_t)__builtin_frame_address(0);
        context_held.block = block;
        context_held.size_bytes = size_bytes;
        atomic_signal_fence(memory_order_seq_cst);
        context_own = &context_muted;
    }
    return context;
}

/* The same for a hook that makes no wrapper's call. Context: hot path. */
static inline __attribute__((always_inline)) struct context *context_mute(void)
{
    return context_mute_for(0, CONTEXT_NO_SIZE);
}

/* Context: hot path. */
static inline void context_unmute(struct context *context)
{
    /* Not what it was: an event in between may have given the thread a context of its own. */
    context_own = likely(context != &context_muted) ? context_held.context : context;
}

/*
 * Whether the calling thread is inside an entry of an allocator now.
 * frame: as for context_enter().
 * Context: hot path.
 */
bool context_is_muted(uintptr_t frame);

/* The same, where the entry is a wrapper of Python's allocators. Context: hot path. */
static inline bool context_is_for_block(uintptr_t frame)
{
    return context_is_muted(frame) &&
           (context_held.block != 0 || context_held.size_bytes != CONTEXT_NO_SIZE);
}

/*
 * Get the calling thread's context, ready to record: claimed, of today's epoch.
 * frame: address of the frame of the event at hand, or of anything outside it on its stack.
 * caller: the return address of the hook.
 * Returns NULL when the event is not to be recorded, or could not be and has been counted as lost.
 * Context: hot path (slow paths only).
 */
struct context *context_enter(uintptr_t frame, const void *caller);

/*
 * Whether an event is to be passed over without another look: nothing is recorded. What was loaded
 * meanwhile is looked at all the same.
 * Context: hot path (slow paths only).
 */
static inline bool context_is_silent(void)
{
    return process_is_silent() && !context_has_loaded;
}

/*
 * Count an event that could not be recorded. Once an event.
 * context: NULL when the thread has none.
 * Context: hot path (slow paths only).
 */
void context_lose_event(struct context *context);

/*
 * Whether the code that stored the frame has been left for good, as by siglongjmp(); if not, the
 * caller runs on top of it, in a signal handler. Unsure means no.
 * Context: hot path (slow paths only).
 */
bool context_has_left(uintptr_t frame, uintptr_t frame_now);

#endif
