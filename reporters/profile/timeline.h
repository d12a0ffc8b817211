/*
 * The time axis: equal buckets, and in each the instant at which the heap was largest.
 *
 * The end of a capture is known before its events are read, so the buckets are: the shortest of
 * 1, 2, 4, ... ms of which PROFILE_BUCKETS suffice. An instant is counted in changes of the heap,
 * which a second reading of the same events counts the same.
 */
#ifndef PROFILE_TIMELINE_H
#define PROFILE_TIMELINE_H

#include "profile/profile.h"

#include <stdint.h>

struct timeline {
    uint64_t bucket_ns;
    uint32_t bucket_count;
    uint32_t current;
    uint64_t end_ns;
    struct profile_sample *samples; /* bucket_count; as far as current they are filled in */
    uint64_t *instants;             /* of the samples: changes of the heap before them */
};

/* What the heap is like. */
struct timeline_heap {
    uint64_t bytes, blocks;
    uint64_t changes; /* so far */
};

/* Begin. end_ns: no later instant has a place of its own. Context: tool. */
void timeline_init(struct timeline *timeline, uint64_t end_ns);

/* Give it back; all zero bytes is allowed. Context: tool. */
void timeline_finish(struct timeline *timeline);

/* Go on to an instant; the heap was as it is since the last one. Context: tool. */
void timeline_advance(struct timeline *timeline, uint64_t time_ns,
                      const struct timeline_heap *heap);

/* Say that the heap has grown. Context: tool. */
static inline void timeline_raise(struct timeline *timeline, uint64_t time_ns,
                                  const struct timeline_heap *heap)
{
    struct profile_sample *sample = &timeline->samples[timeline->current];

    if (heap->bytes <= sample->heap_bytes)
        return;
    sample->time_ns = time_ns;
    sample->heap_bytes = heap->bytes;
    sample->heap_blocks = heap->blocks;
    timeline->instants[timeline->current] = heap->changes;
}

#endif
