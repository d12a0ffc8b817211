/*
 * Counts and shares as people read them. Integers only, no locale, as print/units.h.
 */
#ifndef PRINT_NUMBERS_H
#define PRINT_NUMBERS_H

#include "print/units.h"

#include <stdint.h>

/* Write a count with commas: "10,515,210". Context: tool. */
struct units_text numbers_format_count(uint64_t count);

/* Return what a noun after a count ends with: "s", or "" after 1. Context: any thread. */
const char *numbers_plural(uint64_t count);

/*
 * Write a share of a whole in percent, one decimal, rounded to the nearest: "41.5".
 * whole: 0 gives "0.0". Context: tool.
 */
struct units_text numbers_format_share(uint64_t part, uint64_t whole);

#endif
