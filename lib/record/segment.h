/*
 * Segments as they stand in a ring: SYNC.
 *
 * order.h says when a segment has to be begun; here it is begun and written, in such a way that no
 * handler can record between the two: until its SYNC is in the ring the thread's tag is BUSY, which
 * matches no page, so a handler's event begins a segment of its own. A thread that leaves this place
 * with siglongjmp() stays BUSY, and its next event begins one.
 */
#ifndef RECORD_SEGMENT_H
#define RECORD_SEGMENT_H

#include "memtrack/protocol.h"
#include "record/context.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Begin a segment for a reason other than a page.
 * frame: address of the frame of the event at hand, or of anything outside it on its stack.
 * Returns false when there was no room: no event may follow without asking again.
 * Context: hot path (slow paths only).
 */
bool segment_begin(struct context *context, enum sync_why why, uintptr_t frame);

/*
 * Make the page of an address ours, beginning a segment if it was another's.
 * ret_segment: the segment that an event on the address may stand in now without another
 * order_check(); 0 when none was begun: the page was nobody's and is ours now.
 * Returns false as segment_begin().
 * Context: hot path (slow paths only).
 */
bool segment_enter_page(struct context *context, uintptr_t address, uintptr_t frame,
                        uint64_t *ret_segment);

#endif
