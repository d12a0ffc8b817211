/*
 * What happens to a process and its threads, beside what they allocate.
 */
#ifndef RECORD_LIFE_H
#define RECORD_LIFE_H

#include "memtrack/protocol.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Record that something happens to the process.
 * code: of LIFE_EXIT. lacks_session: of LIFE_EXEC: the new image will not find the session.
 * Nothing is recorded in a child of vfork, whose ring belongs to its parent.
 * Context: any thread.
 */
void life_record(enum life life, uint64_t code, bool lacks_session);

/*
 * A fork is ahead: the child's live blocks are what ours are now.
 * Context: any thread.
 */
void life_fork_ahead(void);

/*
 * The calling thread has a name.
 * name: a copy is taken; at most 15 characters count.
 * Context: any thread.
 */
void life_thread_name(const char *name);

#endif
