/*
 * The page's facts: what ran, how it went, the totals, what the reader should be warned of, and
 * what the profiler itself did cost. Runs in the tools.
 *
 * Keys stand in a fixed order, so the same capture gives the same bytes.
 */
#include "render/page_meta.h"

#include "memtrack/protocol.h"
#include "print/json_write.h"
#include "print/text.h"
#include "render/page_limits.h"
#include "render/stats.h"
#include "report/health.h"
#include "report/labels.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_MARKS = 1000, /* and of phases: more cannot be told apart on the page */
};

/* The part of a path behind the last slash. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

char *page_program_name(const struct capture *capture)
{
    const struct capture_session *session = &capture->session;
    const char *name = "memtrack";

    for (uint32_t i = 0; i < session->argument_count; i++) {
        const char *argument = session->arguments[i];

        if (strcmp(argument, "-c") == 0)
            return page_clean_text("python -c");
        if (argument[0] == '-' && argument[1] != '\0')
            continue;
        name = base_name(argument);
        if (strncmp(name, "python", strlen("python")) != 0)
            break;
    }
    return page_clean_text(name);
}

static void write_totals(struct json_writer *json, const struct profile_totals *totals)
{
    json_write_open_object(json, "totals");
    json_write_number(json, "allocations", totals->allocations);
    json_write_number(json, "frees", totals->frees);
    json_write_number(json, "allocatedBytes", totals->allocated_bytes);
    json_write_number(json, "peakBytes", totals->peak_bytes);
    json_write_number(json, "peakAllocations", totals->peak_allocations);
    json_write_number(json, "peakTime", totals->peak_time_ns);
    json_write_number(json, "leakedBytes", totals->leaked_bytes);
    json_write_number(json, "leakedAllocations", totals->leaked_allocations);
    json_write_number(json, "temporaryAllocations", totals->temporary_allocations);
    json_write_number(json, "peakRss", totals->peak_rss_bytes);
    json_write_number(json, "reservedPeakBytes", totals->reserved_peak_bytes);
    json_write_number(json, "mappedFilePeakBytes", totals->mapped_file_peak_bytes);
    json_write_number(json, "failedAllocations", totals->failed_allocations);
    json_write_number(json, "unknownFrees", totals->unknown_frees);
    json_write_number(json, "orderViolations", totals->order_violations);
    json_write_number(json, "lostEvents", totals->lost_events);
    json_write_close(json);
}

static uint64_t counter_sum(const struct capture *capture, enum pool_counter counter)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < capture->process_count; i++)
        sum += capture->processes[i].counters[counter];
    return sum;
}

static void write_warnings(struct json_writer *json, const struct page *page)
{
    struct memory_pool pool = {.newest = NULL};
    struct health health = health_collect(page->input->capture, page->input->profile, &pool);

    json_write_open_array(json, "warnings");
    for (size_t i = 0; i < health.count; i++)
        json_write_text(json, NULL, health.warnings[i]);
    json_write_close(json);
    memory_pool_finish(&pool);
}

static void write_overhead(struct json_writer *json, const struct page *page)
{
    const struct capture *capture = page->input->capture;

    json_write_open_object(json, "overhead");
    json_write_number(json, "slowNs", counter_sum(capture, COUNTER_SLOW_NS));
    json_write_number(json, "waitNs", counter_sum(capture, COUNTER_WAIT_NS));
    json_write_number(json, "targetBytes", stats_overhead_of(capture).target_rss_bytes);
    json_write_number(json, "collectorNs", capture->summary.cpu_ns);
    json_write_number(json, "collectorRss", capture->summary.rss_bytes);
    json_write_number(json, "captureBytes", capture->file_bytes);
    json_write_number(json, "events", stats_overhead_of(capture).events);
    json_write_close(json);
}

static void write_processes(struct json_writer *json, const struct page *page)
{
    const struct capture *capture = page->input->capture;

    json_write_open_array(json, "processes");
    for (uint32_t i = 0; i < capture->process_count; i++) {
        const struct capture_process *process = &capture->processes[i];
        const struct profile_owner *owner = &page->input->profile->processes[i];

        json_write_open_object(json, NULL);
        json_write_number(json, "pid", process->pid);
        json_write_text(json, "name",
                        process->argument_count > 0 ? base_name(process->arguments[0]) : "");
        json_write_text(json, "python", process->python_version);
        json_write_bool(json, "tracked", process->is_tracked);
        json_write_number(json, "allocations", owner->allocations);
        json_write_number(json, "peakBytes", owner->peak_bytes);
        json_write_number(json, "peakRss", owner->peak_rss_bytes);
        json_write_close(json);
    }
    json_write_close(json);
}

static void write_threads(struct json_writer *json, const struct page *page)
{
    const struct capture *capture = page->input->capture;

    json_write_open_array(json, "threads");
    for (uint32_t i = 0; i < capture->thread_count; i++) {
        const struct capture_thread *thread = &capture->threads[i];
        const struct profile_owner *owner = &page->input->profile->threads[i];

        json_write_open_object(json, NULL);
        json_write_number(json, "tid", thread->tid);
        json_write_number(json, "process", thread->process_index);
        json_write_bool(json, "main", thread->is_main);
        json_write_text(json, "name", thread->name);
        json_write_number(json, "allocations", owner->allocations);
        json_write_number(json, "allocatedBytes", owner->allocated_bytes);
        json_write_number(json, "peakBytes", owner->peak_bytes);
        json_write_close(json);
    }
    json_write_close(json);
}

static void write_allocators(struct json_writer *json, const struct page *page)
{
    const struct profile *profile = page->input->profile;

    json_write_open_array(json, "allocators");
    for (uint32_t i = 0; i < profile->allocator_count; i++) {

        json_write_open_object(json, NULL);
        json_write_number(json, "number", profile->allocators[i].allocator);
        json_write_text(json, "name",
                        label_allocator(profile->capture, profile->allocators[i].allocator));
        json_write_number(json, "allocations", profile->allocators[i].allocations);
        json_write_number(json, "allocatedBytes", profile->allocators[i].allocated_bytes);
        json_write_number(json, "peakBytes", profile->allocators[i].peak_bytes);
        json_write_close(json);
    }
    json_write_close(json);
}

/* What the program said itself: [instant, name] and [begin, end, name, highest heap]. */
static void write_words(struct json_writer *json, const struct profile *profile)
{
    json_write_open_array(json, "marks");
    for (uint32_t i = 0; i < profile->mark_count && i < MAX_MARKS; i++) {
        json_write_open_array(json, NULL);
        json_write_number(json, NULL, profile->marks[i].time_ns);
        json_write_text(json, NULL, profile->marks[i].name);
        json_write_close(json);
    }
    json_write_close(json);
    json_write_open_array(json, "phases");
    for (uint32_t i = 0; i < profile->phase_count && i < MAX_MARKS; i++) {
        const struct profile_phase *phase = &profile->phases[i];

        json_write_open_array(json, NULL);
        json_write_number(json, NULL, phase->from_ns);
        json_write_number(json, NULL, phase->to_ns);
        json_write_text(json, NULL, phase->name);
        json_write_number(json, NULL, phase->peak_bytes);
        json_write_close(json);
    }
    json_write_close(json);
}

/* How the data sections are to be read. */
static void write_counts(struct json_writer *json, const struct page *page)
{

    json_write_open_object(json, "counts");
    json_write_number(json, "strings", page->strings->count);
    json_write_number(json, "frames", page->tree->frame_count);
    json_write_number(json, "nodes", page->tree->node_count);
    json_write_number(json, "rows", page->tree->row_count);
    json_write_number(json, "intervals", page->time->interval_count);
    json_write_number(json, "samples", page->input->profile->sample_count);
    json_write_number(json, "sources", page_sources_files(page->sources));
    json_write_close(json);
}

static void write_numbers(struct json_writer *json, const char *key, const uint64_t *numbers,
                          size_t count)
{
    json_write_open_array(json, key);
    for (size_t i = 0; i < count; i++)
        json_write_number(json, NULL, numbers[i]);
    json_write_close(json);
}

static void write_folded(struct json_writer *json, const struct page *page)
{

    json_write_open_object(json, "folded");
    json_write_number(json, "partsPerMillion", page->threshold_ppm);
    json_write_number(json, "stacks", page->tree->folded_stack_count);
    json_write_bool(json, "merged", page->time->is_merged);
    json_write_number(json, "joinedBytes", page->error.joined_bytes);
    write_numbers(json, "shares", page->error.folded_ppm, VIEW_WHOLE_COUNT);
    json_write_number(json, "sourceLines", page->sources->line_count);
    json_write_close(json);
}

static void write_what_ran(struct json_writer *json, const struct page *page)
{
    const struct capture *capture = page->input->capture;
    const struct capture_process *python = label_python_process(capture);
    struct memory_pool pool = {.newest = NULL};
    char *name = page_program_name(capture);

    json_write_text(json, "program", name);
    json_write_text(json, "command", label_command(&pool, capture->session.arguments));
    json_write_text(json, "directory", capture->session.directory);
    json_write_text(json, "host", capture->session.host);
    json_write_text(json, "machine", capture->session.machine);
    json_write_number(json, "pid", capture->process_count > 0 ? capture->processes[0].pid : 0);
    json_write_text(json, "python", python != NULL ? label_python_version(&pool, python) : "");
    json_write_bool(json, "freeThreaded", python != NULL && python->is_free_threaded);
    json_write_number(json, "startedMs", capture->session.realtime_ns / 1000000);
    json_write_number(json, "endNs", page->input->profile->end_ns);
    json_write_text(json, "state", label_state(capture->state));
    json_write_bool(json, "aggregated", capture->is_aggregated);
    json_write_number(json, "minSize", capture->session.min_size);
    json_write_number(json, "sampleBytes", capture_largest_mean(capture));
    json_write_number(json, "sampledFromNs",
                      capture->sampling_count > 0 ? capture->samplings[0].time_ns : 0);
    write_numbers(json, "standardErrors", page->input->profile->standard_errors, VIEW_WHOLE_COUNT);
    json_write_text(json, "version", capture->session.version);
    json_write_text(json, "reporter", MEMTRACK_VERSION);
    memory_pool_finish(&pool);
    free(name);
}

/* The page's name of a view. */
static const char *mode_of(const struct page *page)
{
    static const char *const views[VIEW_WHOLE_COUNT] = {
        [VIEW_PEAK] = "peak",
        [VIEW_LEAKS] = "leaks",
        [VIEW_ALLOCATED] = "allocated",
        [VIEW_TEMPORARY] = "temporary",
    };
    static const char *const windows[] = {
        [WINDOW_NONE] = "peak", [WINDOW_ALLOCATED] = "allocated", [WINDOW_TEMPORARY] = "temporary",
        [WINDOW_PEAK] = "peak", [WINDOW_LIVE] = "kept",           [WINDOW_LEAKS] = "leaks",
    };
    const struct profile_window *window = &page->input->profile->window;
    enum profile_view view = page->input->options->view;

    if (view != VIEW_WINDOW)
        return views[view];
    /* What is live at an instant is the page's highest moment of a range of one sample. */
    return window->kind == WINDOW_LIVE && window->from.time_ns == 0 && window->from.mark == 0
               ? "peak"
               : windows[window->kind];
}

static void write_what_is_shown(struct json_writer *json, const struct page *page)
{
    const struct render_options *options = page->input->options;
    uint32_t sample_count = page->input->profile->sample_count;
    uint32_t last = sample_count > 0 ? sample_count - 1 : 0;
    bool is_window = options->view == VIEW_WINDOW;

    json_write_text(json, "view", mode_of(page));
    json_write_number(json, "from", is_window ? options->first_sample : 0);
    json_write_number(json, "to", is_window ? options->last_sample : last);
    json_write_bool(json, "inverted", options->is_inverted);
    json_write_bool(json, "showsRuntime", options->shows_runtime);
    json_write_number(json, "temporaryThreshold", options->temporary_threshold);
}

static void write_object(FILE *out, const struct page *page)
{
    const struct profile *profile = page->input->profile;
    struct json_writer json;

    json_write_init(&json, out);
    json_write_open_object(&json, NULL);
    write_what_ran(&json, page);
    write_what_is_shown(&json, page);
    json_write_number(&json, "peakSample", profile->peak_sample);
    write_counts(&json, page);
    write_totals(&json, &profile->totals);
    write_warnings(&json, page);
    write_overhead(&json, page);
    write_folded(&json, page);
    write_processes(&json, page);
    write_threads(&json, page);
    write_allocators(&json, page);
    write_words(&json, profile);
    page_limits_write(&json, page->input);
    write_numbers(&json, "sizeAllocations", profile->size_allocations, PROFILE_SIZE_CLASSES);
    write_numbers(&json, "sizeBytes", profile->size_bytes, PROFILE_SIZE_CLASSES);
    write_numbers(&json, "lifetimes", profile->lifetimes, PROFILE_LIFETIMES);
    json_write_close(&json);
    json_write_finish(&json);
}

/* Write JSON in ASCII and without "<": for no reader it ends too early, or means something else. */
static void write_escaped(FILE *out, const char *text)
{
    while (*text != '\0') {
        uint32_t character;

        text += text_decode(text, &character);
        if (character >= 0x10000)
            fprintf(out, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd7c0 + (character >> 10),
                    0xdc00 + (character & 0x3ff));
        else if (character >= 0x80 || character == '<')
            fprintf(out, "\\u%04" PRIx32, character);
        else
            putc((int)character, out);
    }
}

bool page_meta_write(FILE *out, const struct page *page, struct error *err)
{
    char *text = NULL;
    size_t length_bytes = 0;
    FILE *memory = open_memstream(&text, &length_bytes);
    bool is_written = false;

    if (memory != NULL) {
        write_object(memory, page);
        is_written = fclose(memory) == 0;
    }
    if (!is_written)
        error_set(err, "the page: out of memory: show a part with --process or --thread");
    fputs("<script type=\"application/json\" id=\"data-meta\">", out);
    if (is_written)
        write_escaped(out, text);
    fputs("</script>\n", out);
    free(text);
    return is_written;
}
