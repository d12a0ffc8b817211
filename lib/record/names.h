/*
 * Names that the program itself gives: of marks, phases and pools.
 *
 * Runs in the program's threads. A name is announced once in a process, by the thread that needs it
 * first, before others can find its id; two threads that meet a new name at once both announce it,
 * which the reader does not mind. The tables lie in memory that a forked child finds empty: it
 * announces again. A table that is full forgets nothing: what it does not hold is announced each time.
 */
#ifndef RECORD_NAMES_H
#define RECORD_NAMES_H

#include "memtrack/protocol.h"
#include "record/context.h"

#include <stdint.h>

enum {
    NAMES_TEXT_BYTES = 1000, /* of a longer name only so much counts */
    NAMES_NONE = 0,
};

/*
 * Return the id of a name, NAMES_NONE when it has none yet.
 * kind: NAME_MARK or NAME_POOL. text: NUL-terminated, the caller's.
 * Context: hot path.
 */
uint32_t names_find(enum name_kind kind, const char *text);

/*
 * The same, announced now when it is new.
 * context: the thread's, its chain taken (context->scratch is used).
 * Returns NAMES_NONE when it could not be announced; for NAME_POOL, ALLOCATOR_POOL when all numbers
 * have been given away. Context: hot path (slow paths only).
 */
uint32_t names_get(struct context *context, enum name_kind kind, const char *text);

/* Memory mapped for the tables. Context: any thread. */
uint64_t names_memory_bytes(void);

#endif
