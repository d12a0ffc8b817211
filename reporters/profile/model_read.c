/*
 * A model from bytes, which may be anybody's. Runs in the tools.
 *
 * What holds: every index in a profile that comes out is within the capture's tables and the
 * profile's own, and what is to be in order is, so whoever uses it need not check again.
 */
#include "base/memory.h"
#include "capture/cursor.h"
#include "capture/model_bytes.h"
#include "memtrack/protocol.h"
#include "profile/model.h"
#include "profile/model_parts.h"

#include <stdlib.h>
#include <string.h>

static const char does_not_fit[] = "model that does not fit its capture";

/* What is in the parts, before it is checked. Arrays are given back with free(). */
struct reading {
    const struct capture *capture;
    bool has_intervals;
    void *items[MODEL_PART_COUNT]; /* NULL: no such part yet */
    uint64_t counts[MODEL_PART_COUNT];
};

/* Items are indexed by 32 bits, but intervals. */
static uint64_t most_items(uint64_t kind)
{
    return kind == MODEL_INTERVALS ? UINT64_MAX : UINT32_MAX;
}

/* Take all parts that are known. Returns why they are refused, NULL when they are not. */
static const char *take_parts(struct reading *reading, struct cursor cursor)
{
    while (cursor.left_bytes > 0) {
        struct cursor part;
        uint64_t kind;

        if (!cursor_varint(&cursor, &kind) || !cursor_part(&cursor, &part))
            return "model cut off";
        if (kind >= MODEL_PART_COUNT || model_parts[kind].columns == NULL ||
            (kind == MODEL_INTERVALS && !reading->has_intervals))
            continue;
        if (reading->items[kind] != NULL)
            return "model with a part twice";
        if (!columns_take(&part, most_items(kind), model_parts[kind].item_bytes,
                          model_parts[kind].columns, model_parts[kind].column_count,
                          &reading->items[kind], &reading->counts[kind]))
            return "model with a part that is not right";
    }
    return NULL;
}

/* A model of a later version may say something in another part. */
static bool has_all_parts(const struct reading *reading)
{
    for (unsigned kind = MODEL_TOTALS; kind < MODEL_PART_COUNT; kind++)
        if (reading->items[kind] == NULL && kind != MODEL_LATE && kind != MODEL_ALLOCATIONS &&
            (kind != MODEL_INTERVALS || reading->has_intervals))
            return false;
    return true;
}

static bool have_counts(const struct reading *reading)
{
    const uint64_t *counts = reading->counts;
    const struct profile *totals = reading->items[MODEL_TOTALS];

    return counts[MODEL_TOTALS] == 1 &&
           counts[MODEL_PROCESSES] == reading->capture->process_count &&
           counts[MODEL_THREADS] == reading->capture->thread_count &&
           counts[MODEL_SIZES] == PROFILE_SIZE_CLASSES && counts[MODEL_SAMPLES] > 0 &&
           counts[MODEL_SAMPLES] <= PROFILE_BUCKETS &&
           totals->peak_sample < counts[MODEL_SAMPLES] && counts[MODEL_LATE] <= 1;
}

static bool are_rows_right(const struct reading *reading)
{
    const struct profile_row *rows = reading->items[MODEL_ROWS];

    for (uint64_t i = 0; i < reading->counts[MODEL_ROWS]; i++)
        if (rows[i].stack >= reading->capture->stack_count || rows[i].stream == 0 ||
            rows[i].stream > reading->capture->thread_count)
            return false;
    return true;
}

static bool are_failures_right(const struct reading *reading)
{
    const struct profile_failure *failures = reading->items[MODEL_FAILURES];

    for (uint64_t i = 0; i < reading->counts[MODEL_FAILURES]; i++)
        if (failures[i].stack >= reading->capture->stack_count || failures[i].stream == 0 ||
            failures[i].stream > reading->capture->thread_count)
            return false;
    return true;
}

static bool are_allocators_right(const struct reading *reading)
{
    const struct profile_allocator *allocators = reading->items[MODEL_ALLOCATORS];
    const struct profile_pool *pools = reading->items[MODEL_POOLS];
    unsigned next = 0;

    for (uint64_t i = 0; i < reading->counts[MODEL_ALLOCATORS]; i++) {
        if (allocators[i].allocator < next)
            return false;
        next = allocators[i].allocator + 1u;
    }
    next = 0;
    for (uint64_t i = 0; i < reading->counts[MODEL_POOLS]; i++) {
        if (pools[i].allocator < next)
            return false;
        next = pools[i].allocator + 1u;
    }
    return true;
}

_Static_assert(ALLOCATOR_COUNT > UINT8_MAX, "every byte is the number of an allocator");

static bool are_samples_right(const struct reading *reading)
{
    const struct profile_sample *samples = reading->items[MODEL_SAMPLES];

    for (uint64_t i = 1; i < reading->counts[MODEL_SAMPLES]; i++)
        if (samples[i].time_ns < samples[i - 1].time_ns)
            return false;
    return reading->items[MODEL_ALLOCATIONS] == NULL ||
           reading->counts[MODEL_ALLOCATIONS] == reading->counts[MODEL_SAMPLES];
}

static bool is_in_order(const struct profile_interval *left, const struct profile_interval *right)
{
    if (left->row != right->row)
        return left->row < right->row;
    if (left->from_bucket != right->from_bucket)
        return left->from_bucket < right->from_bucket;
    return left->to_bucket < right->to_bucket;
}

static bool are_intervals_right(const struct reading *reading)
{
    const struct profile_interval *intervals = reading->items[MODEL_INTERVALS];

    for (uint64_t i = 0; i < reading->counts[MODEL_INTERVALS]; i++) {
        const struct profile_interval *interval = &intervals[i];

        if (interval->row >= reading->counts[MODEL_ROWS] ||
            interval->from_bucket >= reading->counts[MODEL_SAMPLES] ||
            interval->to_bucket <= interval->from_bucket ||
            (interval->to_bucket > reading->counts[MODEL_SAMPLES] &&
             interval->to_bucket != PROFILE_NEVER) ||
            (i > 0 && !is_in_order(&intervals[i - 1], interval)))
            return false;
    }
    return true;
}

/* Of those from outside the number is that of the mark, of others that of the name. */
static bool name_marks(const struct reading *reading)
{
    const struct capture *capture = reading->capture;
    struct profile_mark *marks = reading->items[MODEL_MARKS];

    for (uint64_t i = 0; i < reading->counts[MODEL_MARKS]; i++) {
        struct profile_mark *mark = &marks[i];
        bool is_outside = mark->stream == UINT32_MAX;

        if ((i > 0 && mark->time_ns < marks[i - 1].time_ns) ||
            (is_outside ? mark->name_number >= capture->mark_count
                        : mark->stream >= capture->thread_count) ||
            (mark->process_index >= capture->process_count &&
             !(is_outside && mark->process_index == UINT32_MAX)))
            return false;
        mark->name = is_outside ? capture->marks[mark->name_number].name
                                : capture_mark_name(capture, mark->name_number);
    }
    return true;
}

static bool name_phases(const struct reading *reading)
{
    struct profile_phase *phases = reading->items[MODEL_PHASES];

    for (uint64_t i = 0; i < reading->counts[MODEL_PHASES]; i++) {
        struct profile_phase *phase = &phases[i];

        if ((i > 0 && phase->from_ns < phases[i - 1].from_ns) || phase->to_ns < phase->from_ns ||
            phase->process_index >= reading->capture->process_count ||
            phase->stream >= reading->capture->thread_count)
            return false;
        phase->name = capture_mark_name(reading->capture, phase->name_number);
    }
    return true;
}

static bool is_right(const struct reading *reading)
{
    return have_counts(reading) && are_rows_right(reading) && are_failures_right(reading) &&
           are_allocators_right(reading) && are_samples_right(reading) &&
           are_intervals_right(reading) && name_marks(reading) && name_phases(reading);
}

/* Hand an array over. */
static void *take_items(struct reading *reading, enum model_part_kind kind)
{
    void *items = reading->items[kind];

    reading->items[kind] = NULL;
    return items;
}

static struct profile *make_profile(struct reading *reading)
{
    struct profile *profile = take_items(reading, MODEL_TOTALS);
    const struct model_size *sizes = reading->items[MODEL_SIZES];
    const struct profile *late = reading->items[MODEL_LATE];
    const struct profile_sample *allocations = reading->items[MODEL_ALLOCATIONS];

    if (reading->counts[MODEL_LATE] == 1)
        profile->totals.late_news = late->totals.late_news;
    profile->capture = reading->capture;
    profile->rows = take_items(reading, MODEL_ROWS);
    profile->row_count = (uint32_t)reading->counts[MODEL_ROWS];
    profile->processes = take_items(reading, MODEL_PROCESSES);
    profile->threads = take_items(reading, MODEL_THREADS);
    profile->allocators = take_items(reading, MODEL_ALLOCATORS);
    profile->allocator_count = (uint32_t)reading->counts[MODEL_ALLOCATORS];
    for (unsigned i = 0; i < PROFILE_SIZE_CLASSES; i++) {
        profile->size_allocations[i] = sizes[i].allocations;
        profile->size_bytes[i] = sizes[i].bytes;
    }
    profile->samples = take_items(reading, MODEL_SAMPLES);
    profile->sample_count = (uint32_t)reading->counts[MODEL_SAMPLES];
    for (uint32_t i = 0; allocations != NULL && i < profile->sample_count; i++)
        profile->samples[i].allocations = allocations[i].allocations;
    profile->intervals = take_items(reading, MODEL_INTERVALS);
    profile->interval_count = reading->counts[MODEL_INTERVALS];
    profile->marks = take_items(reading, MODEL_MARKS);
    profile->mark_count = (uint32_t)reading->counts[MODEL_MARKS];
    profile->phases = take_items(reading, MODEL_PHASES);
    profile->phase_count = (uint32_t)reading->counts[MODEL_PHASES];
    profile->pools = take_items(reading, MODEL_POOLS);
    profile->pool_count = (uint32_t)reading->counts[MODEL_POOLS];
    profile->failures = take_items(reading, MODEL_FAILURES);
    profile->failure_count = (uint32_t)reading->counts[MODEL_FAILURES];
    return profile;
}

struct profile *model_read(const struct capture *capture, const uint8_t *bytes, size_t size_bytes,
                           bool has_intervals, const char **ret_fault)
{
    struct reading reading = {.capture = capture, .has_intervals = has_intervals};
    struct profile *profile = NULL;

    *ret_fault = take_parts(&reading, (struct cursor){bytes, size_bytes});
    if (*ret_fault == NULL && has_all_parts(&reading)) {
        if (is_right(&reading))
            profile = make_profile(&reading);
        else
            *ret_fault = does_not_fit;
    }
    for (unsigned kind = 0; kind < MODEL_PART_COUNT; kind++)
        free(reading.items[kind]);
    return profile;
}

struct profile *model_load(const struct capture *capture, bool has_intervals,
                           struct capture_damage *ret_damage)
{
    struct capture_model_bytes stored;
    struct profile *profile = NULL;
    const char *fault;

    if (!capture_model_unpack(capture, &stored, &fault)) {
        if (fault != NULL)
            capture_model_refuse(capture, fault, ret_damage);
        return NULL;
    }
    profile = model_read(capture, stored.bytes, stored.size_bytes, has_intervals, &fault);
    free(stored.bytes);
    if (fault != NULL)
        capture_model_refuse(capture, fault, ret_damage);
    return profile;
}
