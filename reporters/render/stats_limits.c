/*
 * What `memtrack stats` says of limits and of allocations that failed: text and JSON. Runs in the tools.
 */
#include "print/numbers.h"
#include "print/table.h"
#include "render/parts.h"
#include "render/stats.h"
#include "report/failures.h"
#include "report/function_names.h"
#include "report/labels.h"
#include "report/limits.h"
#include "report/nearness.h"

void stats_write_limit(const struct render_input *input, FILE *out)
{
    struct nearnesses nearnesses = nearness_find(input->capture, input->options->process_number);
    const struct nearness *nearest = nearness_nearest(&nearnesses);
    struct memory_pool pool = {.newest = NULL};

    if (nearest != NULL) {
        fprintf(out, "limit        %s, %s", units_format_size(nearest->bytes, 0).text,
                nearness_name(&pool, input->capture, nearest));
        if (nearest->left_bytes > 0)
            fprintf(out, "\n             came within %s of it",
                    units_format_size(nearest->left_bytes, 0).text);
        else
            fputs("\n             was reached", out);
        fprintf(out, " at %s\n", units_format_time(nearest->time_ns, 0).text);
    }
    nearness_finish(&nearnesses);
    memory_pool_finish(&pool);
}

void stats_write_failures(const struct render_input *input, struct paths *paths, FILE *out)
{
    static const struct table_column columns[] = {
        {.title = "FAILED", .kind = TABLE_NUMBER},
        {.title = "LARGEST", .kind = TABLE_NUMBER},
        {.title = "FIRST AT", .kind = TABLE_NUMBER},
        {.title = "FUNCTION", .kind = TABLE_TEXT},
        {.title = "WHERE", .kind = TABLE_PATH, .is_dim = true},
    };
    struct failure_rows rows = failure_rows_collect(paths, input->profile);
    size_t limit = parts_row_limit(input->options, rows.count);
    struct text_style style = parts_style(input->options);
    struct memory_pool pool = {.newest = NULL};
    struct table *table;

    if (rows.count > 0) {
        table = table_create(columns, sizeof(columns) / sizeof(columns[0]), &style);
        for (size_t i = 0; i < limit; i++) {
            const struct failure_row *row = &rows.rows[i];
            const struct frame *frame = frames_get(input->frames, row->frame);

            table_add(table, numbers_format_count(row->count).text);
            table_add(table, units_format_size(row->largest_bytes, 0).text);
            table_add(table, units_format_time(row->first_ns, 0).text);
            table_add(table, label_function(&pool, frame, input->options->is_ascii));
            table_add(table, label_place(&pool, input->capture, frame, frame->line));
        }
        fputc('\n', out);
        table_finish(table, true, out);
        parts_write_more(out, rows.count, limit, "location", "locations");
    }
    failure_rows_finish(&rows);
    memory_pool_finish(&pool);
}

static void write_limits_json(struct json_writer *json, const struct render_input *input)
{
    const struct capture *capture = input->capture;
    struct nearnesses nearnesses = nearness_find(capture, input->options->process_number);

    json_write_open_rows(json, "limits");
    for (size_t i = 0; i < nearnesses.count; i++) {
        const struct nearness *nearness = &nearnesses.items[i];
        bool is_process = nearness->process_index < capture->process_count;

        json_write_open_object(json, NULL);
        json_write_text(json, "limit", limit_name(nearness->kind));
        json_write_number_or_null(json, "pid",
                                  is_process ? capture->processes[nearness->process_index].pid : 0);
        if (nearness->cgroup < capture->cgroup_count)
            json_write_text(json, "cgroup", capture->cgroups[nearness->cgroup]);
        else
            json_write_null(json, "cgroup");
        json_write_number(json, "bytes", nearness->bytes);
        json_write_number(json, "used_bytes", nearness->used_bytes);
        json_write_number(json, "left_bytes", nearness->left_bytes);
        json_write_number(json, "time_ns", nearness->time_ns);
        json_write_text(json, "measured", nearness_measure_name(nearness->measure));
        json_write_close(json);
    }
    json_write_close(json);
    nearness_finish(&nearnesses);
}

static void write_failures_json(struct json_writer *json, const struct render_input *input,
                                struct paths *paths)
{
    struct failure_rows rows = failure_rows_collect(paths, input->profile);
    size_t limit = parts_row_limit(input->options, rows.count);

    json_write_open_rows(json, "failures");
    for (size_t i = 0; i < limit; i++) {
        const struct failure_row *row = &rows.rows[i];
        const struct frame *frame = frames_get(input->frames, row->frame);

        json_write_open_object(json, NULL);
        json_write_text(json, "function", frame->function);
        json_write_name(json, "file", frame->file);
        json_write_number_or_null(json, "line", frame->line);
        json_write_number(json, "count", row->count);
        json_write_number(json, "largest_bytes", row->largest_bytes);
        json_write_number(json, "first_ns", row->first_ns);
        json_write_number(json, "last_ns", row->last_ns);
        json_write_close(json);
    }
    json_write_close(json);
    failure_rows_finish(&rows);
}

void stats_write_limits_json(struct json_writer *json, const struct render_input *input,
                             struct paths *paths)
{
    write_limits_json(json, input);
    write_failures_json(json, input, paths);
}
