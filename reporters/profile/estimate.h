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

enum {
    ESTIMATE_VARIANCE_UNIT = 1 << 20,
    ESTIMATE_UNIT_OF_LEVELS = 1 << 14, /* 64 bytes come to 16 units, 1 MiB to 2^32 */
};

/*
 * Return what a recorded block stands for.
 * mean_bytes: between two picks, not 0. ordinal: of the block in its thread; decides how the number
 * of blocks is rounded.
 * Context: tool.
 */
struct profile_cost estimate_cost(uint64_t mean_bytes, uint64_t size_bytes, uint32_t ordinal);

/*
 * Return the mean that variances of a capture are told in: its own where there is one, else one that
 * neither the smallest nor the largest of its levels is too far from.
 * Context: tool.
 */
static inline uint64_t estimate_unit_bytes(const struct capture *capture)
{
    return capture->session.sample_bytes > 0 ? capture->session.sample_bytes
                                             : ESTIMATE_UNIT_OF_LEVELS;
}

/*
 * Return what a recorded block adds to the variance of a sum of bytes, in units of
 * unit_bytes^2 / ESTIMATE_VARIANCE_UNIT, at most one and a half of mean_bytes^2.
 * Context: tool.
 */
uint64_t estimate_variance(uint64_t unit_bytes, uint64_t mean_bytes, uint64_t size_bytes);

/* Return the standard error in bytes of a sum of bytes with this variance. Context: tool. */
uint64_t estimate_standard_error(uint64_t unit_bytes, uint64_t variance);

#endif
