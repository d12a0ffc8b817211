/*
 * `memtrack stats` as text: totals, allocators, sizes, lifetimes, places, processes, threads, cost.
 * Runs in the tools.
 */
#include "render/stats.h"

#include "memtrack/protocol.h"
#include "print/bar.h"
#include "print/numbers.h"
#include "print/table.h"
#include "print/wrap.h"
#include "render/native_parts.h"
#include "render/parts.h"
#include "report/function_names.h"
#include "report/labels.h"

enum {
    BAR_COLUMNS = 24,
    TITLE_COLUMNS = 13, /* of the lines that are no table */
};

struct stats_overhead stats_overhead_of(const struct capture *capture)
{
    struct stats_overhead overhead = {
        .collector_ns = capture->summary.cpu_ns,
        .capture_bytes = capture->file_bytes,
        .events =
            capture->summary.events > 0 ? capture->summary.events : capture->event_record_count,
    };

    for (uint32_t i = 0; i < capture->process_count; i++) {
        const uint64_t *counters = capture->processes[i].counters;

        overhead.target_ns += counters[COUNTER_SLOW_NS] + counters[COUNTER_WAIT_NS];
        overhead.wait_ns += counters[COUNTER_WAIT_NS];
        overhead.waits += counters[COUNTER_WAITS];
        if (overhead.target_rss_bytes < counters[COUNTER_MEMORY_BYTES])
            overhead.target_rss_bytes = counters[COUNTER_MEMORY_BYTES];
    }
    if (overhead.events > 0)
        overhead.bytes_per_event_hundredths =
            capture->file_bytes / overhead.events * 100 +
            capture->file_bytes % overhead.events * 100 / overhead.events;
    return overhead;
}

static void write_totals(const struct render_input *input, FILE *out)
{
    const struct profile_totals *totals = &input->profile->totals;
    uint64_t duration_ms = input->profile->end_ns / 1000000;
    unsigned width_columns = input->options->width_columns;
    struct wrap_line line;

    wrap_begin(&line, out, width_columns, "allocations  ", TITLE_COLUMNS);
    wrap_add(&line, "", "%s", numbers_format_count(totals->allocations).text);
    if (duration_ms > 0)
        wrap_add(&line, " ", "(%s/s)",
                 numbers_format_count(totals->allocations / duration_ms * 1000 +
                                      totals->allocations % duration_ms * 1000 / duration_ms)
                     .text);
    wrap_add(&line, "   ", "freed %s", numbers_format_count(totals->frees).text);
    if (!capture_is_estimate(input->capture))
        wrap_add(&line, "   ", "temporary %s%%",
                 numbers_format_share(totals->temporary_allocations, totals->allocations).text);
    wrap_add(&line, "   ", "failed %s", numbers_format_count(totals->failed_allocations).text);
    wrap_end(&line);
    fprintf(out, "bytes        %s\n", units_format_size(totals->allocated_bytes, 0).text);
    fprintf(out, "end          %s in %s allocation%s\n",
            units_format_size(totals->leaked_bytes, 0).text,
            numbers_format_count(totals->leaked_allocations).text,
            numbers_plural(totals->leaked_allocations));
    wrap_begin(&line, out, width_columns, "peaks        ", TITLE_COLUMNS);
    wrap_add(&line, "", "heap %s", units_format_size(totals->peak_bytes, 0).text);
    if (totals->peak_rss_bytes > 0)
        wrap_add(&line, "   ", "RSS %s", units_format_size(totals->peak_rss_bytes, 0).text);
    wrap_add(&line, "   ", "reserved %s", units_format_size(totals->reserved_peak_bytes, 0).text);
    wrap_add(&line, "   ", "mapped files %s",
             units_format_size(totals->mapped_file_peak_bytes, 0).text);
    wrap_end(&line);
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

        table_add(table, label_allocator(input->capture, allocator->allocator));
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
    struct memory_pool pool = {.newest = NULL};
    struct table *table;

    if (sums.end == 0)
        return;
    table = table_create(columns, sizeof(columns) / sizeof(columns[0]), &style);
    for (unsigned i = sums.first; i < sums.end; i++) {
        uint64_t count = sums.groups[i].allocations;

        table_add(table, size_groups[i].name);
        table_add(table, numbers_format_count(count).text);
        table_add(table, units_format_size(sums.groups[i].bytes, 0).text);
        table_add(table, bar_text(&pool, count, sums.most, BAR_COLUMNS, style.is_ascii));
    }
    fputc('\n', out);
    table_finish(table, true, out);
    memory_pool_finish(&pool);
}

static void write_lifetimes(const struct render_input *input, FILE *out)
{
    static const char *const names[PROFILE_LIFETIMES] = {"< 1 ms", "< 10 ms", "< 100 ms",
                                                         "< 1 s",  "longer",  "to the end"};
    static const struct table_column columns[] = {
        {.title = "LIFETIME", .kind = TABLE_NUMBER},
        {.title = "COUNT", .kind = TABLE_NUMBER},
        {.title = "%", .kind = TABLE_NUMBER},
        {.title = "", .kind = TABLE_WORD, .is_dim = true},
    };
    const uint64_t *lifetimes = input->profile->lifetimes;
    struct text_style style = parts_style(input->options);
    struct memory_pool pool = {.newest = NULL};
    uint64_t all = 0, most = 0;
    struct table *table;

    for (unsigned i = 0; i < PROFILE_LIFETIMES; i++) {
        all += lifetimes[i];
        if (most < lifetimes[i])
            most = lifetimes[i];
    }
    if (all == 0)
        return;
    table = table_create(columns, sizeof(columns) / sizeof(columns[0]), &style);
    for (unsigned i = 0; i < PROFILE_LIFETIMES; i++) {
        table_add(table, names[i]);
        table_add(table, numbers_format_count(lifetimes[i]).text);
        table_add(table, numbers_format_share(lifetimes[i], all).text);
        table_add(table, bar_text(&pool, lifetimes[i], most, BAR_COLUMNS, style.is_ascii));
    }
    fputc('\n', out);
    table_finish(table, true, out);
    memory_pool_finish(&pool);
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
        table_add(table, label_function(&pool, frame, input->options->is_ascii));
        table_add(table, label_place(&pool, input->capture, frame, frame->line));
    }
    fputc('\n', out);
    table_finish(table, true, out);
    parts_write_more(out, rows.count, limit, "location", "locations");
    rows_finish(&rows);
    memory_pool_finish(&pool);
}

static void write_overhead(const struct render_input *input, FILE *out)
{
    struct stats_overhead overhead = stats_overhead_of(input->capture);
    struct wrap_line line;

    fputc('\n', out);
    wrap_begin(&line, out, input->options->width_columns, "memtrack     ", TITLE_COLUMNS);
    wrap_add(&line, "", "%s in the program's slow paths",
             units_format_time(overhead.target_ns, 0).text);
    if (overhead.waits > 0)
        wrap_add(&line, " ", "(of it %s in %s wait%s for room)",
                 units_format_time(overhead.wait_ns, 0).text,
                 numbers_format_count(overhead.waits).text, numbers_plural(overhead.waits));
    if (overhead.target_rss_bytes > 0)
        wrap_add(&line, "   ", "%s of memory",
                 units_format_size(overhead.target_rss_bytes, 0).text);
    if (overhead.collector_ns > 0)
        wrap_add(&line, "   ", "collector %s CPU",
                 units_format_time(overhead.collector_ns, 0).text);
    if (input->capture->summary.model_cpu_ns > 0)
        wrap_add(&line, " ", "(of it %s for the index)",
                 units_format_time(input->capture->summary.model_cpu_ns, 0).text);
    wrap_end(&line);
    fprintf(out, "capture      %s%s, %llu.%02llu bytes an event\n",
            units_format_size(overhead.capture_bytes, 0).text,
            input->capture->is_aggregated ? ", aggregated" : "",
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
    paths = parts_paths(input);
    parts_write_header(input, out);
    write_totals(input, out);
    stats_write_range(input, out);
    stats_write_limit(input, out);
    stats_write_failures(input, paths, out);
    write_allocators(input, out);
    write_sizes(input, out);
    write_lifetimes(input, out);
    write_largest(input, paths, ROWS_TOTAL, out);
    write_largest(input, paths, ROWS_COUNT, out);
    stats_write_pools(input, out);
    stats_write_phases(input, out);
    stats_write_marks(input, out);
    stats_write_processes(input, out);
    stats_write_threads(input, out);
    write_overhead(input, out);
    native_parts_write(input, TITLE_COLUMNS, out);
    paths_destroy(paths);
    return parts_end(out, err);
}
