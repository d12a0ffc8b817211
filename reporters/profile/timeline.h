/*
 * The time axis: equal buckets, and in each the instant at which the heap was largest.
 *
 * How long it will be is not known while a program runs, so it begins with buckets of 1 ms. When there
 * are PROFILE_BUCKETS, each pair becomes one, of twice the time, whose sample is the higher of the two
 * (of equal ones the first): the same as if there had been buckets of that time from the start.
 *
 * Which instant a bucket's sample shows is known when the bucket is over. To say then what it shows,
 * without keeping all that happened in it, instants are counted in runs: one begins with each bucket,
 * and where the heap passes the bucket's highest after it did anything else. A sample shows the end
 * of the last run of its bucket.
 */
#ifndef PROFILE_TIMELINE_H
#define PROFILE_TIMELINE_H

#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* Runs beyond it are taken for one: a capture of 10^10 events has fewer. */
#define TIMELINE_MAX_RUN (UINT32_MAX - 1)

struct timeline {
    uint64_t bucket_ns;
    uint32_t bucket_count;          /* time is in the last one */
    struct profile_sample *samples; /* room for PROFILE_BUCKETS */
    uint32_t *runs;                 /* the last one of each bucket, so far; room as in samples */
    uint32_t run;                   /* the last one */
    bool is_rising;                 /* it goes on */
};

/* Pairs of buckets that became one each: of pair i, is the second one's sample the one that stays? */
struct timeline_pairs {
    bool is_second[PROFILE_BUCKETS / 2];
};

/* What the heap is like; allocations are asked for by timeline_advance() alone. */
struct timeline_heap {
    uint64_t bytes, blocks;
    uint64_t allocations; /* until now */
};

/* Begin, with one bucket. Context: tool. */
void timeline_init(struct timeline *timeline);

/* Return one that is as it is now, and goes on by itself; to be given to timeline_finish(). */
struct timeline timeline_copy(const struct timeline *timeline);

/* Give it back; all zero bytes is allowed. Context: tool. */
void timeline_finish(struct timeline *timeline);

/*
 * Go on towards an instant, as far as there is room for buckets; the heap was as it is since the last
 * one. The bucket that time was in gets the allocations until now. Returns false when timeline_halve() has to make room first.
 * Context: tool.
 */
bool timeline_advance(struct timeline *timeline, uint64_t time_ns,
                      const struct timeline_heap *heap);

/*
 * Make one bucket of each pair. All PROFILE_BUCKETS must be there, the last one must be over, and what
 * was asked of timeline_sample_of() before holds as timeline_pairs_sample() says.
 * ret_pairs: the caller's. Context: tool.
 */
void timeline_halve(struct timeline *timeline, struct timeline_pairs *ret_pairs);

/* Return the first sample, of those that are left, which is not before this one. Context: tool. */
static inline uint32_t timeline_pairs_sample(const struct timeline_pairs *pairs, uint32_t sample)
{
    return sample / 2 + (sample % 2 != 0 && !pairs->is_second[sample / 2]);
}

/* A run begins: the current bucket's last one. Context: tool. */
static inline void timeline_begin_run(struct timeline *timeline)
{
    timeline->run += timeline->run < TIMELINE_MAX_RUN;
    timeline->is_rising = true;
    timeline->runs[timeline->bucket_count - 1] = timeline->run;
}

/* Whether an instant lies behind the last bucket. Context: tool. */
static inline bool timeline_is_over(const struct timeline *timeline, uint64_t time_ns)
{
    return time_ns / timeline->bucket_ns >= timeline->bucket_count;
}

/* Say that the heap has got a block. Returns the first run that shows it. Context: tool. */
static inline uint32_t timeline_add(struct timeline *timeline, uint64_t time_ns,
                                    const struct timeline_heap *heap)
{
    struct profile_sample *sample = &timeline->samples[timeline->bucket_count - 1];

    if (heap->bytes <= sample->heap_bytes) {
        timeline->is_rising = false;
        return timeline->run + 1;
    }
    sample->time_ns = time_ns;
    sample->heap_bytes = heap->bytes;
    sample->heap_blocks = heap->blocks;
    if (!timeline->is_rising)
        timeline_begin_run(timeline);
    return timeline->run;
}

/* Say that it has lost one. Returns the first run that does not show it. Context: tool. */
static inline uint32_t timeline_remove(struct timeline *timeline)
{
    timeline->is_rising = false;
    return timeline->run + 1;
}

/*
 * Return the first sample that shows what a run has shown first; bucket_count when none does yet.
 * Right for good once the last bucket is over. Context: tool.
 */
uint32_t timeline_sample_of(const struct timeline *timeline, uint32_t run);

#endif
