/*
 * The time axis. Runs in the tools. What holds: a bucket's sample is the first of the instants at
 * which its heap is largest, and what the heap was when it began is one of them.
 */
#include "profile/timeline.h"

#include "base/memory.h"

#include <stdlib.h>

#define FIRST_BUCKET_NS UINT64_C(1000000)

void timeline_init(struct timeline *timeline, uint64_t end_ns)
{
    uint64_t bucket_ns = FIRST_BUCKET_NS;

    while (end_ns / bucket_ns >= PROFILE_BUCKETS)
        bucket_ns *= 2;
    *timeline = (struct timeline){
        .bucket_ns = bucket_ns,
        .bucket_count = (uint32_t)(end_ns / bucket_ns) + 1,
        .end_ns = end_ns,
    };
    timeline->samples = memory_allocate(timeline->bucket_count, sizeof(*timeline->samples));
    timeline->runs = memory_allocate(timeline->bucket_count, sizeof(*timeline->runs));
    timeline_begin_run(timeline);
}

void timeline_finish(struct timeline *timeline)
{
    free(timeline->samples);
    free(timeline->runs);
    *timeline = (struct timeline){0};
}

void timeline_advance(struct timeline *timeline, uint64_t time_ns, const struct timeline_heap *heap)
{
    uint64_t bucket = time_ns / timeline->bucket_ns;

    if (bucket >= timeline->bucket_count)
        bucket = timeline->bucket_count - 1;
    while (timeline->current < bucket) {
        timeline->current++;
        timeline->samples[timeline->current] = (struct profile_sample){
            .time_ns = timeline->current * timeline->bucket_ns,
            .heap_bytes = heap->bytes,
            .heap_blocks = heap->blocks,
        };
        timeline_begin_run(timeline);
    }
}

uint32_t timeline_sample_of(const struct timeline *timeline, uint32_t run)
{
    uint32_t low = 0, high = timeline->current + 1;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (timeline->runs[middle] < run)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
