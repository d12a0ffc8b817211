/*
 * The rows: one for each pair of a stack and a thread that has allocated, in the order in which
 * they first did.
 */
#ifndef PROFILE_ROW_TABLE_H
#define PROFILE_ROW_TABLE_H

#include "profile/profile.h"

#include <stddef.h>
#include <stdint.h>

/* What every event changes: a cache line. */
struct row {
    uint64_t live_bytes;
    uint64_t peak_bytes; /* what was live at the latest peak before generation's changes */
    uint64_t generation; /* peaks that this row has seen; see ledger.c */
    uint64_t allocated_bytes, allocations;
    uint32_t live_blocks, peak_blocks;
    uint32_t stack, stream; /* indexes in the capture */
    uint8_t allocator;      /* of the stack */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct row) == 64, "a row is a cache line");

/* What few events change. */
struct row_extra {
    struct profile_cost leaks, temporary;
};

/* All zero bytes is empty. */
struct row_table {
    struct row *rows; /* on cache lines of their own */
    void *rows_memory;
    struct row_extra *extras;
    uint32_t count, capacity;
    uint32_t *slots; /* row + 1; 0: empty */
    size_t slot_count;
};

/* Return the row of a stack in a thread, made when it is new. Context: tool. */
uint32_t row_table_get(struct row_table *rows, uint32_t stack, uint32_t stream, uint8_t allocator);

/* Give it back; it is empty then. Context: tool. */
void row_table_finish(struct row_table *rows);

#endif
