/*
 * What both forms of `memtrack stats` show: numbers put together from capture and profile.
 */
#ifndef RENDER_STATS_H
#define RENDER_STATS_H

#include "print/json_write.h"
#include "render/render.h"
#include "report/paths.h"

#include <stdint.h>

/* What tracking cost. */
struct stats_overhead {
    uint64_t target_ns; /* slow paths and waits in the program; the fast path is not timed */
    uint64_t wait_ns;   /* of it, waiting for room in a ring */
    uint64_t waits;
    uint64_t collector_ns;     /* CPU */
    uint64_t target_rss_bytes; /* private memory of the tracker, most in one process; 0: not said */
    uint64_t events;           /* records, where the collector did not say */
    uint64_t capture_bytes;
    uint64_t bytes_per_event_hundredths;
};

/* Add up what tracking cost in all processes. Context: tool. */
struct stats_overhead stats_overhead_of(const struct capture *capture);

/* Write the processes, the threads: as many as the user asked for. Context: tool. */
void stats_write_processes(const struct render_input *input, FILE *out);
void stats_write_threads(const struct render_input *input, FILE *out);

/* Write what happened in a range of time, if one was asked for: text and JSON. Context: tool. */
void stats_write_range(const struct render_input *input, FILE *out);
void stats_write_range_json(struct json_writer *json, const struct render_input *input);

/* Write what the program said itself, if anything: its pools, phases, marks. Context: tool. */
void stats_write_pools(const struct render_input *input, FILE *out);
void stats_write_phases(const struct render_input *input, FILE *out);
void stats_write_marks(const struct render_input *input, FILE *out);

/* The same in JSON: an array each. Context: tool. */
void stats_write_words_json(struct json_writer *json, const struct profile *profile);

/* Write the limit that was nearest, and where allocations failed, if there are any. Context: tool. */
void stats_write_limit(const struct render_input *input, FILE *out);
void stats_write_failures(const struct render_input *input, struct paths *paths, FILE *out);

/* The same in JSON: an array each. Context: tool. */
void stats_write_limits_json(struct json_writer *json, const struct render_input *input,
                             struct paths *paths);

/* Write the report in JSON. Context: tool. */
void stats_write_json(const struct render_input *input, FILE *out);

#endif
