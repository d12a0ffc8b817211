/*
 * The stack of an event, as what changed since the thread's last one.
 *
 * The reader keeps the same chain as we do and follows our deltas. A signal handler that allocates
 * while its thread is in here must not touch the chain: its event is DETACHED. When the reader may
 * have missed a delta, everything is taken off before the next one.
 */
#ifndef RECORD_CHAIN_H
#define RECORD_CHAIN_H

#include "record/context.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Take the thread's chain for an event, until chain_release().
 * frame: address of the frame of the event's own function.
 * Returns false when an event below us on the stack has it: ours is DETACHED.
 * Context: hot path.
 */
bool chain_take(struct context *context, uintptr_t frame);

/*
 * Walk the stack. What has to be written ahead of the event, in its group, is put into
 * context->scratch: *ret_count_slots, 0 when the stack is what it was; never so many that the event
 * does not fit beside them.
 * context: its chain is taken.
 * Returns false when the delta did not go out: the event is lost.
 * Context: hot path.
 */
bool chain_update(struct context *context, unsigned *ret_count_slots);

/* Give the chain back. Context: hot path. */
void chain_release(struct context *context);

#endif
