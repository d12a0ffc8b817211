/*
 * What a stored model consists of: the tables of docs/format.md section 6, in its order. Runs in the
 * tools.
 */
#include "profile/model_parts.h"

#define PLAIN(type, field)  COLUMN_OF(struct type, field, COLUMN_PLAIN)
#define CHANGE(type, field) COLUMN_OF(struct type, field, COLUMN_CHANGE)
#define NEXT(type, field)   COLUMN_OF(struct type, field, COLUMN_NEXT)

static const struct column totals[] = {
    PLAIN(profile, totals.allocations),
    PLAIN(profile, totals.frees),
    PLAIN(profile, totals.allocated_bytes),
    PLAIN(profile, totals.peak_bytes),
    PLAIN(profile, totals.peak_allocations),
    PLAIN(profile, totals.peak_time_ns),
    PLAIN(profile, totals.leaked_bytes),
    PLAIN(profile, totals.leaked_allocations),
    PLAIN(profile, totals.temporary_allocations),
    PLAIN(profile, totals.peak_rss_bytes),
    PLAIN(profile, totals.reserved_peak_bytes),
    PLAIN(profile, totals.mapped_file_peak_bytes),
    PLAIN(profile, totals.unknown_frees),
    PLAIN(profile, totals.order_violations),
    PLAIN(profile, totals.lost_events),
    PLAIN(profile, totals.failed_allocations),
    PLAIN(profile, end_ns),
    PLAIN(profile, peak_sample),
    PLAIN(profile, standard_errors[VIEW_PEAK]),
    PLAIN(profile, standard_errors[VIEW_LEAKS]),
    PLAIN(profile, standard_errors[VIEW_ALLOCATED]),
    PLAIN(profile, standard_errors[VIEW_TEMPORARY]),
    PLAIN(profile, lifetimes[0]),
    PLAIN(profile, lifetimes[1]),
    PLAIN(profile, lifetimes[2]),
    PLAIN(profile, lifetimes[3]),
    PLAIN(profile, lifetimes[4]),
    PLAIN(profile, lifetimes[5]),
};
_Static_assert(PROFILE_LIFETIMES == 6 && VIEW_WHOLE_COUNT == 4, "all of them are listed");

static const struct column late[] = {
    PLAIN(profile, totals.late_news),
};

static const struct column rows[] = {
    CHANGE(profile_row, stack),
    CHANGE(profile_row, stream),
    PLAIN(profile_row, costs[VIEW_PEAK].bytes),
    PLAIN(profile_row, costs[VIEW_PEAK].allocations),
    PLAIN(profile_row, costs[VIEW_LEAKS].bytes),
    PLAIN(profile_row, costs[VIEW_LEAKS].allocations),
    PLAIN(profile_row, costs[VIEW_ALLOCATED].bytes),
    PLAIN(profile_row, costs[VIEW_ALLOCATED].allocations),
    PLAIN(profile_row, costs[VIEW_TEMPORARY].bytes),
    PLAIN(profile_row, costs[VIEW_TEMPORARY].allocations),
};

static const struct column owners[] = {
    PLAIN(profile_owner, allocations),     PLAIN(profile_owner, frees),
    PLAIN(profile_owner, allocated_bytes), PLAIN(profile_owner, peak_bytes),
    PLAIN(profile_owner, peak_rss_bytes),
};

static const struct column allocators[] = {
    PLAIN(profile_allocator, allocator),
    PLAIN(profile_allocator, allocations),
    PLAIN(profile_allocator, allocated_bytes),
    PLAIN(profile_allocator, peak_bytes),
};

static const struct column sizes[] = {
    PLAIN(model_size, allocations),
    PLAIN(model_size, bytes),
};

static const struct column samples[] = {
    CHANGE(profile_sample, time_ns),           CHANGE(profile_sample, heap_bytes),
    CHANGE(profile_sample, heap_blocks),       CHANGE(profile_sample, rss_bytes),
    PLAIN(profile_sample, failed_allocations),
};

static const struct column sample_allocations[] = {
    CHANGE(profile_sample, allocations),
};

static const struct column intervals[] = {
    CHANGE(profile_interval, row),        CHANGE(profile_interval, from_bucket),
    NEXT(profile_interval, to_bucket),    PLAIN(profile_interval, bytes),
    PLAIN(profile_interval, allocations),
};

static const struct column marks[] = {
    CHANGE(profile_mark, time_ns),
    PLAIN(profile_mark, name_number),
    NEXT(profile_mark, process_index),
    NEXT(profile_mark, stream),
};

static const struct column phases[] = {
    CHANGE(profile_phase, from_ns),
    CHANGE(profile_phase, to_ns),
    PLAIN(profile_phase, peak_bytes),
    PLAIN(profile_phase, name_number),
    NEXT(profile_phase, process_index),
    NEXT(profile_phase, stream),
    COLUMN_OF(struct profile_phase, has_ended, COLUMN_FLAG),
};

static const struct column pools[] = {
    PLAIN(profile_pool, allocator),
    PLAIN(profile_pool, allocations),
    PLAIN(profile_pool, frees),
    PLAIN(profile_pool, allocated_bytes),
    PLAIN(profile_pool, peak_bytes),
    PLAIN(profile_pool, leaked_bytes),
    PLAIN(profile_pool, leaked_allocations),
};

static const struct column failures[] = {
    PLAIN(profile_failure, stack),     PLAIN(profile_failure, stream),
    PLAIN(profile_failure, count),     PLAIN(profile_failure, largest_bytes),
    CHANGE(profile_failure, first_ns), CHANGE(profile_failure, last_ns),
};

#define PART(columns, type)                                                  \
    {                                                                        \
        columns, sizeof(columns) / sizeof((columns)[0]), sizeof(struct type) \
    }

const struct model_part model_parts[MODEL_PART_COUNT] = {
    [MODEL_TOTALS] = PART(totals, profile),
    [MODEL_ROWS] = PART(rows, profile_row),
    [MODEL_PROCESSES] = PART(owners, profile_owner),
    [MODEL_THREADS] = PART(owners, profile_owner),
    [MODEL_ALLOCATORS] = PART(allocators, profile_allocator),
    [MODEL_SIZES] = PART(sizes, model_size),
    [MODEL_SAMPLES] = PART(samples, profile_sample),
    [MODEL_INTERVALS] = PART(intervals, profile_interval),
    [MODEL_MARKS] = PART(marks, profile_mark),
    [MODEL_PHASES] = PART(phases, profile_phase),
    [MODEL_POOLS] = PART(pools, profile_pool),
    [MODEL_FAILURES] = PART(failures, profile_failure),
    [MODEL_LATE] = PART(late, profile),
    [MODEL_ALLOCATIONS] = PART(sample_allocations, profile_sample),
};
