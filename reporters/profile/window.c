/*
 * A part of the time, from the events. Runs in the tools.
 *
 * The events are told once more, to a ledger of their own; at the two bounds it is looked what rows
 * have and have had. What holds: nothing behind the second bound is read, unless it matters who
 * released what was allocated before.
 */
#include "profile/window.h"

#include "base/memory.h"
#include "capture/ahead.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "profile/estimate.h"
#include "profile/ledger.h"
#include "profile/marks.h"
#include "profile/merge_rows.h"
#include "profile/profile.h"
#include "profile/replay.h"
#include "profile/window_known.h"

#include <stdlib.h>

enum {
    PROGRESS_EVENTS = 1 << 20,
};

/* What a row had at the bounds. */
struct window_row {
    struct profile_cost allocated, temporary; /* before the first bound */
    struct profile_cost shown;
};

/* What is being looked at. */
struct look {
    struct profile *profile;
    const struct profile_options *options;
    const struct profile_window *window;
    struct ledger *ledger;
    struct replay *replay;
    struct births births;
    struct window_row *rows;
    size_t row_capacity;
    struct profile_range range;
    uint64_t frees, variance; /* before the first bound; of what is shown */
    uint64_t instant_ns;      /* of what is shown */
    unsigned passed;          /* bounds */
    uint64_t mark_count;      /* that were seen */
    uint64_t done, reported;  /* events */
};

static uint64_t count_frees(const struct ledger *ledger)
{
    uint64_t frees = 0;

    for (uint32_t i = 0; i < ledger->capture->thread_count; i++)
        frees += ledger->threads[i].frees;
    return frees;
}

static struct profile_cost heap_of(const struct ledger *ledger)
{
    return (struct profile_cost){ledger->heap.bytes, ledger->heap.blocks};
}

static struct profile_cost less(struct profile_cost cost, const struct profile_cost *before)
{
    return (struct profile_cost){cost.bytes - before->bytes,
                                 cost.allocations - before->allocations};
}

static void add(struct profile_cost *sum, struct profile_cost cost)
{
    sum->bytes += cost.bytes;
    sum->allocations += cost.allocations;
}

static struct window_row *make_room(struct look *look)
{
    look->rows = memory_grow_zeroed(look->rows, &look->row_capacity, look->ledger->rows.count,
                                    sizeof(*look->rows));
    return look->rows;
}

/* From here on the peak is that of the range: what is there now is the first of its instants. */
static void begin_range(struct look *look)
{
    struct ledger *ledger = look->ledger;
    struct window_row *rows = make_room(look);

    ledger_end_growth(ledger);
    ledger->grown_ns = look->window->from.time_ns;
    ledger_note_peak(ledger);
    for (uint32_t i = 0; i < ledger->rows.count; i++) {
        const struct row *row = &ledger->rows.rows[i];

        rows[i].allocated = (struct profile_cost){row->allocated_bytes, row->allocations};
        rows[i].temporary = ledger->rows.extras[i].temporary;
    }
    look->births.from = replay_birth_bound(look->replay);
    look->frees = count_frees(ledger);
    look->variance = ledger->variances[VIEW_ALLOCATED];
    look->range.begin = heap_of(ledger);
}

struct kept {
    struct look *look;
    uint64_t variance;
};

static void see_kept(void *user, const struct block *block, bool is_range)
{
    struct kept *kept = user;
    struct look *look = kept->look;
    struct ledger *ledger = look->ledger;
    struct profile_cost cost;

    if (!births_has(&look->births, block, ledger->rows.rows[block->row].stream, is_range))
        return;
    cost = ledger_cost(ledger, block);
    add(&look->range.kept, cost);
    kept->variance += ledger_variance(ledger, block);
    if (look->window->kind == WINDOW_LIVE)
        add(&look->rows[block->row].shown, cost);
}

/* What a row shows where the range ends; those of the other kinds come from the blocks. */
static void show_row(struct look *look, uint32_t index)
{
    const struct ledger *ledger = look->ledger;
    const struct row *row = &ledger->rows.rows[index];
    struct window_row *at = &look->rows[index];
    struct profile_cost allocated =
        less((struct profile_cost){row->allocated_bytes, row->allocations}, &at->allocated);
    struct profile_cost temporary = less(ledger->rows.extras[index].temporary, &at->temporary);
    bool is_later = row->generation != ledger->generation; /* see ledger.c */

    add(&look->range.allocated, allocated);
    add(&look->range.temporary, temporary);
    if (look->window->kind == WINDOW_ALLOCATED)
        at->shown = allocated;
    else if (look->window->kind == WINDOW_TEMPORARY)
        at->shown = temporary;
    else if (look->window->kind == WINDOW_PEAK)
        at->shown = (struct profile_cost){is_later ? row->live_bytes : row->peak_bytes,
                                          is_later ? row->live_blocks : row->peak_blocks};
}

static void end_range(struct look *look)
{
    struct ledger *ledger = look->ledger;
    struct kept kept = {.look = look};

    make_room(look);
    ledger_end_growth(ledger);
    for (uint32_t i = 0; i < ledger->rows.count; i++)
        show_row(look, i);
    replay_each_live(look->replay, see_kept, &kept);
    look->births.to = replay_birth_bound(look->replay);
    look->range.frees = count_frees(ledger) - look->frees;
    look->range.end = heap_of(ledger);
    look->range.peak =
        (struct profile_cost){ledger->totals.peak_bytes, ledger->totals.peak_allocations};
    look->range.peak_time_ns = ledger->totals.peak_time_ns;
    if (look->window->kind == WINDOW_PEAK) {
        look->variance = ledger->variances[VIEW_PEAK];
        look->instant_ns = look->range.peak_time_ns;
    } else if (look->window->kind == WINDOW_LIVE) {
        look->variance = kept.variance;
        look->instant_ns = look->window->to.time_ns;
    } else {
        look->variance = ledger->variances[VIEW_ALLOCATED] - look->variance;
    }
}

static const struct profile_bound *next_bound(const struct look *look)
{
    return look->passed == 0 ? &look->window->from : &look->window->to;
}

/* Is the next bound before all events? */
static bool is_at_start(const struct look *look)
{
    return look->passed == 0 && look->window->from.time_ns == 0 && look->window->from.mark == 0;
}

/* Time is at the next bound: go through it. */
static void pass_bound(struct look *look)
{
    const struct profile_bound *bound = next_bound(look);

    if (bound->is_end)
        replay_end_time(look->replay, look->profile->end_ns);
    else if (bound->mark == 0 && !is_at_start(look))
        replay_end_processes(look->replay, bound->time_ns + 1);
    if (is_at_start(look))
        look->births.is_from_start = true;
    else if (look->passed == 0)
        begin_range(look);
    else
        end_range(look);
    look->passed++;
}

/* The last tick up to an instant, as events have it; -1: there is none. */
static int64_t tick_until(const struct capture *capture, uint64_t time_ns)
{
    uint32_t low = 0, high = capture->tick_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (capture->ticks[middle].time_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    /* Ticks that are not in the table have the time of the one before. */
    return low < capture->tick_count ? (int64_t)capture->ticks[low].tick - 1 : UINT32_MAX;
}

static bool is_mark(const struct look *look, const struct event *event)
{
    uint32_t wanted = look->options->process_number;

    return event->op == EVENT_NOTE && event->note == NOTE_MARK && event->mark == MARK_INSTANT &&
           (wanted == 0 ||
            look->profile->capture->processes[event->process_index].number == wanted);
}

/* How many of these events stand before the next bound. */
static uint32_t count_before(struct look *look, const struct event *events, uint32_t count)
{
    const struct profile_bound *bound = next_bound(look);
    int64_t last_tick;

    if (look->passed == 2 || bound->is_end)
        return count;
    if (is_at_start(look))
        return 0;
    last_tick = tick_until(look->profile->capture, bound->time_ns);
    for (uint32_t i = 0; i < count; i++) {
        bool is_at_mark = is_mark(look, &events[i]);

        if (bound->mark != 0 ? is_at_mark && look->mark_count + 1 == bound->mark
                             : events[i].tick > last_tick)
            return i;
        look->mark_count += is_at_mark;
    }
    return count;
}

static bool goes_on(struct look *look, uint32_t count)
{
    const struct profile_options *options = look->options;

    look->done += count;
    if (options->progress == NULL || look->done - look->reported < PROGRESS_EVENTS)
        return true;
    look->reported = look->done;
    return options->progress(options->progress_user, look->done,
                             look->profile->capture->event_record_count);
}

/* Are events behind the range wanted too? */
static bool is_whole_wanted(const struct look *look)
{
    return look->window->kind == WINDOW_LEAKS || look->window->has_sums;
}

static bool wants_more(const struct look *look)
{
    return look->passed < 2 || is_whole_wanted(look);
}

/* Tell the events as far as they are wanted. Returns false when the user gave up. */
static bool tell(struct look *look, struct capture_damage *ret_damage)
{
    struct capture_ahead *ahead = capture_ahead_open(look->profile->capture);
    bool is_done = true;
    const struct event *events;
    uint32_t count;

    while (is_done && wants_more(look) &&
           (events = capture_ahead_next(ahead, &count, ret_damage)) != NULL) {
        uint32_t told = 0;

        while (told < count && wants_more(look)) {
            uint32_t before = count_before(look, events + told, count - told);

            replay_events(look->replay, events + told, before);
            told += before;
            if (told < count)
                pass_bound(look);
        }
        is_done = goes_on(look, count);
    }
    capture_ahead_close(ahead);
    return is_done;
}

/* What was never released is known when all is over. */
static void end_leaks(struct look *look)
{
    struct ledger *ledger = look->ledger;

    replay_end(look->replay, look->profile->end_ns);
    make_room(look);
    look->range.leaked =
        (struct profile_cost){ledger->totals.leaked_bytes, ledger->totals.leaked_allocations};
    if (look->window->kind != WINDOW_LEAKS)
        return;
    look->variance = ledger->variances[VIEW_LEAKS];
    for (uint32_t i = 0; i < ledger->rows.count; i++)
        look->rows[i].shown = ledger->rows.extras[i].leaks;
}

/* The profile shows these rows from now on; what the others say is of other rows. */
static void give_rows(struct look *look)
{
    const struct row_table *rows = &look->ledger->rows;
    struct profile *profile = look->profile;

    free(profile->rows);
    free(profile->intervals);
    profile->intervals = NULL;
    profile->interval_count = 0;
    profile->rows = memory_allocate(rows->count, sizeof(*profile->rows));
    profile->row_count = rows->count;
    for (uint32_t i = 0; i < rows->count; i++)
        profile->rows[i] = (struct profile_row){
            .stack = rows->rows[i].stack,
            .stream = rows->rows[i].stream + 1,
            .costs = {[VIEW_WINDOW] = look->rows[i].shown},
        };
    profile->standard_errors[VIEW_WINDOW] =
        estimate_standard_error(estimate_unit_bytes(profile->capture), look->variance);
    merge_rows_of_levels(profile);
    profile->window.instant_ns = look->instant_ns;
    if (look->window->has_sums) {
        profile->range = look->range;
        profile->range.is_known = true;
    }
}

/* Returns false when the user gave up. */
static bool read_window(struct look *look)
{
    struct profile *profile = look->profile;
    struct capture_damage damage = {0};
    bool is_done = tell(look, &damage);

    while (is_done && look->passed < 2)
        pass_bound(look);
    if (is_done && is_whole_wanted(look))
        end_leaks(look);
    if (is_done)
        give_rows(look);
    if (damage.is_damaged && !profile->damage.is_damaged)
        profile->damage = damage;
    return is_done;
}

bool profile_show_window(struct profile *profile, const struct profile_options *options,
                         const struct profile_window *window, struct error *err)
{
    struct look look = {.profile = profile, .options = options, .window = window};
    bool is_done;

    profile->window = *window;
    if (window_is_known(profile))
        return true;
    if (profile->capture->event_record_count == 0 && profile->totals.allocations > 0)
        return window_move_to_samples(profile, err);
    look.ledger = memory_allocate(1, sizeof(*look.ledger));
    ledger_init(look.ledger, profile->capture, false);
    look.ledger->leaks_born = &look.births;
    look.replay = replay_open(profile->capture, options, look.ledger);
    is_done = read_window(&look);
    replay_close(look.replay);
    ledger_finish(look.ledger);
    free(look.ledger);
    free(look.births.from.ordinals);
    free(look.births.to.ordinals);
    free(look.rows);
    if (!is_done)
        error_set(err, "%s: reading it was given up", profile->capture->file);
    return is_done;
}

struct profile_bound profile_bound_at(const struct profile *profile, uint64_t time_ns)
{
    return (struct profile_bound){
        .time_ns = time_ns,
        .is_end = time_ns >= profile->end_ns,
    };
}
