/*
 * What the samples say. Runs in the tools.
 */
#include "report/growth.h"

#include "base/memory.h"

#include <stdlib.h>

enum {
    LEAST_SAMPLES = 3, /* two are on a line, whatever they are */
};

/* How many samples there are before the heap is empty for good. */
static uint32_t samples_in_use(const struct profile *profile)
{
    uint32_t count = profile->sample_count;

    while (count > 0 && profile->samples[count - 1].heap_bytes == 0)
        count--;
    return count;
}

int64_t growth_per_second(const struct profile *profile, uint64_t from_ns)
{
    uint32_t end = samples_in_use(profile), count = 0;
    double time_sum = 0, heap_sum = 0, above = 0, below = 0;

    for (uint32_t i = 0; i < end; i++) {
        if (profile->samples[i].time_ns < from_ns)
            continue;
        time_sum += (double)profile->samples[i].time_ns / 1e9;
        heap_sum += (double)profile->samples[i].heap_bytes;
        count++;
    }
    if (count < LEAST_SAMPLES)
        return 0;
    for (uint32_t i = 0; i < end; i++) {
        double time = (double)profile->samples[i].time_ns / 1e9 - time_sum / count;

        if (profile->samples[i].time_ns < from_ns)
            continue;
        above += time * ((double)profile->samples[i].heap_bytes - heap_sum / count);
        below += time * time;
    }
    return below > 0 ? (int64_t)(above / below) : 0;
}

uint64_t *growth_of_processes(const struct profile *profile)
{
    const struct capture *capture = profile->capture;
    size_t samples = profile->sample_count;
    uint64_t *bytes = memory_allocate(capture->process_count * samples + 1, sizeof(bytes[0]));

    for (uint64_t i = 0; i < profile->interval_count; i++) {
        const struct profile_interval *interval = &profile->intervals[i];
        uint32_t stream = profile->rows[interval->row].stream;
        uint64_t *curve;

        if (stream == 0 || interval->from_bucket >= samples)
            continue;
        curve = bytes + capture->threads[stream - 1].process_index * samples;
        /* Changes first; unsigned sums of them are right again below. */
        curve[interval->from_bucket] += interval->bytes;
        if (interval->to_bucket < samples)
            curve[interval->to_bucket] -= interval->bytes;
    }
    for (uint32_t process = 0; process < capture->process_count; process++) {
        for (size_t i = 1; i < samples; i++)
            bytes[process * samples + i] += bytes[process * samples + i - 1];
    }
    return bytes;
}
