/*
 * Who has recorded since the last look, by the cursors of the rings.
 *
 * Clock thread. So ticks do not depend on how often the drain reads.
 */
#ifndef COLLECT_ACTIVITY_H
#define COLLECT_ACTIVITY_H

#include "collect/session.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    ACTIVITY_MAX_RINGS = 512, /* with more, the drain's word is taken: a look costs a line each */
};

/* All zero bytes: nothing was seen yet. */
struct activity {
    uint64_t cursors[ACTIVITY_MAX_RINGS];
    uint16_t owners[ACTIVITY_MAX_RINGS];   /* in the table of processes, as far as is known */
    uint32_t drained[POOL_PROCESS_COUNT];  /* process.activity */
    bool has_recorded[POOL_PROCESS_COUNT]; /* since the look before: the result */
};

/* Fill in has_recorded, for the processes that session_process_limit() counts. */
void activity_look(struct activity *activity, struct session *session);

#endif
