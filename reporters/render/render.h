/*
 * The reports: one file a format, one row in the table each (render_reports in render.c).
 */
#ifndef RENDER_RENDER_H
#define RENDER_RENDER_H

#include "base/error.h"
#include "capture/capture.h"
#include "profile/profile.h"
#include "symbol/frames.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum render_sort {
    SORT_TOTAL = 0,
    SORT_OWN = 1,
    SORT_COUNT = 2,
    SORT_NAME = 3,
};

/* What of the program's source goes into the page. */
enum render_source {
    SOURCE_NONE = 0,
    SOURCE_LINES = 1,   /* the lines that frames are at */
    SOURCE_CONTEXT = 2, /* and those around them */
};

/* What the user asked for; strings are the caller's. */
struct render_options {
    enum profile_view view;
    enum render_sort sort;
    uint64_t temporary_threshold;
    uint32_t rows;                        /* 0: all */
    uint64_t threshold_parts_per_million; /* tree: smaller nodes are folded */
    uint32_t process_number;              /* 0: all */
    uint32_t tid;                         /* 0: all */
    uint32_t width_columns;               /* of the text; never 0 */
    bool is_json, has_color, is_ascii, shows_runtime, is_inverted;
    bool hides_native;                  /* stacks are what they are in Python alone */
    bool shows_pools;                   /* the program's own pools in place of the heap */
    enum render_source source;          /* page */
    uint64_t max_page_bytes;            /* page: of its file */
    bool is_full;                       /* page: nothing is folded, whatever its size */
    bool is_verifying;                  /* info: every event is read */
    uint32_t first_sample, last_sample; /* page, VIEW_WINDOW: of the time that is shown first */
};

struct render_input {
    const struct capture *capture;
    const struct profile *profile; /* NULL for reports that need none (info, dump) */
    struct frames *frames;
    const struct render_options *options;
    /* The caller's: events that are not right, found by a report that reads them itself; or NULL. */
    struct capture_damage *ret_damage;
    /* Where a report that reads the events itself says how far it has come; NULL: nowhere. */
    FILE *progress;
};

/*
 * Write a report: of what is right, when not all is. Returns false with err when it could not be
 * written. Context: tool.
 */
typedef bool render_function(const struct render_input *input, FILE *out, struct error *err);

struct render_report {
    const char *name; /* the command's */
    render_function *run;
    bool needs_profile;
    bool needs_intervals; /* of the profile */
    bool has_range_sums;  /* shows all sums of a range of time */
    bool needs_events;    /* and reads them itself */
    bool is_page;         /* writes a file of its own by default, not to stdout */
    bool reads_first;     /* what it reads itself it reads before it writes anything */
    const char *suffix;   /* page: of the default output's name, ".html" */
};

/* Find a report by the command's name; NULL when there is none. */
const struct render_report *render_find(const char *name);

render_function render_summary, render_table, render_tree, render_stats, render_dump, render_info,
    render_flamegraph, render_timeline;

#endif
