/*
 * The events of a capture, read ahead: unpacking and ordering them is done by a thread of its own
 * while the caller works on those before.
 *
 *     struct capture_ahead *ahead = capture_ahead_open(capture);
 *     while ((events = capture_ahead_next(ahead, &count, &damage)) != NULL)
 *         use(events, count);
 *     capture_ahead_close(ahead);
 */
#ifndef CAPTURE_AHEAD_H
#define CAPTURE_AHEAD_H

#include "capture/capture.h"
#include "capture/merge.h"

#include <stdint.h>

struct capture_ahead;

/*
 * Begin at the first event. Without a second processor, for a small capture, and when there is no
 * thread to be had, events are read when they are asked for.
 * capture: must outlive it; may be used by the caller meanwhile. Context: tool.
 */
struct capture_ahead *capture_ahead_open(const struct capture *capture);

/*
 * Get the next events.
 * Returns ret_count of them, at least one, valid until the next call; NULL at the end, or where
 * capture_merge_next() sets ret_damage. Context: tool, the thread that opened it.
 */
const struct event *capture_ahead_next(struct capture_ahead *ahead, uint32_t *ret_count,
                                       struct capture_damage *ret_damage);

/* Give it back, before the end too; NULL is allowed. Context: tool. */
void capture_ahead_close(struct capture_ahead *ahead);

#endif
