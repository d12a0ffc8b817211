/*
 * What every report in JSON begins with: schema, report, capture, view. Runs in the tools.
 */
#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "render/parts.h"
#include "report/health.h"
#include "report/labels.h"

enum {
    JSON_SCHEMA = 1, /* fields are added without a new number */
};

static void write_texts(struct json_writer *json, const char *key, const char *const *texts,
                        uint32_t count)
{
    json_write_open_array(json, key);
    for (uint32_t i = 0; i < count; i++)
        json_write_text(json, NULL, texts[i]);
    json_write_close(json);
}

static void write_python(struct json_writer *json, const struct capture *capture,
                         struct memory_pool *pool)
{
    const struct capture_process *python = label_python_process(capture);

    if (python == NULL) {
        json_write_null(json, "python");
        return;
    }
    json_write_open_object(json, "python");
    json_write_text(json, "version", label_python_version(pool, python));
    json_write_bool(json, "free_threaded", python->is_free_threaded);
    json_write_name(json, "allocator", python->python_allocator);
    json_write_close(json);
}

static void write_program(struct json_writer *json, const struct capture *capture)
{
    const struct capture_session *session = &capture->session;
    uint32_t count = session->argument_count;

    json_write_text(json, "file", capture->file);
    json_write_name(json, "program", count > 0 ? session->arguments[0] : NULL);
    write_texts(json, "arguments", count > 0 ? session->arguments + 1 : NULL,
                count > 0 ? count - 1 : 0);
    if (capture->process_count > 0)
        json_write_number(json, "pid", capture->processes[0].pid);
    else
        json_write_null(json, "pid");
    json_write_name(json, "host", session->host);
    json_write_number_or_null(json, "started_unix_ns", session->realtime_ns);
    json_write_number(json, "duration_ns", capture->ended_ns);
}

/* When events were recorded. */
static void write_recorded(struct json_writer *json, const struct capture *capture)
{
    static const struct capture_state_change from_the_start = {.state = POOL_RECORDING};
    bool is_whole = capture->state_count == 0 || capture->states[0].time_ns > 0;

    json_write_open_array(json, "recorded");
    for (uint32_t i = is_whole ? 0 : 1; i <= capture->state_count; i++) {
        const struct capture_state_change *change =
            i == 0 ? &from_the_start : &capture->states[i - 1];

        if (change->state != POOL_RECORDING)
            continue;
        json_write_open_object(json, NULL);
        json_write_number(json, "from_ns", change->time_ns);
        json_write_number(json, "to_ns",
                          i < capture->state_count ? capture->states[i].time_ns
                                                   : capture->ended_ns);
        json_write_close(json);
    }
    json_write_close(json);
}

static const char *mode_of(const struct capture *capture)
{
    if (capture->is_aggregated)
        return "aggregate";
    if (capture->session.sample_bytes > 0)
        return "sampled";
    return capture->sampling_count > 0 ? "degraded" : "full";
}

/* From when on blocks were sampled, to keep a budget. */
static void write_samplings(struct json_writer *json, const struct capture *capture)
{
    json_write_open_array(json, "samplings");
    for (uint32_t i = 0; i < capture->sampling_count; i++) {
        const struct capture_sampling *sampling = &capture->samplings[i];

        json_write_open_object(json, NULL);
        json_write_number(json, "from_ns", sampling->time_ns);
        json_write_number(json, "sample_bytes", SAMPLE_LEVEL_BYTES(sampling->level));
        json_write_text(json, "budget",
                        sampling->cause == SAMPLING_MAX_FILE ? "max-file" : "max-overhead");
        json_write_close(json);
    }
    json_write_close(json);
}

static void write_capture(struct json_writer *json, const struct render_input *input)
{
    const struct capture *capture = input->capture;
    const struct capture_session *session = &capture->session;
    struct memory_pool pool = {.newest = NULL};
    struct health health = health_collect(capture, input->profile, &pool);

    json_write_open_object(json, "capture");
    write_program(json, capture);
    json_write_text(json, "state", label_state(capture->state));
    json_write_text(json, "mode", mode_of(capture));
    json_write_number_or_null(json, "sample_bytes", session->sample_bytes);
    write_samplings(json, capture);
    json_write_number_or_null(json, "max_file_bytes", session->max_file_bytes);
    json_write_number_or_null(json, "max_overhead_ppm", session->max_overhead_ppm);
    json_write_number_or_null(json, "min_size", session->min_size);
    json_write_bool(json, "native", (session->options & POOL_OPTION_NATIVE) != 0);
    json_write_bool(json, "python_allocators", label_has_python_allocators(capture));
    write_python(json, capture, &pool);
    json_write_name(json, "architecture", session->machine);
    json_write_number_or_null(json, "page_bytes", session->page_bytes);
    write_recorded(json, capture);
    json_write_name(json, "memtrack_version", session->version);
    write_texts(json, "warnings", health.warnings, (uint32_t)health.count);
    json_write_close(json);
    memory_pool_finish(&pool);
}

static void write_filters(struct json_writer *json, const struct render_input *input)
{
    const struct render_options *options = input->options;
    char text[32];

    json_write_open_array(json, "filters");
    if (options->shows_pools)
        json_write_text(json, NULL, "pools");
    if (options->process_number > 0) {
        snprintf(text, sizeof(text), "process %u", parts_filter_pid(input));
        json_write_text(json, NULL, text);
    }
    if (options->tid > 0) {
        snprintf(text, sizeof(text), "thread %u", options->tid);
        json_write_text(json, NULL, text);
    }
    json_write_close(json);
}

/* What is shown, and of which time. */
static void write_what(struct json_writer *json, const struct profile *profile,
                       enum profile_view view)
{
    static const char *const names[VIEW_WHOLE_COUNT] = {
        [VIEW_PEAK] = "peak",
        [VIEW_LEAKS] = "leaks",
        [VIEW_ALLOCATED] = "allocated",
        [VIEW_TEMPORARY] = "temporary",
    };
    static const char *const window_names[] = {
        [WINDOW_NONE] = "",     [WINDOW_ALLOCATED] = "range", [WINDOW_TEMPORARY] = "temporary",
        [WINDOW_PEAK] = "peak", [WINDOW_LIVE] = "at",         [WINDOW_LEAKS] = "leaks",
    };
    const struct profile_window *window = &profile->window;
    bool is_window = view == VIEW_WINDOW;
    bool is_peak = view == VIEW_PEAK;
    bool is_instant =
        is_peak || (is_window && (window->kind == WINDOW_PEAK || window->kind == WINDOW_LIVE));
    uint64_t peak_ns = profile->totals.peak_time_ns;

    json_write_text(json, "what", is_window ? window_names[window->kind] : names[view]);
    json_write_number(json, "from_ns", is_window ? window->from.time_ns : 0);
    json_write_number(json, "to_ns",
                      is_window ? window->to.time_ns
                      : is_peak ? peak_ns
                                : profile->end_ns);
    if (is_instant)
        json_write_number(json, "instant_ns", is_window ? window->instant_ns : peak_ns);
    else
        json_write_null(json, "instant_ns");
    json_write_number_or_null(json, "resolution_ns", is_window ? window->resolution_ns : 0);
}

static void write_view(struct json_writer *json, const struct render_input *input)
{
    const struct profile *profile = input->profile;
    enum profile_view view = input->options->view;
    struct profile_cost cost = parts_view_cost(profile, view);

    json_write_open_object(json, "view");
    write_what(json, profile, view);
    write_filters(json, input);
    json_write_number(json, "bytes", cost.bytes);
    json_write_number(json, "allocations", cost.allocations);
    if (capture_is_estimate(input->capture))
        json_write_number(json, "standard_error_bytes", profile->standard_errors[view]);
    else
        json_write_null(json, "standard_error_bytes");
    json_write_close(json);
}

void parts_open_json(struct json_writer *json, const struct render_input *input, const char *report)
{
    json_write_open_object(json, NULL);
    json_write_number(json, "schema", JSON_SCHEMA);
    json_write_text(json, "report", report);
    write_capture(json, input);
    if (input->profile != NULL)
        write_view(json, input);
}
