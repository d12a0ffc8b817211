/*
 * Processes as the main thread sees them: welcomed, identified, described, ended, freed.
 */
#ifndef COLLECT_PROCESSES_H
#define COLLECT_PROCESSES_H

#include "collect/session.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    PROCESSES_NO_SLOT = -1,
};

/* Give the table its beginning. Context: main thread, before the others run. */
void processes_init(struct session *session);

/* Close and free what is left. Context: main thread, after the others have ended. */
void processes_finish(struct session *session);

/*
 * Claim a slot of the pool for a process that asks.
 * pid: as we see it, 0 when it is in a namespace that we do not see. how: enum pool_process_how.
 * Returns the slot, or PROCESSES_NO_SLOT. Context: main thread.
 */
int processes_welcome(struct session *session, uint32_t pid, uint32_t how);

/*
 * Do what is to be done: find pids, describe, see who has ended, free who is drained. Called after
 * every wake and, while it returns true, again after some milliseconds.
 * Returns true when something is under way. Context: main thread.
 */
bool processes_look(struct session *session);

/* Return how many are known to be alive. Context: main thread. */
uint32_t processes_alive(struct session *session);

/* Return how many are not freed yet: their records may not be in the file. Context: main thread. */
uint32_t processes_left(struct session *session);

/*
 * Find a process that maps the pool and is not in the table: a child that has recorded nothing yet.
 * Returns its pid, 0 when there is none. Context: main thread.
 */
uint32_t processes_find_silent(struct session *session);

/*
 * Whether a process is of the session: by its slot, or, when it has recorded nothing yet, by its memory.
 * pid: as we see it. Context: main thread.
 */
bool processes_is_tracked(struct session *session, uint32_t pid);

/* Return the number of a process by its pid, 0 when it has none yet. Context: main thread. */
uint32_t processes_number(struct session *session, uint32_t pid);

#endif
