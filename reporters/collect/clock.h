/*
 * The clock thread: ticks for the targets, their times, resident memory and limits for the capture.
 */
#ifndef COLLECT_CLOCK_H
#define COLLECT_CLOCK_H

#include "base/error.h"
#include "collect/session.h"

struct clock;

/*
 * Start the thread.
 * session: stays the caller's, longer than the clock. Returns NULL with err. Context: main thread.
 */
struct clock *clock_start(struct session *session, struct error *err);

/* Hand over what it has noted, end and free it. NULL is allowed. Context: main thread. */
void clock_stop(struct clock *clock);

#endif
