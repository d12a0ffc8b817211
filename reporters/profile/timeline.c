/*
 * The time axis. Runs in the tools. What holds: a bucket's sample is the first of the instants at
 * which its heap is largest, and what the heap was when it began is one of them.
 */
#include "profile/timeline.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

#define FIRST_BUCKET_NS UINT64_C(1000000)

/* The next bucket begins. */
static void begin_bucket(struct timeline *timeline, const struct timeline_heap *heap)
{
    timeline->samples[timeline->bucket_count] = (struct profile_sample){
        .time_ns = timeline->bucket_count * timeline->bucket_ns,
        .heap_bytes = heap->bytes,
        .heap_blocks = heap->blocks,
        .allocations = heap->allocations,
    };
    timeline->bucket_count++;
    timeline_begin_run(timeline);
}

void timeline_init(struct timeline *timeline)
{
    static const struct timeline_heap nothing = {0, 0, 0};

    *timeline = (struct timeline){.bucket_ns = FIRST_BUCKET_NS};
    timeline->samples = memory_allocate(PROFILE_BUCKETS, sizeof(*timeline->samples));
    timeline->runs = memory_allocate(PROFILE_BUCKETS, sizeof(*timeline->runs));
    begin_bucket(timeline, &nothing);
}

struct timeline timeline_copy(const struct timeline *timeline)
{
    struct timeline copy = *timeline;

    copy.samples = memory_copy(timeline->samples, PROFILE_BUCKETS, sizeof(*copy.samples));
    copy.runs = memory_copy(timeline->runs, PROFILE_BUCKETS, sizeof(*copy.runs));
    return copy;
}

void timeline_finish(struct timeline *timeline)
{
    free(timeline->samples);
    free(timeline->runs);
    *timeline = (struct timeline){0};
}

bool timeline_advance(struct timeline *timeline, uint64_t time_ns, const struct timeline_heap *heap)
{
    timeline->samples[timeline->bucket_count - 1].allocations = heap->allocations;
    while (timeline_is_over(timeline, time_ns)) {
        if (timeline->bucket_count == PROFILE_BUCKETS)
            return false;
        begin_bucket(timeline, heap);
    }
    return true;
}

/*
 * When the second bucket began the heap was what it had come to in the first, so only a later instant
 * can be higher than the first one's sample: what stays is an instant of the two together.
 */
void timeline_halve(struct timeline *timeline, struct timeline_pairs *ret_pairs)
{
    assert(timeline->bucket_count == PROFILE_BUCKETS);
    for (size_t i = 0; i < PROFILE_BUCKETS / 2; i++) {
        const struct profile_sample *pair = &timeline->samples[2 * i];
        bool is_second = pair[1].heap_bytes > pair[0].heap_bytes;
        uint64_t failed = pair[0].failed_allocations + pair[1].failed_allocations;
        uint64_t allocations = pair[1].allocations;

        ret_pairs->is_second[i] = is_second;
        timeline->samples[i] = pair[is_second];
        timeline->samples[i].failed_allocations = failed;
        timeline->samples[i].allocations = allocations;
        timeline->runs[i] = timeline->runs[2 * i + is_second];
    }
    timeline->bucket_count /= 2;
    timeline->bucket_ns *= 2;
}

/* Mostly it is one of the latest runs that is asked for: the search begins there, in growing steps. */
uint32_t timeline_sample_of(const struct timeline *timeline, uint32_t run)
{
    uint32_t low = 0, high = timeline->bucket_count;

    for (uint32_t step = 1; step <= high; step *= 4) {
        if (timeline->runs[high - step] < run) {
            low = high - step + 1;
            break;
        }
        high -= step;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (timeline->runs[middle] < run)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
