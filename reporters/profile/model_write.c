/*
 * A model to bytes: each part behind its number and its length. Runs in the collector at its end.
 */
#include "base/memory.h"
#include "profile/model.h"
#include "profile/model_parts.h"

#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_THRESHOLD = 1,
};

bool model_is_for(const struct profile_options *options)
{
    return !options->reads_events && options->process_number == 0 && options->tid == 0 &&
           !options->shows_pools && options->temporary_threshold == DEFAULT_THRESHOLD;
}

/* part: room for a part, used again. */
static void put_part(struct column_bytes *bytes, struct column_bytes *part,
                     enum model_part_kind kind, const void *items, uint64_t count)
{
    const struct model_part *description = &model_parts[kind];

    part->size_bytes = 0;
    columns_put(part, items, count, description->item_bytes, description->columns,
                description->column_count);
    columns_put_number(bytes, kind);
    columns_put_number(bytes, part->size_bytes);
    if (part->size_bytes > bytes->capacity_bytes - bytes->size_bytes)
        bytes->bytes = memory_grow(bytes->bytes, &bytes->capacity_bytes,
                                   bytes->size_bytes + part->size_bytes, 1);
    memcpy(bytes->bytes + bytes->size_bytes, part->bytes, part->size_bytes);
    bytes->size_bytes += part->size_bytes;
}

void model_write(const struct profile *profile, struct column_bytes *bytes)
{
    struct model_size sizes[PROFILE_SIZE_CLASSES];
    struct column_bytes part = {0};

    for (unsigned i = 0; i < PROFILE_SIZE_CLASSES; i++)
        sizes[i] = (struct model_size){profile->size_allocations[i], profile->size_bytes[i]};
    put_part(bytes, &part, MODEL_TOTALS, profile, 1);
    put_part(bytes, &part, MODEL_ROWS, profile->rows, profile->row_count);
    put_part(bytes, &part, MODEL_PROCESSES, profile->processes, profile->capture->process_count);
    put_part(bytes, &part, MODEL_THREADS, profile->threads, profile->capture->thread_count);
    put_part(bytes, &part, MODEL_ALLOCATORS, profile->allocators, profile->allocator_count);
    put_part(bytes, &part, MODEL_SIZES, sizes, PROFILE_SIZE_CLASSES);
    put_part(bytes, &part, MODEL_SAMPLES, profile->samples, profile->sample_count);
    put_part(bytes, &part, MODEL_INTERVALS, profile->intervals, profile->interval_count);
    put_part(bytes, &part, MODEL_MARKS, profile->marks, profile->mark_count);
    put_part(bytes, &part, MODEL_PHASES, profile->phases, profile->phase_count);
    put_part(bytes, &part, MODEL_POOLS, profile->pools, profile->pool_count);
    put_part(bytes, &part, MODEL_FAILURES, profile->failures, profile->failure_count);
    if (profile->totals.late_news > 0)
        put_part(bytes, &part, MODEL_LATE, profile, 1);
    put_part(bytes, &part, MODEL_ALLOCATIONS, profile->samples, profile->sample_count);
    free(part.bytes);
}
