/*
 * Thinning. Runs in the collector's model thread, of an aggregated capture.
 *
 * What holds: the samples of one owner stay in their order, and none is lower than what it stands for.
 */
#include "capture/thin.h"

#include "base/memory.h"
#include "memtrack/format.h"

#include <stdlib.h>

enum {
    MANY_SAMPLES = 1 << 15, /* eight a bucket of the time axis, when half of them is left */
};

/* For each owner where the sample stands that waits for its second one, plus 1; 0: none does. */
static uint32_t *first_of_pairs(size_t owner_count)
{
    return memory_allocate(owner_count + 1, sizeof(uint32_t));
}

static void thin_resident(struct capture *capture)
{
    uint32_t *firsts = first_of_pairs(capture->process_count);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < capture->rss_count; i++) {
        struct capture_rss sample = capture->rss[i];
        uint32_t *first = &firsts[sample.process_index];

        if (*first == 0) {
            capture->rss[kept++] = sample;
            *first = kept;
            continue;
        }
        if (sample.resident_bytes > capture->rss[*first - 1].resident_bytes) {
            capture->rss[*first - 1].resident_bytes = sample.resident_bytes;
            capture->rss[*first - 1].huge_bytes = sample.huge_bytes;
        }
        *first = 0;
    }
    capture->rss_count = kept;
    free(firsts);
}

/* Owners are processes or cgroups, by kind. */
static size_t owner_of(const struct capture *capture, const struct capture_use *use)
{
    size_t owner_count = (size_t)capture->process_count + capture->cgroup_count;

    return use->kind * owner_count + use->owner;
}

static void thin_uses(struct capture *capture)
{
    size_t owner_count = (size_t)capture->process_count + capture->cgroup_count;
    uint32_t *firsts = first_of_pairs(USE_KIND_COUNT * owner_count);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < capture->use_count; i++) {
        struct capture_use use = capture->uses[i];
        uint32_t *first = &firsts[owner_of(capture, &use)];

        if (*first == 0) {
            capture->uses[kept++] = use;
            *first = kept;
            continue;
        }
        if (use.bytes > capture->uses[*first - 1].bytes)
            capture->uses[*first - 1].bytes = use.bytes;
        *first = 0;
    }
    capture->use_count = kept;
    free(firsts);
}

void capture_thin(struct capture *capture)
{
    if (capture->rss_count >= MANY_SAMPLES)
        thin_resident(capture);
    if (capture->use_count >= MANY_SAMPLES)
        thin_uses(capture);
}
