/*
 * Curves made of characters: a value is a column of blocks that stands on the lowest line.
 */
#ifndef PRINT_PLOT_H
#define PRINT_PLOT_H

#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plot {
    const uint64_t *values; /* one a column; the caller's */
    size_t count;
    uint64_t most; /* what fills all lines; no value is above it */
    unsigned rows; /* lines, at least 1 */
    bool is_ascii; /* '.', ':' and '#' in place of blocks in eighths */
};

/*
 * Return a line of the picture, without spaces at its end. row: 0 is the lowest. What is not 0 is
 * seen on it. Returns a text of the pool's. Context: tool.
 */
const char *plot_row(struct memory_pool *pool, const struct plot *plot, unsigned row);

#endif
