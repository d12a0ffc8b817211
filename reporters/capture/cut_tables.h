/*
 * Inside the folder: the tables of a capture that is cut at an instant, which are of the time behind
 * it alone: ticks, states, resident memory, what counts against limits, marks from outside.
 */
#ifndef CAPTURE_CUT_TABLES_H
#define CAPTURE_CUT_TABLES_H

#include "capture/capture.h"
#include "capture/cursor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Return whether a record is of what was before an instant, or is one that cut_tables_put() writes.
 * kind: enum record_kind, or one of a later version. body: the record's, which was read before.
 * Context: tool.
 */
bool cut_tables_has(uint64_t kind, struct cursor body, uint64_t time_ns);

/*
 * Write the records that say what is in force at an instant, and the ticks and states from there on.
 * put: is given a whole record; returns false to stop. Returns what put has returned last.
 * Context: tool.
 */
bool cut_tables_put(const struct capture *capture, uint64_t time_ns,
                    bool (*put)(void *user, const uint8_t *bytes, size_t size_bytes), void *user);

#endif
