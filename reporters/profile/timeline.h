/*
 * The time axis: equal buckets, and in each the instant at which the heap was largest.
 *
 * The end of a capture is known before its events are read, so the buckets are: the shortest of
 * 1, 2, 4, ... ms of which PROFILE_BUCKETS suffice.
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
    uint32_t bucket_count;
    uint32_t current;
    uint64_t end_ns;
    struct profile_sample *samples; /* bucket_count; as far as current they are filled in */
    uint32_t *runs;                 /* the last one of each bucket, so far */
    uint32_t run;                   /* the last one */
    bool is_rising;                 /* it goes on */
};

/* What the heap is like. */
struct timeline_heap {
    uint64_t bytes, blocks;
};

/* Begin. end_ns: no later instant has a place of its own. Context: tool. */
void timeline_init(struct timeline *timeline, uint64_t end_ns);

/* Give it back; all zero bytes is allowed. Context: tool. */
void timeline_finish(struct timeline *timeline);

/* Go on to an instant; the heap was as it is since the last one. Context: tool. */
void timeline_advance(struct timeline *timeline, uint64_t time_ns,
                      const struct timeline_heap *heap);

/* A run begins: the current bucket's last one. Context: tool. */
static inline void timeline_begin_run(struct timeline *timeline)
{
    timeline->run += timeline->run < TIMELINE_MAX_RUN;
    timeline->is_rising = true;
    timeline->runs[timeline->current] = timeline->run;
}

/* Whether an instant lies behind the current bucket. Context: tool. */
static inline bool timeline_is_over(const struct timeline *timeline, uint64_t time_ns)
{
    return timeline->current + 1 < timeline->bucket_count &&
           time_ns / timeline->bucket_ns > timeline->current;
}

/* Say that the heap has got a block. Returns the first run that shows it. Context: tool. */
static inline uint32_t timeline_add(struct timeline *timeline, uint64_t time_ns,
                                    const struct timeline_heap *heap)
{
    struct profile_sample *sample = &timeline->samples[timeline->current];

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
 * Return the first sample that shows what a run has shown first; current + 1 when none does yet.
 * Right for good once the current bucket is over. Context: tool.
 */
uint32_t timeline_sample_of(const struct timeline *timeline, uint32_t run);

#endif
