/*
 * A bar of text: how much one thing is beside the largest.
 */
#ifndef PRINT_BAR_H
#define PRINT_BAR_H

#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Draw a bar for a part of a whole: in eighths of a column, or in whole columns of # in ASCII.
 * Something is never drawn as nothing.
 * part: at most whole. columns: of the whole, at most 1000.
 * Returns a text of the pool's. Context: tool.
 */
const char *bar_text(struct memory_pool *pool, uint64_t part, uint64_t whole, unsigned columns,
                     bool is_ascii);

#endif
