/*
 * The events of a capture as a dump shows them: what belongs together is one step.
 *
 * A release that did not happen (the call failed) is left out with its UNDO. A release by realloc or
 * mremap and the allocation that follows it at once are one step; where another thread came between
 * they stay two, as they happened: nothing changes places. Memory: some thousand events, and the
 * size of each live block.
 */
#ifndef RENDER_DUMP_EVENTS_H
#define RENDER_DUMP_EVENTS_H

#include "capture/merge.h"

#include <stdbool.h>
#include <stdint.h>

struct dump_step {
    const struct event *event;
    const struct event *release; /* first half of a realloc or mremap; else NULL */
    uint64_t old_bytes;          /* of the block released, by event or release, when it is known */
    bool has_old_bytes;
};

struct dump_events;

/* Begin at the first event. capture: must outlive it. Context: tool. */
struct dump_events *dump_events_open(const struct capture *capture);

/*
 * Get the next step; what it points to is valid until the next call.
 * Returns false at the end, or at damage: then ret_damage is set.
 * Context: tool.
 */
bool dump_events_next(struct dump_events *events, struct dump_step *ret_step,
                      struct capture_damage *ret_damage);

/* Give it back; NULL is allowed. Context: tool. */
void dump_events_close(struct dump_events *events);

#endif
