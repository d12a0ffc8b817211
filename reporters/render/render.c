/*
 * The table of reports. A report is found by its command's name and knows nothing of the others.
 */
#include "render/render.h"

#include <stddef.h>
#include <string.h>

static const struct render_report reports[] = {
    {.name = "summary", .run = render_summary, .needs_profile = true},
    {.name = "table", .run = render_table, .needs_profile = true},
    {.name = "tree", .run = render_tree, .needs_profile = true},
    {.name = "stats", .run = render_stats, .needs_profile = true, .has_range_sums = true},
    {.name = "timeline", .run = render_timeline, .needs_profile = true, .needs_intervals = true},
    {.name = "dump", .run = render_dump, .needs_events = true},
    {.name = "info", .run = render_info, .reads_first = true},
    {.name = "flamegraph",
     .run = render_flamegraph,
     .needs_profile = true,
     .needs_intervals = true,
     .is_page = true,
     .suffix = ".html"},
};

const struct render_report *render_find(const char *name)
{
    for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
        if (strcmp(reports[i].name, name) == 0)
            return &reports[i];
    }
    return NULL;
}
