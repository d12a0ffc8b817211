/*
 * Curves. Runs in the tools, on any thread. Integers only: the same numbers give the same text.
 */
#include "print/plot.h"

#include <assert.h>
#include <string.h>

enum {
    STEPS = 8, /* of a line */
    STEP_BYTES = 3,
};

/* U+2581 to U+2588: an eighth of a line to all of it. */
static const char blocks[STEPS][STEP_BYTES + 1] = {
    "\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83", "\xe2\x96\x84",
    "\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88",
};

static const char ascii_blocks[STEPS + 1] = "...:::##";

/* How many eighths of a line a value has above the row's lower edge, at most all. */
static unsigned steps_in_row(const struct plot *plot, uint64_t value, unsigned row)
{
    uint64_t most = plot->most, steps;

    if (value == 0)
        return 0;
    /* Beyond 2^48 the lowest bits do not show. */
    while (most > UINT64_MAX >> 16) {
        value >>= 1;
        most >>= 1;
    }
    steps = value * plot->rows * STEPS / most;
    steps = steps > 0 ? steps : 1;
    if (steps <= (uint64_t)row * STEPS)
        return 0;
    steps -= (uint64_t)row * STEPS;
    return steps < STEPS ? (unsigned)steps : STEPS;
}

const char *plot_row(struct memory_pool *pool, const struct plot *plot, unsigned row)
{
    char *text = memory_pool_allocate(pool, plot->count * STEP_BYTES + 1);
    size_t at = 0, end = 0;

    assert(plot->rows > 0);
    for (size_t i = 0; i < plot->count; i++) {
        unsigned steps = steps_in_row(plot, plot->values[i], row);

        if (steps == 0) {
            text[at++] = ' ';
            continue;
        }
        if (plot->is_ascii) {
            text[at++] = ascii_blocks[steps - 1];
        } else {
            memcpy(text + at, blocks[steps - 1], STEP_BYTES);
            at += STEP_BYTES;
        }
        end = at;
    }
    text[end] = '\0';
    return text;
}
