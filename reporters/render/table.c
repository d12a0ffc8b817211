/*
 * `memtrack table`: one row an allocating location; in JSON one a stack and thread. Runs in the
 * tools.
 */
#include "print/table.h"
#include "print/numbers.h"
#include "render/parts.h"
#include "render/stack_json.h"
#include "report/function_names.h"
#include "report/labels.h"

#include <stddef.h>

static const struct table_column columns[] = {
    {.title = "BYTES", .kind = TABLE_NUMBER},
    {.title = "%", .kind = TABLE_NUMBER},
    {.title = "COUNT", .kind = TABLE_NUMBER},
    {.title = "ALLOCATOR", .kind = TABLE_WORD},
    {.title = "THREAD", .kind = TABLE_TEXT},
    {.title = "FUNCTION", .kind = TABLE_TEXT},
    {.title = "WHERE", .kind = TABLE_PATH, .is_dim = true},
};

/* The same where one thread did it all. */
static const struct table_column columns_of_one_thread[] = {
    {.title = "BYTES", .kind = TABLE_NUMBER},
    {.title = "%", .kind = TABLE_NUMBER},
    {.title = "COUNT", .kind = TABLE_NUMBER},
    {.title = "ALLOCATOR", .kind = TABLE_WORD},
    {.title = "FUNCTION", .kind = TABLE_TEXT},
    {.title = "WHERE", .kind = TABLE_PATH, .is_dim = true},
};

static bool has_threads(const struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->rows[i].stream_count > 1 || rows->rows[i].stream != rows->rows[0].stream)
            return true;
    }
    return false;
}

static struct table *create_table(const struct text_style *style, bool shows_threads)
{
    if (shows_threads)
        return table_create(columns, sizeof(columns) / sizeof(columns[0]), style);
    return table_create(columns_of_one_thread,
                        sizeof(columns_of_one_thread) / sizeof(columns_of_one_thread[0]), style);
}

static const char *thread_text(const struct render_input *input, const struct row *row,
                               struct memory_pool *pool)
{
    char text[32];
    int length;

    if (row->stream_count == 1)
        return label_thread(pool, input->capture, row->stream);
    length =
        snprintf(text, sizeof(text), "(%s threads)", numbers_format_count(row->stream_count).text);
    return memory_pool_copy(pool, text, (size_t)length);
}

static void write_text(const struct render_input *input, const struct rows *rows, FILE *out)
{
    struct text_style style = parts_style(input->options);
    bool shows_threads = has_threads(rows);
    struct table *table = create_table(&style, shows_threads);
    struct profile_cost all = parts_view_cost(input->profile, input->options->view);
    size_t limit = parts_row_limit(input->options, rows->count);
    struct memory_pool pool = {.newest = NULL};

    parts_write_header(input, out);
    for (size_t i = 0; i < limit; i++) {
        const struct row *row = &rows->rows[i];
        const struct frame *frame = frames_get(input->frames, row->frame);

        table_add(table, units_format_size(row->cost.bytes, 0).text);
        table_add(table, numbers_format_share(row->cost.bytes, all.bytes).text);
        table_add(table, numbers_format_count(row->cost.allocations).text);
        table_add(table, label_allocator(input->capture, row->allocator));
        if (shows_threads)
            table_add(table, thread_text(input, row, &pool));
        table_add(table, label_function(&pool, frame, input->options->is_ascii));
        table_add(table, label_place(&pool, input->capture, frame, frame->line));
    }
    table_finish(table, true, out);
    parts_write_more(out, rows->count, limit, "location", "locations");
    memory_pool_finish(&pool);
}

static void write_owner(struct json_writer *json, const struct capture *capture, uint32_t stream)
{
    const struct capture_thread *thread;

    if (stream == 0 || stream > capture->thread_count) {
        json_write_null(json, "pid");
        json_write_null(json, "tid");
        json_write_null(json, "thread");
        return;
    }
    thread = &capture->threads[stream - 1];
    json_write_number(json, "pid", capture->processes[thread->process_index].pid);
    json_write_number(json, "tid", thread->tid);
    json_write_name(json, "thread", thread->name);
}

static void write_json(const struct render_input *input, const struct rows *rows,
                       const struct paths *paths, FILE *out)
{
    size_t limit = parts_row_limit(input->options, rows->count);
    struct stack_json *stacks = stack_json_create(paths);
    struct json_writer json;

    json_write_init(&json, out);
    parts_open_json(&json, input, "table");
    json_write_open_rows(&json, "rows");
    for (size_t i = 0; i < limit; i++) {
        const struct row *row = &rows->rows[i];

        json_write_open_object(&json, NULL);
        json_write_text(&json, "allocator", label_allocator(input->capture, row->allocator));
        json_write_number(&json, "bytes", row->cost.bytes);
        json_write_number(&json, "allocations", row->cost.allocations);
        write_owner(&json, input->capture, row->stream);
        stack_json_write(stacks, &json, "stack", row->path);
        json_write_close(&json);
    }
    json_write_close(&json);
    json_write_close(&json);
    json_write_finish(&json);
    stack_json_destroy(stacks);
}

bool render_table(const struct render_input *input, FILE *out, struct error *err)
{
    const struct render_options *options = input->options;
    struct paths *paths = parts_paths(input);
    struct rows rows = rows_collect(paths, input->profile, options->view,
                                    options->is_json ? ROWS_BY_STACK : ROWS_BY_LOCATION_ALLOCATOR,
                                    parts_sort(options));

    if (options->is_json)
        write_json(input, &rows, paths, out);
    else
        write_text(input, &rows, out);
    rows_finish(&rows);
    paths_destroy(paths);
    return parts_end(out, err);
}
