/* Building the model: the events are read once, for all sums. Runs in the tools. */
#include "profile/profile.h"

#include "base/memory.h"
#include "capture/ahead.h"
#include "capture/load.h"
#include "memtrack/protocol.h"
#include "profile/build.h"
#include "profile/estimate.h"
#include "profile/failures.h"
#include "profile/ledger.h"
#include "profile/marks.h"
#include "profile/merge_rows.h"
#include "profile/model.h"
#include "profile/pools.h"
#include "profile/replay.h"
#include "profile/resident.h"

#include <stdlib.h>
#include <string.h>

enum {
    PROGRESS_EVENTS = 1 << 20,
};

/* How far the reading is. */
struct building {
    const struct capture *capture;
    const struct profile_options *options;
    uint64_t done, total, reported;
};

/*
 * The last instant that the time axis has. When every process has ended that is the end of the last
 * one: what the collector did afterwards is not the program's time.
 */
static uint64_t last_instant(const struct capture *capture)
{
    uint64_t ended_ns = 0;

    for (uint32_t i = 0; i < capture->process_count; i++) {
        const struct capture_process *process = &capture->processes[i];

        if (process->is_tracked && process->ended_ns == 0)
            return capture->ended_ns;
        if (process->ended_ns > ended_ns)
            ended_ns = process->ended_ns;
    }
    if (capture->tick_count > 0 && capture->ticks[capture->tick_count - 1].time_ns > ended_ns)
        ended_ns = capture->ticks[capture->tick_count - 1].time_ns;
    return ended_ns;
}

static bool goes_on(struct building *building, uint32_t count)
{
    building->done += count;
    if (building->options->progress == NULL ||
        building->done - building->reported < PROGRESS_EVENTS)
        return true;
    building->reported = building->done;
    return building->options->progress(building->options->progress_user, building->done,
                                       building->total);
}

/* What the programs said themselves, and what failed. */
static void take_words(struct profile *profile, struct replay *replay)
{
    struct marks *marks = replay_marks(replay);
    struct failures *failures = replay_failures(replay);

    profile->marks = marks->marks;
    profile->mark_count = (uint32_t)marks->mark_count;
    profile->phases = marks->phases;
    profile->phase_count = (uint32_t)marks->phase_count;
    profile->failures = failures->items;
    profile->failure_count = (uint32_t)failures->count;
    marks->marks = NULL;
    marks->phases = NULL;
    failures->items = NULL;
    profile->pools = pools_sums(replay_pools(replay), &profile->pool_count);
}

/* Tell all events. Returns false when the user gave up. */
static bool read_events(struct building *building, struct replay *replay,
                        struct capture_damage *ret_damage)
{
    struct capture_ahead *ahead = capture_ahead_open(building->capture);
    const struct event *events;
    bool is_done = true;
    uint32_t count;

    while (is_done && (events = capture_ahead_next(ahead, &count, ret_damage)) != NULL) {
        replay_events(replay, events, count);
        is_done = goes_on(building, count);
    }
    capture_ahead_close(ahead);
    return is_done;
}

static void take_rows(struct profile *profile, const struct row_table *rows)
{
    profile->row_count = rows->count;
    profile->rows = memory_allocate(rows->count, sizeof(*profile->rows));
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->rows[i];

        profile->rows[i] = (struct profile_row){
            .stack = row->stack,
            .stream = row->stream + 1,
            .costs = {[VIEW_PEAK] = {row->peak_bytes, row->peak_blocks},
                      [VIEW_LEAKS] = rows->extras[i].leaks,
                      [VIEW_ALLOCATED] = {row->allocated_bytes, row->allocations},
                      [VIEW_TEMPORARY] = rows->extras[i].temporary},
        };
    }
}

static void take_owners(struct profile *profile, struct ledger *ledger)
{
    const struct capture *capture = ledger->capture;

    for (uint32_t i = 0; i < capture->thread_count; i++)
        ledger->threads[i].peak_bytes = ledger->thread_holdings[i].peak_bytes;
    for (uint32_t i = 0; i < capture->process_count; i++)
        ledger->processes[i].peak_bytes = ledger->process_holdings[i].peak_bytes;
    profile->threads = ledger->threads;
    profile->processes = ledger->processes;
    ledger->threads = ledger->processes = NULL;
    profile->allocators = memory_allocate(ALLOCATOR_COUNT, sizeof(*profile->allocators));
    for (unsigned i = 0; i < ALLOCATOR_COUNT; i++) {
        struct profile_allocator allocator = ledger->allocators[i];

        if (allocator.allocations == 0)
            continue;
        allocator.allocator = (uint8_t)i;
        allocator.peak_bytes = ledger->allocator_holdings[i].peak_bytes;
        profile->allocators[profile->allocator_count++] = allocator;
    }
}

/* The samples; one of them stands at the peak, since a bucket's sample is its highest instant. */
static void take_timeline(struct profile *profile, struct timeline *timeline)
{
    profile->samples = timeline->samples;
    profile->sample_count = timeline->bucket_count;
    timeline->samples = NULL;
    for (uint32_t i = 0; i < profile->sample_count; i++)
        if (profile->samples[i].heap_bytes > profile->samples[profile->peak_sample].heap_bytes)
            profile->peak_sample = i;
}

/* Events that were lost and that only the process could count: no ring was there for them. */
static uint64_t count_lost_unseen(const struct capture *capture,
                                  const struct profile_options *options)
{
    uint64_t lost = 0;

    for (uint32_t i = 0; i < capture->process_count; i++)
        if (options->tid == 0 && (options->process_number == 0 ||
                                  capture->processes[i].number == options->process_number))
            lost += capture->processes[i].counters[COUNTER_LOST];
    return lost;
}

/*
 * What a thread has allocated in between is not in a sample. Of one that began in the midst, and was read
 * along, something has been told until then.
 */
static void forget_temporary(struct profile *profile)
{
    profile->totals.temporary_allocations = 0;
    for (uint32_t i = 0; i < profile->row_count; i++)
        profile->rows[i].costs[VIEW_TEMPORARY] = (struct profile_cost){0, 0};
}

static void take_ledger(struct profile *profile, struct ledger *ledger,
                        const struct profile_options *options)
{
    profile->totals = ledger->totals;
    profile->totals.reserved_peak_bytes = ledger->reserved.peak_bytes;
    profile->totals.mapped_file_peak_bytes = ledger->mapped_file.peak_bytes;
    profile->totals.lost_events += count_lost_unseen(ledger->capture, options);
    profile->totals.late_news += ledger->capture->late_count;
    resident_fill(ledger->capture, options->process_number, &ledger->timeline, ledger->processes,
                  &profile->totals.peak_rss_bytes);
    take_rows(profile, &ledger->rows);
    take_owners(profile, ledger);
    take_timeline(profile, &ledger->timeline);
    if (options->has_intervals)
        profile->intervals = intervals_take(&ledger->intervals, &profile->interval_count);
    memcpy(profile->size_allocations, ledger->size_allocations, sizeof(ledger->size_allocations));
    memcpy(profile->size_bytes, ledger->size_bytes, sizeof(ledger->size_bytes));
    memcpy(profile->lifetimes, ledger->lifetimes, sizeof(ledger->lifetimes));
    for (unsigned view = 0; view < VIEW_COUNT; view++)
        profile->standard_errors[view] =
            estimate_standard_error(estimate_unit_bytes(ledger->capture), ledger->variances[view]);
    if (capture_is_estimate(ledger->capture))
        forget_temporary(profile);
    merge_rows_of_levels(profile);
}

void build_finish(struct profile *profile, const struct profile_options *options,
                  struct replay *replay, struct ledger *ledger)
{
    profile->end_ns = last_instant(profile->capture);
    replay_end(replay, profile->end_ns);
    ledger_close(ledger);
    take_words(profile, replay);
    take_ledger(profile, ledger, options);
}

/* What the programs have said by now, and what has failed. */
static void copy_words(struct profile *profile, struct replay *replay, struct ledger *ledger)
{
    const struct failures *failures = replay_failures(replay);
    struct marks marks = marks_so_far(replay_marks(replay), ledger);

    profile->marks = marks.marks;
    profile->mark_count = (uint32_t)marks.mark_count;
    profile->phases = marks.phases;
    profile->phase_count = (uint32_t)marks.phase_count;
    profile->failures = memory_copy(failures->items, failures->count, sizeof(*failures->items));
    profile->failure_count = (uint32_t)failures->count;
    profile->pools = pools_sums(replay_pools(replay), &profile->pool_count);
}

void build_so_far(struct profile *profile, const struct profile_options *options,
                  struct replay *replay, struct ledger *ledger)
{
    struct ledger copy = ledger_copy(ledger);

    profile->end_ns = copy.now_ns;
    replay_end_copy(replay, &copy);
    ledger_close(&copy);
    copy_words(profile, replay, ledger);
    take_ledger(profile, &copy, options);
    ledger_finish(&copy);
}

/* Returns NULL when the user gave up. */
static struct profile *read_profile(const struct capture *capture,
                                    const struct profile_options *options)
{
    struct building building = {capture, options, 0, capture->event_record_count, 0};
    struct profile *profile = memory_allocate(1, sizeof(*profile));
    struct ledger *ledger = memory_allocate(1, sizeof(*ledger));
    struct replay *replay;
    bool is_done;

    profile->capture = capture;
    ledger_init(ledger, capture, options->has_intervals);
    replay = replay_open(capture, options, ledger);
    is_done = read_events(&building, replay, &profile->damage);
    if (is_done)
        build_finish(profile, options, replay, ledger);
    replay_close(replay);
    ledger_finish(ledger);
    free(ledger);
    if (is_done)
        return profile;
    profile_destroy(profile);
    return NULL;
}

/* Of an aggregated capture there is the model, or nothing. */
static void lack_model(const struct capture *capture, struct profile *profile)
{
    capture_damage_set(&profile->damage, capture->file, capture->file_bytes,
                       "aggregated capture without its model", "nothing can be reported of it");
}

struct profile *profile_build(const struct capture *capture, const struct profile_options *options)
{
    struct capture_damage damage = {0};
    struct profile *profile = NULL;

    if (model_is_for(options))
        profile = model_load(capture, options->has_intervals, &damage);
    if (profile == NULL) {
        profile = read_profile(capture, options);
        if (profile != NULL && !profile->damage.is_damaged)
            profile->damage = damage;
        if (profile != NULL && capture->is_aggregated)
            lack_model(capture, profile);
    }
    return profile;
}

bool profile_is_stored(const struct profile_options *options)
{
    return model_is_for(options);
}

void profile_destroy(struct profile *profile)
{
    if (profile == NULL)
        return;
    free(profile->rows);
    free(profile->allocators);
    free(profile->processes);
    free(profile->threads);
    free(profile->samples);
    free(profile->intervals);
    free(profile->failures);
    free(profile->marks);
    free(profile->phases);
    free(profile->pools);
    free(profile);
}
