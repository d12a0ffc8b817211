/*
 * What the program itself says: instants, phases, blocks of its own pools.
 */
#ifndef RECORD_MARK_H
#define RECORD_MARK_H

#include "memtrack/protocol.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Record a mark in its place among the events of all threads.
 * name: NUL-terminated, copied; NULL for MARK_PHASE_END. number: of the phase, else 0.
 * caller: the return address of the exported function, as for track.h.
 * A name that is new cannot be told from a signal handler that has interrupted an allocation: the mark
 * is then counted as lost.
 * Context: any thread.
 */
void mark_record(enum mark_kind kind, const char *name, uint64_t number, const void *caller);

/* Return a number for a phase that begins; 0 when nothing is recorded. Context: any thread. */
uint64_t mark_next_phase(void);

/*
 * Return the allocator that stands for a pool, announced now when it is new; ALLOCATOR_POOL when it
 * cannot be. Context: any thread.
 */
enum allocator mark_pool_allocator(const char *pool, const void *caller);

#endif
