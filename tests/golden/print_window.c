/*
 * Says as JSON what the programs show of parts of a capture's time, for comparison with
 * capture_window.py.
 *
 * Usage: print_window CAPTURE PROCESS TID THRESHOLD heap|pools
 * Each line of its input asks for one: kind, 1 for the sums too, then of both ends the time and the
 * mark.
 */
#include "profile/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_cost(const char *name, const struct profile_cost *cost)
{
    printf("\"%s\":[%" PRIu64 ",%" PRIu64 "],", name, cost->bytes, cost->allocations);
}

static void print_range(const struct profile_range *range)
{
    if (!range->is_known)
        return;
    print_cost("begin", &range->begin);
    print_cost("end", &range->end);
    print_cost("peak", &range->peak);
    print_cost("allocated", &range->allocated);
    print_cost("temporary", &range->temporary);
    print_cost("kept", &range->kept);
    print_cost("leaked", &range->leaked);
    printf("\"peak_time_ns\":%" PRIu64 ",\"frees\":%" PRIu64 ",", range->peak_time_ns,
           range->frees);
}

static void print_window(const struct profile *profile)
{
    bool is_first = true;

    printf("{\"rows\":[");
    for (uint32_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *row = &profile->rows[i];
        const struct profile_cost *cost = &row->costs[VIEW_WINDOW];

        if (cost->bytes == 0 && cost->allocations == 0)
            continue;
        printf("%s[%u,%u,%" PRIu64 ",%" PRIu64 "]", is_first ? "" : ",", row->stack, row->stream,
               cost->bytes, cost->allocations);
        is_first = false;
    }
    printf("],");
    print_range(&profile->range);
    if (profile->window.resolution_ns > 0)
        printf("\"moved\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "],", profile->window.resolution_ns,
               profile->window.from.time_ns, profile->window.to.time_ns);
    printf("\"instant_ns\":%" PRIu64 ",\"error\":%" PRIu64 "}\n", profile->window.instant_ns,
           profile->standard_errors[VIEW_WINDOW]);
}

int main(int argc, char **argv)
{
    struct profile_options options = {.has_intervals = true};
    struct capture *capture = argc == 6 ? capture_open(argv[1], NULL, NULL, NULL) : NULL;
    unsigned kind, has_sums;
    uint64_t from_ns, from_mark, to_ns, to_mark;

    if (capture == NULL)
        return 3;
    options.process_number = (uint32_t)strtoul(argv[2], NULL, 10);
    options.tid = (uint32_t)strtoul(argv[3], NULL, 10);
    options.temporary_threshold = strtoull(argv[4], NULL, 10);
    options.shows_pools = strcmp(argv[5], "pools") == 0;
    while (scanf("%u %u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &kind, &has_sums, &from_ns,
                 &from_mark, &to_ns, &to_mark) == 6) {
        struct profile *profile = profile_build(capture, &options);
        struct profile_window window = {
            .kind = (enum profile_window_kind)kind,
            .has_sums = has_sums != 0,
            .from = profile_bound_at(profile, from_ns),
            .to = profile_bound_at(profile, to_ns),
        };

        window.from.mark = from_mark;
        window.to.mark = to_mark;
        window.from.is_end &= from_mark == 0;
        window.to.is_end &= to_mark == 0;
        struct error err;

        if (profile_show_window(profile, &options, &window, &err))
            print_window(profile);
        else
            printf("{\"refused\":true}\n");
        profile_destroy(profile);
    }
    capture_close(capture);
    return 0;
}
