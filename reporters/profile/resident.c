/*
 * Resident memory. Runs in the tools, once a capture.
 *
 * What holds: instants are taken in the order of time; of equal ones the end of a process comes
 * last, so what it had at that instant is still seen.
 */
#include "profile/resident.h"

#include "base/memory.h"

#include <stdlib.h>

struct instant {
    uint64_t time_ns;
    uint64_t resident_bytes; /* of the process from then on */
    uint32_t process_index;
    uint32_t order; /* among equal times: samples as in the file, then ends */
};

static int compare(const void *left, const void *right)
{
    const struct instant *a = left, *b = right;

    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static bool is_wanted(const struct capture *capture, uint32_t process_index, uint32_t number)
{
    return number == 0 || capture->processes[process_index].number == number;
}

static size_t list_instants(const struct capture *capture, uint32_t process_number,
                            struct instant *ret_instants)
{
    size_t count = 0;

    for (uint32_t i = 0; i < capture->rss_count; i++) {
        const struct capture_rss *rss = &capture->rss[i];

        if (is_wanted(capture, rss->process_index, process_number))
            ret_instants[count++] =
                (struct instant){rss->time_ns, rss->resident_bytes, rss->process_index, i};
    }
    for (uint32_t i = 0; i < capture->process_count; i++)
        if (capture->processes[i].ended_ns > 0 && is_wanted(capture, i, process_number))
            ret_instants[count++] =
                (struct instant){capture->processes[i].ended_ns, 0, i, UINT32_MAX};
    if (count > 0)
        qsort(ret_instants, count, sizeof(*ret_instants), compare);
    return count;
}

/* The bucket of an instant; what comes behind the end belongs to the last one. */
static uint32_t bucket_of(const struct timeline *timeline, uint64_t time_ns)
{
    uint64_t bucket = time_ns / timeline->bucket_ns;

    return bucket < timeline->bucket_count ? (uint32_t)bucket : timeline->bucket_count - 1;
}

static void raise_to(uint64_t *highest, uint64_t value)
{
    if (value > *highest)
        *highest = value;
}

void resident_fill(const struct capture *capture, uint32_t process_number,
                   struct timeline *timeline, struct profile_owner *processes,
                   uint64_t *ret_peak_bytes)
{
    struct instant *instants =
        memory_allocate((size_t)capture->rss_count + capture->process_count, sizeof(*instants));
    uint64_t *last = memory_allocate(capture->process_count, sizeof(*last));
    size_t count = list_instants(capture, process_number, instants);
    uint64_t total = 0, peak = 0;
    uint32_t bucket = 0;

    for (size_t i = 0; i < count; i++) {
        const struct instant *instant = &instants[i];
        uint32_t next = bucket_of(timeline, instant->time_ns);

        while (bucket < next)
            timeline->samples[++bucket].rss_bytes = total;
        total += instant->resident_bytes - last[instant->process_index];
        last[instant->process_index] = instant->resident_bytes;
        raise_to(&processes[instant->process_index].peak_rss_bytes, instant->resident_bytes);
        raise_to(&timeline->samples[bucket].rss_bytes, total);
        raise_to(&peak, total);
    }
    while (bucket + 1 < timeline->bucket_count)
        timeline->samples[++bucket].rss_bytes = total;
    *ret_peak_bytes = peak;
    free(instants);
    free(last);
}
