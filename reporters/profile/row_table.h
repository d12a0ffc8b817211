/*
 * The rows: one for each pair of a stack and a thread that has allocated, in the order in which
 * they first did. Blocks of a stack that were picked at different levels are of different rows, which
 * are put together at the end (merge_rows.h).
 */
#ifndef PROFILE_ROW_TABLE_H
#define PROFILE_ROW_TABLE_H

#include "memtrack/protocol.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Other values are levels of the pool's header. */
enum row_sampling {
    ROW_IS_WHOLE = 0,
    ROW_IS_SAMPLE = 255, /* with the session's mean */
};

/* What every event changes: a cache line. */
struct row {
    uint64_t live_bytes;
    uint64_t peak_bytes; /* what was live at the latest peak before generation's changes */
    uint64_t generation; /* peaks that this row has seen; see ledger.c */
    uint64_t allocated_bytes, allocations;
    uint32_t live_blocks, peak_blocks;
    uint32_t stack, stream; /* indexes in the capture */
    uint32_t process;       /* of the stream: index in the capture */
    uint8_t allocator;      /* of the stack */
    uint8_t sampling;       /* how its blocks were picked: enum row_sampling, or a level */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct row) == 64, "a row is a cache line");

/* Return the mean bytes between two picks that its blocks were picked with. Context: tool. */
static inline uint64_t row_mean_bytes(const struct row *row, const struct capture *capture)
{
    return row->sampling == ROW_IS_SAMPLE ? capture->session.sample_bytes
                                          : SAMPLE_LEVEL_BYTES(row->sampling);
}

/* What few events change. */
struct row_extra {
    struct profile_cost leaks, temporary;
};

struct row_table {
    struct row *rows; /* on cache lines of their own */
    void *rows_memory;
    struct row_extra *extras;
    uint32_t count, capacity;
    uint32_t *slots; /* row + 1; 0: empty */
    size_t slot_count;
    uint32_t *latest; /* by stack: row + 1 of the thread that used it last; 0: none */
    size_t latest_capacity;
};

/* Make room for so many stacks; all zero bytes is an empty table for none. Context: tool. */
void row_table_extend(struct row_table *rows, uint32_t stack_count);

/* The slow half of row_table_get(): another thread had the stack last. */
uint32_t row_table_search(struct row_table *rows, const struct capture *capture, uint32_t stack,
                          uint32_t stream);

/*
 * Return the row of a stack in a thread, made when it is new.
 * stack, stream: indexes in the capture; there is room for the stack. Context: tool.
 */
static inline uint32_t row_table_get(struct row_table *rows, const struct capture *capture,
                                     uint32_t stack, uint32_t stream)
{
    uint32_t latest = rows->latest[stack];

    /* Most stacks are of one thread. */
    if (latest != 0 && rows->rows[latest - 1].stream == stream)
        return latest - 1;
    return row_table_search(rows, capture, stack, stream);
}

/*
 * Return a table of the same rows, to which none can be added; to be given to row_table_finish().
 * Context: tool.
 */
struct row_table row_table_copy(const struct row_table *rows);

/* Give it back; all zero bytes is allowed. Context: tool. */
void row_table_finish(struct row_table *rows);

#endif
