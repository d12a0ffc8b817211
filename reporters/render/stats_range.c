/*
 * What `memtrack stats --range` says of the range as a whole: text and JSON. Runs in the tools.
 */
#include "print/numbers.h"
#include "print/units.h"
#include "print/wrap.h"
#include "render/stats.h"

enum {
    TITLE_COLUMNS = 13,
};

static void add_cost(struct wrap_line *line, const char *name, const struct profile_cost *cost)
{
    wrap_add(line, "   ", "%s %s in %s", name, units_format_size(cost->bytes, 0).text,
             numbers_format_count(cost->allocations).text);
}

void stats_write_range(const struct render_input *input, FILE *out)
{
    const struct profile_range *range = &input->profile->range;
    const struct profile_window *window = &input->profile->window;
    struct wrap_line line;

    if (!range->is_known)
        return;
    wrap_begin(&line, out, input->options->width_columns, "range        ", TITLE_COLUMNS);
    wrap_add(&line, "", "%s to %s", units_format_time(window->from.time_ns, 0).text,
             units_format_time(window->to.time_ns, 0).text);
    add_cost(&line, "allocated", &range->allocated);
    wrap_add(&line, "   ", "freed %s", numbers_format_count(range->frees).text);
    add_cost(&line, "kept", &range->kept);
    add_cost(&line, "never released", &range->leaked);
    wrap_add(&line, "   ", "heap %s to %s", units_format_size(range->begin.bytes, 0).text,
             units_format_size(range->end.bytes, 0).text);
    wrap_add(&line, "   ", "peak %s at %s", units_format_size(range->peak.bytes, 0).text,
             units_format_time(range->peak_time_ns, 0).text);
    wrap_end(&line);
}

static void write_cost_json(struct json_writer *json, const char *bytes_key, const char *count_key,
                            const struct profile_cost *cost)
{
    json_write_number(json, bytes_key, cost->bytes);
    json_write_number(json, count_key, cost->allocations);
}

void stats_write_range_json(struct json_writer *json, const struct render_input *input)
{
    const struct profile_range *range = &input->profile->range;
    const struct profile_window *window = &input->profile->window;

    if (!range->is_known) {
        json_write_null(json, "range");
        return;
    }
    json_write_open_object(json, "range");
    json_write_number(json, "from_ns", window->from.time_ns);
    json_write_number(json, "to_ns", window->to.time_ns);
    json_write_number(json, "allocations", range->allocated.allocations);
    json_write_number(json, "frees", range->frees);
    json_write_number(json, "allocated_bytes", range->allocated.bytes);
    if (capture_is_estimate(input->capture))
        json_write_null(json, "temporary_allocations");
    else
        json_write_number(json, "temporary_allocations", range->temporary.allocations);
    write_cost_json(json, "begin_bytes", "begin_allocations", &range->begin);
    write_cost_json(json, "end_bytes", "end_allocations", &range->end);
    write_cost_json(json, "peak_bytes", "peak_allocations", &range->peak);
    json_write_number(json, "peak_time_ns", range->peak_time_ns);
    write_cost_json(json, "kept_bytes", "kept_allocations", &range->kept);
    write_cost_json(json, "leaked_bytes", "leaked_allocations", &range->leaked);
    json_write_close(json);
}
