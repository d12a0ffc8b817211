/*
 * The probe's table of live blocks: where, how large, and the stack at the allocation.
 */
#ifndef PROBE_BLOCKS_H
#define PROBE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KEPT_FRAMES = 48, /* the inner ones of a stack; tracemalloc is asked for fewer */
};

/* Make the table. Context: constructor. */
void probe_blocks_start(void);

/* Put a block into the table; chain: root first. Without room for it nothing is kept of it. */
void probe_blocks_add(const void *memory, size_t size, const uint64_t *chain, uint32_t depth);

/* Take a block out again, before its memory can be anyone else's. Others are ignored. */
void probe_blocks_remove(const void *memory);

#endif
