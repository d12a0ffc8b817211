/*
 * Processes as the drain thread sees them: found in the pool, bound, drained.
 */
#ifndef COLLECT_PROCESS_LIFE_H
#define COLLECT_PROCESS_LIFE_H

#include "collect/records.h"

#include <stdint.h>

struct drain;
struct process;

/* Find new processes, and note how far the scan before had seen. Context: drain thread. */
void process_life_begin_round(struct drain *drain);

/*
 * After the scan: give up names that nobody announces, and end the processes that have ended and
 * whose rings are in the file. Context: drain thread.
 */
void process_life_end_round(struct drain *drain);

/*
 * Write what is otherwise said only at a process's end: its counters. Adds its lost events to *lost.
 * records: to write to. Context: drain thread.
 */
void process_life_write_counters(const struct drain *drain, const struct process *process,
                                 struct records *records, uint64_t *lost);

/* Return the process with a number, which may be new; NULL when none has it. */
struct process *process_life_find(struct drain *drain, uint32_t number);

#endif
