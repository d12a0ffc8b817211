/*
 * What a block of a sample stands for (docs/sampling.md).
 *
 * A block that was recorded with probability p stands for 1 / p blocks of its size (Horvitz and
 * Thompson, 1952): sums of such numbers are right on average, whatever is summed. Numbers of blocks
 * are whole ones, rounded up so often that their sums come out right.
 */
#ifndef PROFILE_ESTIMATE_H
#define PROFILE_ESTIMATE_H

#include "profile/profile.h"

#include <stdint.h>

/*
 * Return what a recorded block stands for.
 * mean_bytes: between two picks, not 0. ordinal: of the block in its thread; decides how the number
 * of blocks is rounded.
 * Context: tool.
 */
struct profile_cost estimate_cost(uint64_t mean_bytes, uint64_t size_bytes, uint32_t ordinal);

/*
 * Return what a recorded block adds to the variance of a sum of bytes, in units of
 * mean_bytes^2 / ESTIMATE_VARIANCE_UNIT, at most one and a half of that.
 * Context: tool.
 */
uint64_t estimate_variance(uint64_t mean_bytes, uint64_t size_bytes);

/* Return the standard error in bytes of a sum of bytes with this variance. Context: tool. */
uint64_t estimate_standard_error(uint64_t mean_bytes, uint64_t variance);

enum {
    ESTIMATE_VARIANCE_UNIT = 1 << 20,
};

#endif
