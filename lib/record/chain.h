/*
 * The stack of an event, as what changed since the thread's last one.
 *
 * The reader keeps the same chain as we do and follows our deltas. A signal handler that allocates
 * while its thread is in here must not touch the chain: its event is DETACHED. When the reader may
 * have missed a delta, everything is taken off before the next one.
 */
#ifndef RECORD_CHAIN_H
#define RECORD_CHAIN_H

#include "base/arch.h"
#include "python/walk.h"
#include "record/context.h"
#include "record/native.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    /*
     * How far below the stack pointer of such an attempt the frame of an event may be that the same
     * function of the program makes later. Signal handlers are further down.
     */
    CHAIN_BELOW_FRAME = 256,
};

/*
 * Take the chain from an event that has it and was left for good; the slow half of chain_take().
 * Context: hot path.
 */
bool chain_take_left(struct context *context, uintptr_t frame) __attribute__((cold, noinline));

/*
 * Take the thread's chain for an event, until chain_release().
 * frame: address of the frame of the event's own function.
 * Returns false when an event below us on the stack has it: ours is DETACHED.
 * Context: hot path.
 */
static inline bool chain_take(struct context *context, uintptr_t frame)
{
    if (context->busy != 0)
        return chain_take_left(context, frame);
    context->busy = frame;
    atomic_signal_fence(memory_order_seq_cst);
    return true;
}

/* What a walk has found to be new. */
struct chain_news {
    unsigned
        count_slots; /* of context->scratch: to be written ahead of the event; 0: nothing is new */
    /* OP_ALLOC_MOVED or _AGAIN: an allocation's own slot can say all of it, with this in w1; else OP_NOP. */
    enum slot_op short_op;
    uint64_t short_w1;
};

/*
 * Walk the stacks. What has to be written ahead of the event, in its group, is put into
 * context->scratch, and counted in *ret_news; never so many that the event
 * does not fit beside them.
 * context: its chain is taken. site: of the event.
 * Returns false when the delta did not go out: the event is lost.
 * Context: hot path.
 */
bool chain_update(struct context *context, const struct call_site *site,
                  struct chain_news *ret_news);

/* Give the chain back. Context: hot path. */
static inline void chain_release(struct context *context)
{
    atomic_signal_fence(memory_order_seq_cst);
    context->busy = 0;
}

/* The same, by a call: so an attempt that is as usual keeps no register for it. Context: hot path. */
void chain_release_own(void) __attribute__((cold, noinline));

/*
 * As chain_take(), for one attempt: unless an event has the chain, or has left it, or the reader may
 * have missed a delta. The contexts that threads share before their own, or muted, are taken to no
 * effect: nothing is recorded in them, and who finds one taken goes the slow way.
 * Context: hot path.
 */
static inline bool chain_take_once(struct context *context)
{
    if (unlikely(context->busy != 0) || unlikely(context->must_pop))
        return false;
    context->busy = arch_stack_pointer() - CHAIN_BELOW_FRAME;
    atomic_signal_fence(memory_order_seq_cst);
    return true;
}

#endif
