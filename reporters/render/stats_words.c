/*
 * `memtrack stats`, what the program said itself: its pools, phases and marks. Runs in the tools.
 */
#include "render/stats.h"

#include "print/numbers.h"
#include "print/table.h"
#include "render/parts.h"
#include "report/labels.h"

#include <stdlib.h>
#include <string.h>

/* Phases of one name. */
struct phase_sum {
    const char *name;
    uint64_t count, first_ns, lasted_ns, peak_bytes;
};

void stats_write_pools(const struct render_input *input, FILE *out)
{
    static const struct table_column columns[] = {
        {.title = "POOL", .kind = TABLE_WORD},    {.title = "COUNT", .kind = TABLE_NUMBER},
        {.title = "FREED", .kind = TABLE_NUMBER}, {.title = "BYTES", .kind = TABLE_NUMBER},
        {.title = "PEAK", .kind = TABLE_NUMBER},  {.title = "END", .kind = TABLE_NUMBER},
    };
    const struct profile *profile = input->profile;
    struct text_style style = parts_style(input->options);
    struct table *table;

    if (profile->pool_count == 0)
        return;
    table = table_create(columns, sizeof(columns) / sizeof(columns[0]), &style);
    for (uint32_t i = 0; i < profile->pool_count; i++) {
        const struct profile_pool *pool = &profile->pools[i];

        table_add(table, label_allocator(input->capture, pool->allocator));
        table_add(table, numbers_format_count(pool->allocations).text);
        table_add(table, numbers_format_count(pool->frees).text);
        table_add(table, units_format_size(pool->allocated_bytes, 0).text);
        table_add(table, units_format_size(pool->peak_bytes, 0).text);
        table_add(table, units_format_size(pool->leaked_bytes, 0).text);
    }
    fputc('\n', out);
    table_finish(table, true, out);
    fputs("  in memory that the heap has counted already: --pools shows whose\n", out);
}

static int compare_by_name(const void *first, const void *second)
{
    const struct profile_phase *a = first, *b = second;
    int order = strcmp(a->name, b->name);

    return order != 0 ? order : (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static int compare_by_start(const void *first, const void *second)
{
    const struct phase_sum *a = first, *b = second;

    if (a->first_ns != b->first_ns)
        return a->first_ns < b->first_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Add up the phases of each name, in the order in which the first of them began. */
static struct phase_sum *sum_phases(const struct profile *profile, size_t *ret_count)
{
    struct profile_phase *sorted = memory_allocate(profile->phase_count, sizeof(*sorted));
    struct phase_sum *sums = memory_allocate(profile->phase_count, sizeof(*sums));
    size_t count = 0;

    for (uint32_t i = 0; i < profile->phase_count; i++)
        sorted[i] = profile->phases[i];
    qsort(sorted, profile->phase_count, sizeof(*sorted), compare_by_name);
    for (uint32_t i = 0; i < profile->phase_count; i++) {
        const struct profile_phase *phase = &sorted[i];

        if (count == 0 || strcmp(sums[count - 1].name, phase->name) != 0)
            sums[count++] = (struct phase_sum){.name = phase->name, .first_ns = phase->from_ns};
        sums[count - 1].count++;
        sums[count - 1].lasted_ns += phase->to_ns - phase->from_ns;
        if (phase->peak_bytes > sums[count - 1].peak_bytes)
            sums[count - 1].peak_bytes = phase->peak_bytes;
    }
    free(sorted);
    qsort(sums, count, sizeof(*sums), compare_by_start);
    *ret_count = count;
    return sums;
}

void stats_write_phases(const struct render_input *input, FILE *out)
{
    static const struct table_column columns[] = {
        {.title = "PEAK", .kind = TABLE_NUMBER},  {.title = "COUNT", .kind = TABLE_NUMBER},
        {.title = "FIRST", .kind = TABLE_NUMBER}, {.title = "LASTED", .kind = TABLE_NUMBER},
        {.title = "PHASE", .kind = TABLE_TEXT},
    };
    struct text_style style = parts_style(input->options);
    struct table *table;
    struct phase_sum *sums;
    size_t count, limit;

    if (input->profile->phase_count == 0)
        return;
    sums = sum_phases(input->profile, &count);
    limit = parts_row_limit(input->options, count);
    table = table_create(columns, sizeof(columns) / sizeof(columns[0]), &style);
    for (size_t i = 0; i < limit; i++) {
        table_add(table, units_format_size(sums[i].peak_bytes, 0).text);
        table_add(table, numbers_format_count(sums[i].count).text);
        table_add(table, units_format_time(sums[i].first_ns, 0).text);
        table_add(table, units_format_time(sums[i].lasted_ns, 0).text);
        table_add(table, sums[i].name);
    }
    fputc('\n', out);
    table_finish(table, true, out);
    parts_write_more(out, count, limit, "phase", "phases");
    free(sums);
}

void stats_write_marks(const struct render_input *input, FILE *out)
{
    static const struct table_column columns[] = {
        {.title = "AT", .kind = TABLE_NUMBER},
        {.title = "PID", .kind = TABLE_NUMBER},
        {.title = "MARK", .kind = TABLE_TEXT},
    };
    const struct profile *profile = input->profile;
    struct text_style style = parts_style(input->options);
    size_t limit = parts_row_limit(input->options, profile->mark_count);
    struct table *table;

    if (profile->mark_count == 0)
        return;
    table = table_create(columns, sizeof(columns) / sizeof(columns[0]), &style);
    for (size_t i = 0; i < limit; i++) {
        const struct profile_mark *mark = &profile->marks[i];
        char pid[16] = "";

        if (mark->process_index != UINT32_MAX)
            snprintf(pid, sizeof(pid), "%u", input->capture->processes[mark->process_index].pid);
        table_add(table, units_format_time(mark->time_ns, 0).text);
        table_add(table, pid);
        table_add(table, mark->name);
    }
    fputc('\n', out);
    table_finish(table, true, out);
    parts_write_more(out, profile->mark_count, limit, "mark", "marks");
}

/* Who said it. */
static void write_speaker(struct json_writer *json, const struct capture *capture,
                          uint32_t process_index, uint32_t stream)
{
    json_write_number_or_null(
        json, "pid", process_index != UINT32_MAX ? capture->processes[process_index].pid : 0);
    json_write_number_or_null(json, "tid", stream != UINT32_MAX ? capture->threads[stream].tid : 0);
}

static void write_marks_json(struct json_writer *json, const struct profile *profile)
{
    json_write_open_rows(json, "marks");
    for (uint32_t i = 0; i < profile->mark_count; i++) {
        const struct profile_mark *mark = &profile->marks[i];

        json_write_open_object(json, NULL);
        json_write_number(json, "time_ns", mark->time_ns);
        json_write_text(json, "name", mark->name);
        write_speaker(json, profile->capture, mark->process_index, mark->stream);
        json_write_close(json);
    }
    json_write_close(json);
}

static void write_phases_json(struct json_writer *json, const struct profile *profile)
{
    json_write_open_rows(json, "phases");
    for (uint32_t i = 0; i < profile->phase_count; i++) {
        const struct profile_phase *phase = &profile->phases[i];

        json_write_open_object(json, NULL);
        json_write_text(json, "name", phase->name);
        json_write_number(json, "from_ns", phase->from_ns);
        json_write_number(json, "to_ns", phase->to_ns);
        json_write_number(json, "peak_bytes", phase->peak_bytes);
        json_write_bool(json, "ended", phase->has_ended);
        write_speaker(json, profile->capture, phase->process_index, phase->stream);
        json_write_close(json);
    }
    json_write_close(json);
}

void stats_write_words_json(struct json_writer *json, const struct profile *profile)
{
    write_marks_json(json, profile);
    write_phases_json(json, profile);
    json_write_open_rows(json, "pools");
    for (uint32_t i = 0; i < profile->pool_count; i++) {
        const struct profile_pool *pool = &profile->pools[i];

        json_write_open_object(json, NULL);
        json_write_text(json, "pool", label_allocator(profile->capture, pool->allocator));
        json_write_number(json, "allocations", pool->allocations);
        json_write_number(json, "frees", pool->frees);
        json_write_number(json, "allocated_bytes", pool->allocated_bytes);
        json_write_number(json, "peak_bytes", pool->peak_bytes);
        json_write_number(json, "leaked_bytes", pool->leaked_bytes);
        json_write_number(json, "leaked_allocations", pool->leaked_allocations);
        json_write_close(json);
    }
    json_write_close(json);
}
