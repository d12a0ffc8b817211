/*
 * `memtrack summary`: one row a function. Runs in the tools.
 */
#include "print/numbers.h"
#include "print/table.h"
#include "render/parts.h"
#include "report/function_names.h"
#include "report/labels.h"
#include "report/tree.h"

static const struct table_column columns[] = {
    {.title = "TOTAL", .kind = TABLE_NUMBER},
    {.title = "%", .kind = TABLE_NUMBER},
    {.title = "OWN", .kind = TABLE_NUMBER},
    {.title = "%", .kind = TABLE_NUMBER},
    {.title = "COUNT", .kind = TABLE_NUMBER},
    {.title = "FUNCTION", .kind = TABLE_TEXT},
    {.title = "WHERE", .kind = TABLE_PATH, .is_dim = true},
};

/* A function stands where it begins, which is not known of native ones. */
static uint32_t line_of(const struct frame *frame)
{
    if (frame->kind == FRAME_NATIVE || frame->kind == FRAME_INLINED)
        return 0;
    return frame->first_line > 0 ? frame->first_line : frame->line;
}

static void write_text(const struct render_input *input, const struct function_rows *rows,
                       FILE *out)
{
    struct text_style style = parts_style(input->options);
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]), &style);
    struct profile_cost all = parts_view_cost(input->profile, input->options->view);
    size_t limit = parts_row_limit(input->options, rows->count);
    struct memory_pool pool = {.newest = NULL};

    parts_write_header(input, out);
    for (size_t i = 0; i < limit; i++) {
        const struct function_row *row = &rows->rows[i];
        const struct frame *frame = frames_get(input->frames, row->frame);

        table_add(table, units_format_size(row->total.bytes, 0).text);
        table_add(table, numbers_format_share(row->total.bytes, all.bytes).text);
        table_add(table, units_format_size(row->own.bytes, 0).text);
        table_add(table, numbers_format_share(row->own.bytes, all.bytes).text);
        table_add(table, numbers_format_count(row->total.allocations).text);
        table_add(table, label_function(&pool, frame, input->options->is_ascii));
        table_add(table, label_place(&pool, input->capture, frame, line_of(frame)));
    }
    table_finish(table, true, out);
    parts_write_more(out, rows->count, limit, "function", "functions");
    memory_pool_finish(&pool);
}

static void write_json(const struct render_input *input, const struct function_rows *rows,
                       FILE *out)
{
    size_t limit = parts_row_limit(input->options, rows->count);
    struct json_writer json;

    json_write_init(&json, out);
    parts_open_json(&json, input, "summary");
    json_write_open_rows(&json, "rows");
    for (size_t i = 0; i < limit; i++) {
        const struct function_row *row = &rows->rows[i];
        const struct frame *frame = frames_get(input->frames, row->frame);

        json_write_open_object(&json, NULL);
        json_write_text(&json, "function", frame->function);
        json_write_name(&json, "file", frame->file);
        json_write_number_or_null(&json, "line", line_of(frame));
        json_write_number(&json, "total_bytes", row->total.bytes);
        json_write_number(&json, "own_bytes", row->own.bytes);
        json_write_number(&json, "allocations", row->total.allocations);
        json_write_close(&json);
    }
    json_write_close(&json);
    json_write_close(&json);
    json_write_finish(&json);
}

bool render_summary(const struct render_input *input, FILE *out, struct error *err)
{
    const struct render_options *options = input->options;
    struct paths *paths = parts_paths(input);
    struct tree tree = tree_build(paths, input->profile, options->view, ROWS_TOTAL);
    struct function_rows rows = function_rows_collect(paths, &tree, parts_sort(options));

    if (options->is_json)
        write_json(input, &rows, out);
    else
        write_text(input, &rows, out);
    function_rows_finish(&rows);
    tree_finish(&tree);
    paths_destroy(paths);
    return parts_end(out, err);
}
