/*
 * A part of the time, from the views of the whole run, the samples and the intervals. Runs in the tools.
 */
#include "profile/window_known.h"

#include "profile/profile.h"

#define FIRST_BUCKET_NS UINT64_C(1000000)

/* How long a bucket is: docs/format.md section 6. */
static uint64_t bucket_length_ns(const struct profile *profile)
{
    uint64_t bucket_ns = FIRST_BUCKET_NS;

    while (profile->end_ns / bucket_ns >= PROFILE_BUCKETS)
        bucket_ns *= 2;
    return bucket_ns;
}

/* Return the sample of the bucket in which an instant lies; there is one. */
static uint32_t sample_at(const struct profile *profile, uint64_t time_ns)
{
    uint64_t bucket = time_ns / bucket_length_ns(profile);

    return bucket < profile->sample_count ? (uint32_t)bucket : profile->sample_count - 1;
}

static bool is_from_start(const struct profile_window *window)
{
    return window->from.time_ns == 0 && window->from.mark == 0;
}

static void show_view(struct profile *profile, enum profile_view view)
{
    for (uint32_t i = 0; i < profile->row_count; i++)
        profile->rows[i].costs[VIEW_WINDOW] = profile->rows[i].costs[view];
    profile->standard_errors[VIEW_WINDOW] = profile->standard_errors[view];
    if (view == VIEW_PEAK)
        profile->window.instant_ns = profile->totals.peak_time_ns;
}

/* What is live at the end is what leaks, but for what processes that had ended by then took along. */
static void show_end(struct profile *profile)
{
    const struct capture *capture = profile->capture;

    show_view(profile, VIEW_LEAKS);
    for (uint32_t i = 0; i < profile->row_count; i++) {
        const struct capture_thread *thread = &capture->threads[profile->rows[i].stream - 1];
        uint64_t ended_ns = capture->processes[thread->process_index].ended_ns;

        if (ended_ns > 0 && ended_ns < profile->end_ns)
            profile->rows[i].costs[VIEW_WINDOW] = (struct profile_cost){0, 0};
    }
    profile->window.instant_ns = profile->end_ns;
}

/* Which intervals are shown: those that begin in [first, last], and end after `until`. */
struct choice {
    uint32_t first, last, until;
};

static void show_intervals(struct profile *profile, struct choice choice)
{
    for (uint32_t i = 0; i < profile->row_count; i++)
        profile->rows[i].costs[VIEW_WINDOW] = (struct profile_cost){0, 0};
    for (uint64_t i = 0; i < profile->interval_count; i++) {
        const struct profile_interval *interval = &profile->intervals[i];
        struct profile_cost *cost = &profile->rows[interval->row].costs[VIEW_WINDOW];

        if (interval->from_bucket < choice.first || interval->from_bucket > choice.last ||
            interval->to_bucket <= choice.until)
            continue;
        cost->bytes += interval->bytes;
        cost->allocations += interval->allocations;
    }
    profile->standard_errors[VIEW_WINDOW] = 0;
}

/* Show what is live at a sample. */
static void show_sample(struct profile *profile, uint32_t sample)
{
    show_intervals(profile, (struct choice){0, sample, sample});
    profile->window.instant_ns = profile->samples[sample].time_ns;
}

/* Return the first of the highest samples; first <= last. */
static uint32_t highest_sample(const struct profile *profile, uint32_t first, uint32_t last)
{
    uint32_t highest = first;

    for (uint32_t i = first + 1; i <= last; i++)
        if (profile->samples[i].heap_bytes > profile->samples[highest].heap_bytes)
            highest = i;
    return highest;
}

/*
 * A bucket's sample is the first of its highest instants. So one that lies in the range stands for its
 * bucket; of the two buckets that the range cuts, one whose sample lies outside may have been as high
 * inside, unless that sample is lower than the highest one inside.
 */
static bool show_known_peak(struct profile *profile)
{
    const struct profile_window *window = &profile->window;
    const struct profile_sample *samples = profile->samples;
    uint32_t from, to, first, end, highest;
    bool is_before, is_behind; /* the samples of the buckets that are cut, and the range */

    if (profile->intervals == NULL || window->from.mark != 0 || window->to.mark != 0 ||
        profile->sample_count != profile->end_ns / bucket_length_ns(profile) + 1)
        return false;
    from = sample_at(profile, window->from.time_ns);
    to = sample_at(profile, window->to.time_ns);
    is_before = !is_from_start(window) && samples[from].time_ns <= window->from.time_ns;
    is_behind = samples[to].time_ns > window->to.time_ns;
    first = from + is_before;
    end = to + !is_behind;
    if (first >= end)
        return false;
    highest = highest_sample(profile, first, end - 1);
    if ((is_before && samples[from].heap_bytes >= samples[highest].heap_bytes) ||
        (is_behind && samples[to].heap_bytes > samples[highest].heap_bytes))
        return false;
    show_sample(profile, highest);
    return true;
}

bool window_is_known(struct profile *profile)
{
    const struct profile_window *window = &profile->window;
    bool is_whole = is_from_start(window) && window->to.is_end;
    bool is_sample = capture_is_estimate(profile->capture);

    if (window->has_sums)
        return false;
    switch (window->kind) {
    case WINDOW_ALLOCATED:
        if (is_whole)
            show_view(profile, VIEW_ALLOCATED);
        return is_whole;
    case WINDOW_TEMPORARY:
        if (is_whole)
            show_view(profile, VIEW_TEMPORARY);
        return is_whole;
    case WINDOW_LEAKS:
        if (is_whole)
            show_view(profile, VIEW_LEAKS);
        return is_whole;
    case WINDOW_LIVE:
        if (!is_whole || is_sample)
            return false;
        show_end(profile);
        return true;
    case WINDOW_PEAK:
        if (is_whole)
            show_view(profile, VIEW_PEAK);
        return is_whole || (!is_sample && show_known_peak(profile));
    case WINDOW_NONE:
        break;
    }
    return true;
}

bool window_move_to_samples(struct profile *profile, struct error *err)
{
    struct profile_window *window = &profile->window;
    uint64_t bucket_ns = bucket_length_ns(profile);
    uint32_t first = sample_at(profile, window->from.time_ns);
    uint32_t last = sample_at(profile, window->to.time_ns);
    uint64_t before_ns = first > 0 ? profile->samples[first - 1].time_ns : 0;
    uint64_t end_ns = (last + UINT64_C(1)) * bucket_ns;
    bool is_instant = window->kind == WINDOW_LIVE && is_from_start(window);

    if (window->kind == WINDOW_ALLOCATED || window->kind == WINDOW_TEMPORARY ||
        profile->intervals == NULL) {
        error_set(
            err,
            "%s: has no events: of a range of time it tells what was never released (--leaks), "
            "what was live where it ends (--at=end) and at its highest moment (--at=peak)",
            profile->capture->file);
        return false;
    }
    window->resolution_ns = bucket_ns;
    window->from = (struct profile_bound){.time_ns = first > 0 ? before_ns : 0};
    window->to = (struct profile_bound){.time_ns = profile->samples[last].time_ns};
    if (is_instant) {
        window->from.time_ns = 0;
        show_sample(profile, last);
    } else if (window->kind == WINDOW_PEAK) {
        window->from.time_ns = first * bucket_ns;
        window->to.time_ns = end_ns < profile->end_ns ? end_ns : profile->end_ns;
        show_sample(profile, highest_sample(profile, first, last));
    } else if (window->kind == WINDOW_LIVE) {
        show_intervals(profile, (struct choice){first, last, last});
        window->instant_ns = window->to.time_ns;
    } else {
        show_intervals(profile, (struct choice){first, last, profile->sample_count});
    }
    return true;
}

/* Of the whole run the page has the exact numbers. */
static void show_whole(struct profile *profile)
{
    static const enum profile_view views[] = {
        [WINDOW_NONE] = VIEW_PEAK,           [WINDOW_ALLOCATED] = VIEW_ALLOCATED,
        [WINDOW_TEMPORARY] = VIEW_TEMPORARY, [WINDOW_PEAK] = VIEW_PEAK,
        [WINDOW_LIVE] = VIEW_LEAKS,          [WINDOW_LEAKS] = VIEW_LEAKS,
    };

    show_view(profile, views[profile->window.kind]);
}

void profile_show_samples(struct profile *profile, const struct profile_window *window,
                          uint32_t *ret_from, uint32_t *ret_to)
{
    uint32_t count = profile->sample_count;
    uint32_t first = sample_at(profile, window->from.time_ns);
    uint32_t last = sample_at(profile, window->to.time_ns);
    /* What came or went behind the last sample belongs to the range that reaches the end. */
    uint32_t stop = last + 1 == count ? count : last;

    profile->window = *window;
    if (window->kind == WINDOW_LIVE && is_from_start(window))
        first = last;
    if (window->kind == WINDOW_LIVE && is_from_start(window))
        show_sample(profile, last);
    else if ((first == 0 && last + 1 == count) || window->kind == WINDOW_TEMPORARY)
        show_whole(profile);
    else if (window->kind == WINDOW_PEAK)
        show_sample(profile, highest_sample(profile, first, last));
    else if (window->kind == WINDOW_LIVE)
        show_intervals(profile, (struct choice){first, stop, stop});
    else if (window->kind == WINDOW_LEAKS)
        show_intervals(profile, (struct choice){first, stop, count});
    else
        show_intervals(profile, (struct choice){first, stop, 0});
    *ret_from = first;
    *ret_to = last;
}
