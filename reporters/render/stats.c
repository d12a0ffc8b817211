/*
 * `memtrack stats` as text: totals, allocators, sizes, lifetimes, places, processes, threads, cost.
 * Runs in the tools.
 */
#include "render/stats.h"

#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "print/numbers.h"
#include "print/table.h"
#include "render/parts.h"
#include "report/labels.h"

#include <stdlib.h>
#include <string.h>

enum {
    BAR_COLUMNS = 24,
};

struct stats_overhead stats_overhead_of(const struct capture *capture)
{
    struct stats_overhead overhead = {
        .collector_ns = capture->summary.cpu_ns,
        .capture_bytes = capture->file_bytes,
    };
    uint64_t events =
        capture->summary.events > 0 ? capture->summary.events : capture->event_record_count;

    for (uint32_t i = 0; i < capture->process_count; i++) {
        const uint64_t *counters = capture->processes[i].counters;

        overhead.target_ns += counters[COUNTER_SLOW_NS] + counters[COUNTER_WAIT_NS];
        overhead.target_rss_bytes += counters[COUNTER_MEMORY_BYTES];
    }
    if (events > 0)
        overhead.bytes_per_event_hundredths =
            capture->file_bytes / events * 100 + capture->file_bytes % events * 100 / events;
    return overhead;
}

static void write_totals(const struct render_input *input, FILE *out)
{
    const struct profile_totals *totals = &input->profile->totals;
    uint64_t duration_ms = input->profile->end_ns / 1000000;

    fprintf(out, "allocations  %s", numbers_format_count(totals->allocations).text);
    if (duration_ms > 0)
        fprintf(out, " (%s/s)",
                numbers_format_count(totals->allocations / duration_ms * 1000 +
                                     totals->allocations % duration_ms * 1000 / duration_ms)
                    .text);
    fprintf(out, "   freed %s   temporary %s%%   failed %s\n",
            numbers_format_count(totals->frees).text,
            numbers_format_share(totals->temporary_allocations, totals->allocations).text,
            numbers_format_count(totals->failed_allocations).text);
    fprintf(out, "bytes        %s", units_format_size(totals->allocated_bytes, 0).text);
    fprintf(out, "\nend          %s in %s allocations\n",
            units_format_size(totals->leaked_bytes, 0).text,
            numbers_format_count(totals->leaked_allocations).text);
    fprintf(out, "peaks        heap %s", units_format_size(totals->peak_bytes, 0).text);
    if (totals->peak_rss_bytes > 0)
        fprintf(out, "   RSS %s", units_format_size(totals->peak_rss_bytes, 0).text);
    fprintf(out, "   reserved %s   mapped files %s\n",
            units_format_size(totals->reserved_peak_bytes, 0).text,
            units_format_size(totals->mapped_file_peak_bytes, 0).text);
}

static void write_allocators(const struct render_input *input, FILE *out)
{
    static const struct table_column columns[] = {
        {.title = "ALLOCATOR", .kind = TABLE_WORD}, {.title = "COUNT", .kind = TABLE_NUMBER},
        {.title = "%", .kind = TABLE_NUMBER},       {.title = "BYTES", .kind = TABLE_NUMBER},
        {.title = "PEAK", .kind = TABLE_NUMBER},
    };
    const struct profile *profile = input->profile;
    struct text_style style = parts_style(input->options);
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]), &style);

    for (uint32_t i = 0; i < profile->allocator_count; i++) {
        const struct profile_allocator *allocator = &profile->allocators[i];

        table_add(table, label_allocator(allocator->allocator));
        table_add(table, numbers_format_count(allocator->allocations).text);
        table_add(table,
                  numbers_format_share(allocator->allocations, profile->totals.allocations).text);
        table_add(table, units_format_size(allocator->allocated_bytes, 0).text);
        table_add(table, units_format_size(allocator->peak_bytes, 0).text);
    }
    fputc('\n', out);
    table_finish(table, true, out);
}

/* Size classes (of so many bits) that are one line. */
struct size_group {
    const char *name;
    unsigned first, last;
};

static const struct size_group size_groups[] = {
    {"0", 0, 0},
    {"1 - 15 B", 1, 4},
    {"16 - 63 B", 5, 6},
    {"64 - 255 B", 7, 8},
    {"256 - 1023 B", 9, 10},
    {"1 - 4 KiB", 11, 12},
    {"4 - 16 KiB", 13, 14},
    {"16 - 64 KiB", 15, 16},
    {"64 - 256 KiB", 17, 18},
    {"256 KiB - 1 MiB", 19, 20},
    {"1 - 16 MiB", 21, 24},
    {"16 - 256 MiB", 25, 28},
    {"256 MiB - 4 GiB", 29, 32},
    {"4 GiB and more", 33, 64},
};

enum {
    SIZE_GROUP_COUNT = sizeof(size_groups) / sizeof(size_groups[0]),
};

struct size_sums {
    struct profile_cost groups[SIZE_GROUP_COUNT];
    unsigned first, end; /* groups that are not empty, and between */
    uint64_t most;
};

static struct size_sums sum_sizes(const struct profile *profile)
{
    struct size_sums sums = {.first = SIZE_GROUP_COUNT};

    for (unsigned i = 0; i < SIZE_GROUP_COUNT; i++) {
        struct profile_cost *sum = &sums.groups[i];

        for (unsigned j = size_groups[i].first; j <= size_groups[i].last; j++) {
            sum->allocations += profile->size_allocations[j];
            sum->bytes += profile->size_bytes[j];
        }
        if (sum->allocations == 0)
            continue;
        if (sums.first == SIZE_GROUP_COUNT)
            sums.first = i;
        sums.end = i + 1;
        if (sums.most < sum->allocations)
            sums.most = sum->allocations;
    }
    return sums;
}

static void write_sizes(const struct render_input *input, FILE *out)
{
    static const struct table_column columns[] = {
        {.title = "SIZE", .kind = TABLE_NUMBER},
        {.title = "COUNT", .kind = TABLE_NUMBER},
        {.title = "BYTES", .kind = TABLE_NUMBER},
        {.title = "", .kind = TABLE_WORD, .is_dim = true},
    };
    struct text_style style = parts_style(input->options);
    struct size_sums sums = sum_sizes(input->profile);
    struct table *table;

    if (sums.end == 0)
        return;
    table = table_create(columns, sizeof(columns) / sizeof(columns[0]), &style);
    for (unsigned i = sums.first; i < sums.end; i++) {
        uint64_t count = sums.groups[i].allocations;
        char bar[BAR_COLUMNS + 1];
        size_t length = (size_t)(count * BAR_COLUMNS / sums.most);

        /* Something is never shown as nothing. */
        if (length == 0 && count > 0)
            length = 1;
        memset(bar, '#', length);
        bar[length] = '\0';
        table_add(table, size_groups[i].name);
        table_add(table, numbers_format_count(count).text);
        table_add(table, units_format_size(sums.groups[i].bytes, 0).text);
        table_add(table, bar);
    }
    fputc('\n', out);
    table_finish(table, true, out);
}

static void write_lifetimes(const struct profile *profile, FILE *out)
{
    static const char *const names[PROFILE_LIFETIMES] = {"<1 ms", "<10 ms", "<100 ms",
                                                         "<1 s",  "longer", "to the end"};
    uint64_t all = 0;

    for (unsigned i = 0; i < PROFILE_LIFETIMES; i++)
        all += profile->lifetimes[i];
    if (all == 0)
        return;
    fputs("\nlifetime", out);
    for (unsigned i = 0; i < PROFILE_LIFETIMES; i++)
        fprintf(out, "   %s %s%%", names[i], numbers_format_share(profile->lifetimes[i], all).text);
    fputc('\n', out);
}

static void write_largest(const struct render_input *input, struct paths *paths,
                          enum rows_sort sort, FILE *out)
{
    static const struct table_column by_size[] = {
        {.title = "LARGEST", .kind = TABLE_NUMBER},
        {.title = "COUNT", .kind = TABLE_NUMBER},
        {.title = "FUNCTION", .kind = TABLE_TEXT},
        {.title = "WHERE", .kind = TABLE_PATH, .is_dim = true},
    };
    static const struct table_column by_count[] = {
        {.title = "MOST", .kind = TABLE_NUMBER},
        {.title = "BYTES", .kind = TABLE_NUMBER},
        {.title = "FUNCTION", .kind = TABLE_TEXT},
        {.title = "WHERE", .kind = TABLE_PATH, .is_dim = true},
    };
    bool is_by_count = sort == ROWS_COUNT;
    struct text_style style = parts_style(input->options);
    struct table *table = table_create(is_by_count ? by_count : by_size, 4, &style);
    struct rows rows =
        rows_collect(paths, input->profile, input->options->view, ROWS_BY_LOCATION, sort);
    size_t limit = parts_row_limit(input->options, rows.count);
    struct memory_pool pool = {.newest = NULL};

    for (size_t i = 0; i < limit; i++) {
        const struct row *row = &rows.rows[i];
        const struct frame *frame = frames_get(input->frames, row->frame);
        struct units_text size = units_format_size(row->cost.bytes, 0);
        struct units_text count = numbers_format_count(row->cost.allocations);

        table_add(table, is_by_count ? count.text : size.text);
        table_add(table, is_by_count ? size.text : count.text);
        table_add(table, frame->function);
        table_add(table, label_place(&pool, input->capture, frame, frame->line));
    }
    fputc('\n', out);
    table_finish(table, true, out);
    parts_write_more(out, rows.count, limit, "locations");
    rows_finish(&rows);
    memory_pool_finish(&pool);
}

static const char *end_text(struct memory_pool *pool, const struct capture_process *process)
{
    char text[48];
    int length;

    if (!process->is_tracked)
        return "not tracked";
    switch (process->end) {
    case 0:
        return "";
    case END_CODE:
        length = snprintf(text, sizeof(text), "exit %lld", (long long)process->end_code);
        return memory_pool_copy(pool, text, (size_t)length);
    case END_SIGNAL:
        return label_signal(pool, process->end_code);
    case END_EXEC:
        return "exec";
    default:
        return "ended";
    }
}

static void write_processes(const struct render_input *input, FILE *out)
{
    static const struct table_column columns[] = {
        {.title = "PID", .kind = TABLE_NUMBER},   {.title = "PARENT", .kind = TABLE_NUMBER},
        {.title = "PEAK", .kind = TABLE_NUMBER},  {.title = "RSS", .kind = TABLE_NUMBER},
        {.title = "COUNT", .kind = TABLE_NUMBER}, {.title = "STARTED", .kind = TABLE_NUMBER},
        {.title = "END", .kind = TABLE_WORD},     {.title = "COMMAND", .kind = TABLE_TEXT},
    };
    const struct capture *capture = input->capture;
    struct text_style style = parts_style(input->options);
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]), &style);
    size_t limit = parts_row_limit(input->options, capture->process_count);
    struct memory_pool pool = {.newest = NULL};

    for (uint32_t i = 0; i < limit; i++) {
        const struct capture_process *process = &capture->processes[i];
        const struct profile_owner *owner = &input->profile->processes[i];
        uint32_t parent = capture_process_index(capture, process->parent_number);
        char text[16];

        snprintf(text, sizeof(text), "%u", process->pid);
        table_add(table, text);
        snprintf(text, sizeof(text), "%u",
                 parent < capture->process_count ? capture->processes[parent].pid : 0);
        table_add(table, parent < capture->process_count ? text : "");
        table_add(table, units_format_size(owner->peak_bytes, 0).text);
        table_add(table, owner->peak_rss_bytes > 0
                             ? units_format_size(owner->peak_rss_bytes, 0).text
                             : "");
        table_add(table, numbers_format_count(owner->allocations).text);
        table_add(table, units_format_time(process->started_ns, 0).text);
        table_add(table, end_text(&pool, process));
        table_add(table, label_command(&pool, process->arguments));
    }
    fputc('\n', out);
    table_finish(table, true, out);
    parts_write_more(out, capture->process_count, limit, "processes");
    memory_pool_finish(&pool);
}

static int compare_threads(const void *first, const void *second, void *user)
{
    const struct profile_owner *owners = user;
    uint32_t a = *(const uint32_t *)first, b = *(const uint32_t *)second;

    if (owners[a].allocated_bytes != owners[b].allocated_bytes)
        return owners[a].allocated_bytes < owners[b].allocated_bytes ? 1 : -1;
    return (a > b) - (a < b);
}

static void write_threads(const struct render_input *input, FILE *out)
{
    static const struct table_column columns[] = {
        {.title = "TID", .kind = TABLE_NUMBER},   {.title = "PEAK", .kind = TABLE_NUMBER},
        {.title = "BYTES", .kind = TABLE_NUMBER}, {.title = "COUNT", .kind = TABLE_NUMBER},
        {.title = "THREAD", .kind = TABLE_TEXT},
    };
    const struct capture *capture = input->capture;
    struct profile_owner *owners = input->profile->threads;
    struct text_style style = parts_style(input->options);
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]), &style);
    uint32_t *order = memory_allocate(capture->thread_count, sizeof(order[0]));
    size_t limit = parts_row_limit(input->options, capture->thread_count);
    struct memory_pool pool = {.newest = NULL};

    for (uint32_t i = 0; i < capture->thread_count; i++)
        order[i] = i;
    qsort_r(order, capture->thread_count, sizeof(order[0]), compare_threads, owners);
    for (size_t i = 0; i < limit; i++) {
        const struct profile_owner *owner = &owners[order[i]];
        char tid[16];

        snprintf(tid, sizeof(tid), "%u", capture->threads[order[i]].tid);
        table_add(table, tid);
        table_add(table, units_format_size(owner->peak_bytes, 0).text);
        table_add(table, units_format_size(owner->allocated_bytes, 0).text);
        table_add(table, numbers_format_count(owner->allocations).text);
        table_add(table, label_thread(&pool, capture, order[i] + 1));
    }
    fputc('\n', out);
    table_finish(table, true, out);
    parts_write_more(out, capture->thread_count, limit, "threads");
    memory_pool_finish(&pool);
    free(order);
}

static void write_overhead(const struct capture *capture, FILE *out)
{
    struct stats_overhead overhead = stats_overhead_of(capture);

    fprintf(out, "\nmemtrack     %s in the program's slow paths, %s of memory; collector %s CPU\n",
            units_format_time(overhead.target_ns, 0).text,
            units_format_size(overhead.target_rss_bytes, 0).text,
            units_format_time(overhead.collector_ns, 0).text);
    fprintf(out, "capture      %s, %llu.%02llu bytes an event\n",
            units_format_size(overhead.capture_bytes, 0).text,
            (unsigned long long)overhead.bytes_per_event_hundredths / 100,
            (unsigned long long)overhead.bytes_per_event_hundredths % 100);
}

bool render_stats(const struct render_input *input, FILE *out, struct error *err)
{
    struct paths *paths;

    if (input->options->is_json) {
        stats_write_json(input, out);
        return parts_end(out, err);
    }
    paths = paths_create(input->capture, input->frames, input->options->shows_runtime);
    parts_write_header(input, out);
    write_totals(input, out);
    write_allocators(input, out);
    write_sizes(input, out);
    write_lifetimes(input->profile, out);
    write_largest(input, paths, ROWS_TOTAL, out);
    write_largest(input, paths, ROWS_COUNT, out);
    write_processes(input, out);
    write_threads(input, out);
    write_overhead(input->capture, out);
    paths_destroy(paths);
    return parts_end(out, err);
}
