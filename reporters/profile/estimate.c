/*
 * Weights of a sample, in plain double arithmetic: the same capture gives the same numbers
 * everywhere, which the exp() of different C libraries does not promise. Runs in the tools.
 */
#include "profile/estimate.h"

enum {
    TERMS = 22, /* of the series below: the next one is less than 2^-64 */
};

#define ORDINAL_STEP UINT32_C(2654435769) /* the golden ratio, of 2^32: spreads evenly */
#define ORDINALS     4294967296.0

/* Return 1 - exp(-x) for 0 < x < 1: x (1 - x/2 (1 - x/3 (1 - ...))). */
static double picked(double x)
{
    double sum = 1.0;

    for (unsigned i = TERMS; i >= 2; i--)
        sum = 1.0 - x / i * sum;
    return x * sum;
}

/* The probability that a block was recorded. size_bytes: not 0. */
static double probability(uint64_t mean_bytes, uint64_t size_bytes)
{
    return size_bytes >= mean_bytes ? 1.0 : picked((double)size_bytes / (double)mean_bytes);
}

struct profile_cost estimate_cost(uint64_t mean_bytes, uint64_t size_bytes, uint32_t ordinal)
{
    double blocks, rounding;

    if (size_bytes == 0 || size_bytes >= mean_bytes)
        return (struct profile_cost){size_bytes, 1};
    blocks = 1.0 / probability(mean_bytes, size_bytes);
    rounding = (double)(uint32_t)(ordinal * ORDINAL_STEP) / ORDINALS;
    return (struct profile_cost){
        .bytes = (uint64_t)((double)size_bytes * blocks + 0.5),
        .allocations = (uint64_t)(blocks + rounding),
    };
}

uint64_t estimate_variance(uint64_t unit_bytes, uint64_t mean_bytes, uint64_t size_bytes)
{
    double chance, part;

    if (size_bytes == 0 || size_bytes >= mean_bytes)
        return 0;
    chance = probability(mean_bytes, size_bytes);
    part = (double)size_bytes / (double)unit_bytes / chance;
    return (uint64_t)((1.0 - chance) * part * part * ESTIMATE_VARIANCE_UNIT + 0.5);
}

/* Return the largest number whose square is not larger. */
static uint64_t square_root(uint64_t number)
{
    uint64_t root = 0;

    for (uint64_t bit = UINT64_C(1) << 31; bit != 0; bit >>= 1)
        if ((root | bit) * (root | bit) <= number)
            root |= bit;
    return root;
}

uint64_t estimate_standard_error(uint64_t unit_bytes, uint64_t variance)
{
    /* The root of the unit is 2^10. Not more than 2^40 times 2^32 / 2^10. */
    return (uint64_t)((double)unit_bytes * (double)square_root(variance) / 1024.0 + 0.5);
}
