/*
 * Which blocks are recorded when not all are: a sample.
 *
 * Every byte that is allocated has the same small chance to be picked, and a block is recorded when
 * one of its bytes is. So a block of b bytes is recorded with probability 1 - exp(-b / mean), each
 * independently of all others, and the reader knows what it stands for (docs/sampling.md). Blocks of
 * the mean and more are always recorded; blocks of no bytes never are.
 *
 * A thread draws how many bytes lie before the next pick, and takes the bytes of each block from
 * them: one subtraction. What holds, whatever handlers do in between: left is below the mean, so a
 * larger block never fits, and a thread never goes without a pick for longer than it has drawn.
 *
 * The mean may change: a thread takes the new one where it draws again, and what comes before that has
 * the probability of the old one.
 */
#ifndef RECORD_SAMPLE_H
#define RECORD_SAMPLE_H

#include "base/arch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A thread's part. All zero: it has drawn nothing yet, and no block fits. */
struct sample_thread {
    uint64_t left_bytes; /* of the way to the next pick, at most mean - 1 */
    uint64_t rest_bytes; /* what more of it there is */
    uint64_t random;     /* state of the generator; 0: not seeded */
    uint64_t mean_bytes; /* of the way that is being gone */
};

/*
 * Whether a block lies before the next pick as far as can be told at once; then it is passed over.
 * Context: hot path.
 */
static inline __attribute__((always_inline)) bool sample_passes(struct sample_thread *thread,
                                                                size_t size_bytes)
{
    uint64_t left_bytes;

    /* Nothing is stored when it does not fit: a handler may leave us here for good. */
    if (unlikely(__builtin_sub_overflow(thread->left_bytes, size_bytes, &left_bytes)))
        return false;
    thread->left_bytes = left_bytes;
    return true;
}

/*
 * Begin to draw. seed: different for each thread and process.
 * Context: hot path (slow paths only).
 */
void sample_begin(struct sample_thread *thread, uint64_t mean_bytes, uint64_t seed);

/*
 * Whether a block that sample_passes() did not pass over is to be recorded.
 * thread: has begun; thread->mean_bytes as it was before is what the block was picked with.
 * mean_bytes: of the ways that are drawn from now on.
 * Context: hot path (slow paths only).
 */
bool sample_picks(struct sample_thread *thread, uint64_t mean_bytes, uint64_t size_bytes);

/*
 * Return -ln(u), in units of 2^-SAMPLE_LOG_BITS, for u = number / 2^64.
 * number: not 0. Exact to a few units.
 * Context: hot path (slow paths only).
 */
uint64_t sample_negative_log(uint64_t number);

enum {
    SAMPLE_LOG_BITS = 48,
};

#endif
