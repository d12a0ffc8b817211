/*
 * `memtrack stats --json`. Runs in the tools.
 */
#include "memtrack/format.h"
#include "render/native_parts.h"
#include "render/parts.h"
#include "render/stats.h"
#include "report/labels.h"

static void write_totals(struct json_writer *json, const struct render_input *input)
{
    const struct profile_totals *totals = &input->profile->totals;

    json_write_open_object(json, "totals");
    json_write_number(json, "allocations", totals->allocations);
    json_write_number(json, "frees", totals->frees);
    json_write_number(json, "allocated_bytes", totals->allocated_bytes);
    json_write_number(json, "peak_bytes", totals->peak_bytes);
    json_write_number(json, "peak_allocations", totals->peak_allocations);
    json_write_number(json, "peak_time_ns", totals->peak_time_ns);
    json_write_number(json, "leaked_bytes", totals->leaked_bytes);
    json_write_number(json, "leaked_allocations", totals->leaked_allocations);
    json_write_number_or_null(json, "peak_rss_bytes", totals->peak_rss_bytes);
    json_write_number(json, "reserved_peak_bytes", totals->reserved_peak_bytes);
    json_write_number(json, "mapped_file_peak_bytes", totals->mapped_file_peak_bytes);
    json_write_number(json, "unknown_frees", totals->unknown_frees);
    json_write_number(json, "order_violations", totals->order_violations);
    json_write_number(json, "lost_events", totals->lost_events);
    /* What a thread has allocated in between is not in a sample. */
    if (capture_is_estimate(input->capture))
        json_write_null(json, "temporary_allocations");
    else
        json_write_number(json, "temporary_allocations", totals->temporary_allocations);
    json_write_number(json, "failed_allocations", totals->failed_allocations);
    json_write_close(json);
}

static void write_allocators(struct json_writer *json, const struct profile *profile)
{
    json_write_open_rows(json, "allocators");
    for (uint32_t i = 0; i < profile->allocator_count; i++) {
        const struct profile_allocator *allocator = &profile->allocators[i];

        json_write_open_object(json, NULL);
        json_write_text(json, "allocator", label_allocator(profile->capture, allocator->allocator));
        json_write_number(json, "allocations", allocator->allocations);
        json_write_number(json, "allocated_bytes", allocator->allocated_bytes);
        json_write_number(json, "peak_bytes", allocator->peak_bytes);
        json_write_close(json);
    }
    json_write_close(json);
}

/* Class i holds the sizes of i bits; classes without allocations are left out. */
static void write_sizes(struct json_writer *json, const struct profile *profile)
{
    json_write_open_rows(json, "sizes");
    for (unsigned i = 0; i < PROFILE_SIZE_CLASSES; i++) {
        uint64_t low = i == 0 ? 0 : UINT64_C(1) << (i - 1);

        if (profile->size_allocations[i] == 0)
            continue;
        json_write_open_object(json, NULL);
        json_write_number(json, "low_bytes", low);
        json_write_number(json, "high_bytes", i == 0 ? 0 : low + (low - 1));
        json_write_number(json, "allocations", profile->size_allocations[i]);
        json_write_number(json, "allocated_bytes", profile->size_bytes[i]);
        json_write_close(json);
    }
    json_write_close(json);
}

static void write_lifetimes(struct json_writer *json, const struct profile *profile)
{
    static const uint64_t below_ns[PROFILE_LIFETIMES] = {1000000, 10000000, 100000000, 1000000000};

    json_write_open_rows(json, "lifetimes");
    for (unsigned i = 0; i < PROFILE_LIFETIMES; i++) {
        json_write_open_object(json, NULL);
        json_write_number_or_null(json, "below_ns", below_ns[i]);
        json_write_bool(json, "is_released", i < PROFILE_LIFETIMES - 1);
        json_write_number(json, "allocations", profile->lifetimes[i]);
        json_write_close(json);
    }
    json_write_close(json);
}

static void write_largest(struct json_writer *json, const char *key,
                          const struct render_input *input, struct paths *paths,
                          enum rows_sort sort)
{
    struct rows rows =
        rows_collect(paths, input->profile, input->options->view, ROWS_BY_LOCATION, sort);
    size_t limit = parts_row_limit(input->options, rows.count);

    json_write_open_rows(json, key);
    for (size_t i = 0; i < limit; i++) {
        const struct frame *frame = frames_get(input->frames, rows.rows[i].frame);

        json_write_open_object(json, NULL);
        json_write_text(json, "function", frame->function);
        json_write_name(json, "file", frame->file);
        json_write_number_or_null(json, "line", frame->line);
        json_write_number(json, "bytes", rows.rows[i].cost.bytes);
        json_write_number(json, "allocations", rows.rows[i].cost.allocations);
        json_write_close(json);
    }
    json_write_close(json);
    rows_finish(&rows);
}

/* An image that an exec brought is an entry of its own with the same pid. */
static void write_exit(struct json_writer *json, const struct capture_process *process,
                       struct memory_pool *pool)
{
    if (process->end != END_CODE && process->end != END_SIGNAL && process->end != END_EXEC) {
        json_write_null(json, "exit");
        return;
    }
    json_write_open_object(json, "exit");
    if (process->end == END_CODE)
        json_write_signed(json, "code", process->end_code);
    else if (process->end == END_SIGNAL)
        json_write_text(json, "signal", label_signal(pool, process->end_code));
    else
        json_write_number(json, "exec", process->pid);
    json_write_close(json);
}

static void write_processes(struct json_writer *json, const struct render_input *input)
{
    const struct capture *capture = input->capture;
    struct memory_pool pool = {.newest = NULL};

    json_write_open_rows(json, "processes");
    for (uint32_t i = 0; i < capture->process_count; i++) {
        const struct capture_process *process = &capture->processes[i];
        const struct profile_owner *owner = &input->profile->processes[i];
        uint32_t parent = capture_process_index(capture, process->parent_number);

        json_write_open_object(json, NULL);
        json_write_number(json, "pid", process->pid);
        json_write_number_or_null(json, "parent_pid",
                                  parent < capture->process_count ? capture->processes[parent].pid
                                                                  : 0);
        json_write_text(json, "command", label_command(&pool, process->arguments));
        json_write_number(json, "started_ns", process->started_ns);
        json_write_number_or_null(json, "ended_ns", process->ended_ns);
        write_exit(json, process, &pool);
        json_write_bool(json, "tracked", process->is_tracked);
        json_write_number(json, "peak_bytes", owner->peak_bytes);
        json_write_number(json, "allocations", owner->allocations);
        json_write_number_or_null(json, "peak_rss_bytes", owner->peak_rss_bytes);
        json_write_close(json);
    }
    json_write_close(json);
    memory_pool_finish(&pool);
}

static void write_threads(struct json_writer *json, const struct render_input *input)
{
    const struct capture *capture = input->capture;

    json_write_open_rows(json, "threads");
    for (uint32_t i = 0; i < capture->thread_count; i++) {
        const struct capture_thread *thread = &capture->threads[i];
        const struct profile_owner *owner = &input->profile->threads[i];

        json_write_open_object(json, NULL);
        json_write_number(json, "pid", capture->processes[thread->process_index].pid);
        json_write_number(json, "tid", thread->tid);
        json_write_name(json, "name", thread->name);
        json_write_number(json, "allocations", owner->allocations);
        json_write_number(json, "allocated_bytes", owner->allocated_bytes);
        json_write_number(json, "peak_bytes", owner->peak_bytes);
        json_write_close(json);
    }
    json_write_close(json);
}

static void write_overhead(struct json_writer *json, const struct capture *capture)
{
    struct stats_overhead overhead = stats_overhead_of(capture);

    json_write_open_object(json, "overhead");
    json_write_number(json, "target_ns", overhead.target_ns);
    json_write_number(json, "wait_ns", overhead.wait_ns);
    json_write_number(json, "waits", overhead.waits);
    json_write_number_or_null(json, "collector_ns", overhead.collector_ns);
    json_write_number(json, "index_ns", capture->summary.model_cpu_ns);
    json_write_number_or_null(json, "target_rss_bytes", overhead.target_rss_bytes);
    json_write_number(json, "capture_bytes", overhead.capture_bytes);
    json_write_hundredths(json, "bytes_per_event", overhead.bytes_per_event_hundredths);
    json_write_close(json);
}

void stats_write_json(const struct render_input *input, FILE *out)
{
    struct paths *paths = parts_paths(input);
    struct json_writer json;

    json_write_init(&json, out);
    parts_open_json(&json, input, "stats");
    write_totals(&json, input);
    write_allocators(&json, input->profile);
    write_sizes(&json, input->profile);
    write_lifetimes(&json, input->profile);
    write_largest(&json, "largest_by_size", input, paths, ROWS_TOTAL);
    write_largest(&json, "largest_by_count", input, paths, ROWS_COUNT);
    write_processes(&json, input);
    write_threads(&json, input);
    write_overhead(&json, input->capture);
    stats_write_words_json(&json, input->profile);
    stats_write_limits_json(&json, input, paths);
    stats_write_range_json(&json, input);
    native_parts_write_json(&json, input);
    json_write_close(&json);
    json_write_finish(&json);
    paths_destroy(paths);
}
