/*
 * What is shown of a part of the time: what was live at an instant, what a range of time brought.
 *
 * An instant is the state after all that has happened up to it; events have the time of their tick
 * (docs/format.md). A range from A to B is what happened after A and up to B, so that ranges which
 * follow each other add up; the beginning is before all events. A mark that the program made itself
 * stands exactly where it was made, between the events.
 */
#ifndef PROFILE_WINDOW_H
#define PROFILE_WINDOW_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct capture;
struct profile;
struct profile_options;

struct profile_cost {
    uint64_t bytes;
    uint64_t allocations;
};

/* One end of a range. A range from 0 on has all that was before. */
struct profile_bound {
    uint64_t time_ns;
    uint64_t mark; /* of the instants that programs have marked themselves, in their order: which
                      one, from 1; 0: the time says it */
    bool is_end;   /* after all events */
};

enum profile_window_kind {
    WINDOW_NONE = 0,
    WINDOW_ALLOCATED = 1, /* all that was allocated in the range */
    WINDOW_TEMPORARY = 2, /* released in the range, as VIEW_TEMPORARY counts */
    WINDOW_PEAK = 3,      /* live when the heap was highest in the range; its begin belongs to it */
    WINDOW_LIVE = 4,      /* allocated in the range, and live where it ends */
    WINDOW_LEAKS = 5,     /* allocated in the range, and never released */
};

struct profile_window {
    enum profile_window_kind kind;
    struct profile_bound from, to;
    bool has_sums; /* struct profile_range is wanted too */
    /* Set where the window is shown: the instant of what is live; 0 for the other kinds. */
    uint64_t instant_ns;
    /* Set likewise: 0: the bounds are as they were asked for. Else there are no events, and the bounds
       have been moved to what is known, one instant in so many nanoseconds. */
    uint64_t resolution_ns;
};

/* What happened in a range. */
struct profile_range {
    bool is_known;
    struct profile_cost begin, end; /* live there */
    struct profile_cost peak;
    uint64_t peak_time_ns;
    struct profile_cost allocated, temporary;
    uint64_t frees;
    struct profile_cost kept;   /* allocated in it, and live where it ends */
    struct profile_cost leaked; /* allocated in it, and never released */
};

/* Return the bound at an instant of a profile; all there is when it is the last. Context: tool. */
struct profile_bound profile_bound_at(const struct profile *profile, uint64_t time_ns);

/*
 * Make a window what VIEW_WINDOW of the rows shows: of what is known where that says it exactly, else
 * by reading the events again. Where a capture has a model and no events, the window becomes one
 * that the samples show exactly.
 * profile: as profile_build() has made it with the same options, with intervals where there may be no
 * events; its other views may be gone then, and its intervals are.
 * Returns false with err when progress gave up, or nothing is known of what is asked for: the profile
 * is of no use then. Context: tool.
 */
bool profile_show_window(struct profile *profile, const struct profile_options *options,
                         const struct profile_window *window, struct error *err);

/*
 * Likewise, but for what the samples can tell, as the page shows it: what was live in the sample of the
 * instant's bucket, or what came between the samples of two. Nothing else of the profile changes.
 * profile: with intervals. ret_from, ret_to: the samples. Context: tool.
 */
void profile_show_samples(struct profile *profile, const struct profile_window *window,
                          uint32_t *ret_from, uint32_t *ret_to);

#endif
