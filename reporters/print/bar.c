/*
 * Bars. Runs in the tools, on any thread. Integers only: the same numbers give the same text.
 */
#include "print/bar.h"

#include <assert.h>
#include <string.h>

enum {
    STEPS = 8, /* of a column */
    STEP_BYTES = 3,
    MAX_COLUMNS = 1000,
};

/* U+258F to U+2588: an eighth of a column to all of it. */
static const char blocks[STEPS][STEP_BYTES + 1] = {
    "\xe2\x96\x8f", "\xe2\x96\x8e", "\xe2\x96\x8d", "\xe2\x96\x8c",
    "\xe2\x96\x8b", "\xe2\x96\x8a", "\xe2\x96\x89", "\xe2\x96\x88",
};

/* Part of whole in so many steps, at least one of what is not 0. */
static uint64_t steps_of(uint64_t part, uint64_t whole, uint64_t steps)
{
    uint64_t count;

    if (part == 0)
        return 0;
    /* Beyond 2^48 the lowest bits do not show. */
    while (whole > UINT64_MAX >> 16) {
        part >>= 1;
        whole >>= 1;
    }
    count = part * steps / whole;
    return count > 0 ? count : 1;
}

static const char *ascii_bar(struct memory_pool *pool, uint64_t columns)
{
    char *text = memory_pool_allocate(pool, columns + 1);

    memset(text, '#', columns);
    return text;
}

const char *bar_text(struct memory_pool *pool, uint64_t part, uint64_t whole, unsigned columns,
                     bool is_ascii)
{
    uint64_t steps;
    size_t at = 0;
    char *text;

    assert(part <= whole && columns <= MAX_COLUMNS);
    if (is_ascii)
        return ascii_bar(pool, steps_of(part, whole, columns));
    steps = steps_of(part, whole, (uint64_t)columns * STEPS);
    text = memory_pool_allocate(pool, (steps / STEPS + 1) * STEP_BYTES + 1);
    for (; steps >= STEPS; steps -= STEPS, at += STEP_BYTES)
        memcpy(text + at, blocks[STEPS - 1], STEP_BYTES);
    if (steps > 0)
        memcpy(text + at, blocks[steps - 1], STEP_BYTES);
    return text;
}
