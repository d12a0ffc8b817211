/*
 * `memtrack tree`: who called whom to allocate what. Runs in the tools.
 *
 * The tree may be thousands of levels deep: it is walked with a list of what is open, never by
 * calling itself. In text a run of frames that have next to nothing but each other is folded into its
 * ends, and what is below the threshold is one line; a threshold of 0 shows everything. JSON folds
 * nothing.
 */
#include "report/tree.h"

#include "print/numbers.h"
#include "print/table.h"
#include "render/parts.h"
#include "report/function_names.h"
#include "report/labels.h"

#include <stdlib.h>
#include <string.h>

enum {
    FOLD_LEAST_NODES = 4, /* shorter runs are shown whole */
    LEVEL_COLUMNS = 3,    /* "+- ", "|  " */
    LEVEL_MAX_BYTES = 7,
};

/* How a level is drawn: LEVEL_COLUMNS and at most LEVEL_MAX_BYTES each. */
struct lines {
    const char *node, *last_node; /* before a node */
    const char *through, *blank;  /* before nodes below it */
    const char *cut;              /* outer levels that are left out */
};

static const struct lines ascii_lines = {"+- ", "`- ", "|  ", "   ", ".. "};
static const struct lines drawn_lines = {"\xe2\x94\x9c\xe2\x94\x80 ", "\xe2\x94\x94\xe2\x94\x80 ",
                                         "\xe2\x94\x82  ", "   ", "\xe2\x80\xa6  "};

static const struct table_column columns[] = {
    {.title = "TOTAL", .kind = TABLE_NUMBER},
    {.title = "%", .kind = TABLE_NUMBER},
    {.title = "COUNT", .kind = TABLE_NUMBER},
    {.title = "FUNCTION", .kind = TABLE_TEXT},
    {.title = "WHERE", .kind = TABLE_PATH, .is_dim = true},
};

/* A node that is shown and whose children are being shown. */
struct level {
    uint32_t node;
    uint32_t next_child; /* 0: all have been shown */
    bool is_last;        /* of its siblings that are shown */
};

struct view {
    const struct render_input *input;
    const struct tree *tree;
    uint64_t least_bytes;
    const struct lines *lines;
    struct level *levels;
    size_t depth, capacity;
    struct memory_pool pool;
    char *prefix;
    size_t prefix_capacity;
    unsigned prefix_max_levels;
    /* Text only. */
    struct table *table;
    size_t shown_count, hidden_count, limit;
};

/* Sorted by anything, a small node may stand before a large one. */
static uint32_t skip_small(const struct view *view, uint32_t node)
{
    while (node != 0 && view->tree->nodes[node].total.bytes < view->least_bytes)
        node = view->tree->nodes[node].next_sibling;
    return node;
}

static void open_level(struct view *view, uint32_t node, bool is_last)
{
    view->levels =
        memory_grow(view->levels, &view->capacity, view->depth + 1, sizeof(view->levels[0]));
    view->levels[view->depth++] = (struct level){
        .node = node,
        .next_child = skip_small(view, view->tree->nodes[node].first_child),
        .is_last = is_last,
    };
}

/* Returns where the end is now. */
static size_t append(char *text, size_t at, const char *more)
{
    size_t length = strlen(more);

    memcpy(text + at, more, length + 1);
    return at + length;
}

/*
 * The lines that lead to a node of the innermost level: "|  |  `- ". Of deep nodes the outer ones
 * are left out, or the name would have no room.
 */
static const char *make_prefix(struct view *view, const char *connector)
{
    size_t first = 1, at = 0;
    bool is_cut = view->depth - 1 > view->prefix_max_levels;

    if (is_cut)
        first = view->depth - view->prefix_max_levels;
    view->prefix = memory_grow(view->prefix, &view->prefix_capacity,
                               (view->depth + 2) * LEVEL_MAX_BYTES + 1, 1);
    if (is_cut)
        at = append(view->prefix, at, view->lines->cut);
    for (size_t i = first; i < view->depth; i++)
        at = append(view->prefix, at,
                    view->levels[i].is_last ? view->lines->blank : view->lines->through);
    append(view->prefix, at, connector);
    return view->prefix;
}

static void add_line(struct view *view, const struct profile_cost *cost, const char *name,
                     const char *place)
{
    uint64_t all_bytes = view->tree->nodes[0].total.bytes;

    if (view->shown_count == view->limit) {
        view->hidden_count++;
        return;
    }
    view->shown_count++;
    table_add(view->table, units_format_size(cost->bytes, 0).text);
    table_add(view->table, numbers_format_share(cost->bytes, all_bytes).text);
    table_add(view->table, numbers_format_count(cost->allocations).text);
    table_add(view->table, name);
    table_add(view->table, place);
}

static void add_node_line(struct view *view, uint32_t number, bool is_last, size_t folded_count)
{
    const struct tree_node *node = &view->tree->nodes[number];
    const struct frame *frame = frames_get(view->input->frames, node->frame);
    const char *prefix = make_prefix(view, is_last ? view->lines->last_node : view->lines->node);
    const char *function = label_function(&view->pool, frame, view->input->options->is_ascii);
    size_t room_bytes = strlen(prefix) + strlen(function) + 48;
    char *name = memory_pool_allocate(&view->pool, room_bytes);

    if (folded_count > 0)
        snprintf(name, room_bytes, "%s(%s folded) %s", prefix,
                 numbers_format_count(folded_count).text, function);
    else
        snprintf(name, room_bytes, "%s%s", prefix, function);
    add_line(view, &node->total, name,
             label_place(&view->pool, view->input->capture, frame, frame->line));
}

/* What of a node's children is too small, when together it is not. */
static void add_rest_line(struct view *view, const struct level *level)
{
    const struct tree_node *nodes = view->tree->nodes;
    struct profile_cost rest = {.bytes = 0};
    uint64_t stack_count = 0;
    char text[96];
    const char *prefix;
    size_t room_bytes;
    char *name;

    for (uint32_t i = nodes[level->node].first_child; i != 0; i = nodes[i].next_sibling) {
        if (nodes[i].total.bytes < view->least_bytes) {
            rest.bytes += nodes[i].total.bytes;
            rest.allocations += nodes[i].total.allocations;
            stack_count += nodes[i].stack_count;
        }
    }
    if (stack_count == 0 || (level->node != 0 && rest.bytes < view->least_bytes))
        return;
    snprintf(text, sizeof(text), "(%s smaller stack%s)", numbers_format_count(stack_count).text,
             numbers_plural(stack_count));
    prefix = make_prefix(view, "");
    room_bytes = strlen(prefix) + strlen(text) + 1;
    name = memory_pool_allocate(&view->pool, room_bytes);
    snprintf(name, room_bytes, "%s%s", prefix, text);
    add_line(view, &rest, name, "");
}

/*
 * Follow a run: nodes with one child that is shown, until what they lost on the way is itself worth
 * showing. Returns its last node.
 */
static uint32_t end_of_run(const struct view *view, uint32_t first, size_t *ret_count)
{
    const struct tree_node *nodes = view->tree->nodes;
    uint32_t node = first;

    for (*ret_count = 1;; ++*ret_count) {
        uint32_t child = skip_small(view, nodes[node].first_child);

        if (child == 0 || skip_small(view, nodes[child].next_sibling) != 0 ||
            nodes[first].total.bytes - nodes[child].total.bytes >= view->least_bytes)
            return node;
        node = child;
    }
}

/* Show a node, or the two ends of its run, and go on below it. */
static void show_node(struct view *view, uint32_t node, bool is_last)
{
    size_t run_count = 1;
    uint32_t end = node;

    if (view->least_bytes > 0)
        end = end_of_run(view, node, &run_count);
    add_node_line(view, node, is_last, 0);
    open_level(view, node, is_last);
    if (run_count < FOLD_LEAST_NODES)
        return;
    view->levels[view->depth - 1].next_child = 0;
    add_node_line(view, end, true, run_count - 2);
    open_level(view, end, true);
}

static void show_tree(struct view *view)
{
    open_level(view, 0, true);
    add_line(view, &view->tree->nodes[0].total, "all", "");
    while (view->depth > 0) {
        struct level *level = &view->levels[view->depth - 1];
        uint32_t child = level->next_child;

        if (child != 0) {
            level->next_child = skip_small(view, view->tree->nodes[child].next_sibling);
            show_node(view, child, level->next_child == 0);
        } else {
            add_rest_line(view, level);
            view->depth--;
        }
    }
}

static void write_text(const struct render_input *input, const struct tree *tree,
                       uint64_t least_bytes, FILE *out)
{
    struct text_style style = parts_style(input->options);
    struct view view = {
        .input = input,
        .tree = tree,
        .least_bytes = least_bytes,
        .lines = style.is_ascii ? &ascii_lines : &drawn_lines,
        .limit = parts_row_limit(input->options, SIZE_MAX),
        .prefix_max_levels = style.width_columns / 3 / LEVEL_COLUMNS,
        .table = table_create(columns, sizeof(columns) / sizeof(columns[0]), &style),
    };

    parts_write_header(input, out);
    show_tree(&view);
    table_finish(view.table, true, out);
    parts_write_more(out, view.shown_count + view.hidden_count, view.shown_count, "line", "lines");
    memory_pool_finish(&view.pool);
    free(view.levels);
    free(view.prefix);
}

static void open_json_node(struct json_writer *json, const char *key, const struct view *view,
                           uint32_t number)
{
    static const struct frame root = {.function = "all", .file = "", .kind = FRAME_SPECIAL};
    const struct tree_node *node = &view->tree->nodes[number];

    json_write_open_object(json, key);
    parts_write_frame_fields(json,
                             number == 0 ? &root : frames_get(view->input->frames, node->frame));
    json_write_number(json, "total_bytes", node->total.bytes);
    json_write_number(json, "own_bytes", node->own.bytes);
    json_write_number(json, "allocations", node->total.allocations);
    json_write_open_rows(json, "children");
}

static void write_json(const struct render_input *input, const struct tree *tree,
                       uint64_t least_bytes, FILE *out)
{
    struct view view = {.input = input, .tree = tree, .least_bytes = least_bytes};
    struct json_writer json;

    json_write_init(&json, out);
    parts_open_json(&json, input, "tree");
    open_json_node(&json, "root", &view, 0);
    open_level(&view, 0, true);
    while (view.depth > 0) {
        struct level *level = &view.levels[view.depth - 1];
        uint32_t child = level->next_child;

        if (child != 0) {
            level->next_child = skip_small(&view, tree->nodes[child].next_sibling);
            open_json_node(&json, NULL, &view, child);
            open_level(&view, child, true);
        } else {
            json_write_close(&json);
            json_write_close(&json);
            view.depth--;
        }
    }
    json_write_close(&json);
    json_write_finish(&json);
    free(view.levels);
}

/* The least that a node must have to be shown, rounded up. */
static uint64_t threshold_bytes(uint64_t all_bytes, uint64_t parts_per_million)
{
    uint64_t whole = all_bytes / 1000000 * parts_per_million;
    uint64_t rest = all_bytes % 1000000 * parts_per_million;

    return whole + rest / 1000000 + (rest % 1000000 != 0);
}

bool render_tree(const struct render_input *input, FILE *out, struct error *err)
{
    const struct render_options *options = input->options;
    struct paths *paths = parts_paths(input);
    uint64_t all_bytes = parts_view_cost(input->profile, options->view).bytes;
    uint64_t least_bytes = threshold_bytes(all_bytes, options->threshold_parts_per_million);
    struct tree tree;

    if (options->is_inverted)
        tree = tree_build_inverted(paths, input->profile, options->view, parts_sort(options),
                                   least_bytes);
    else
        tree = tree_build(paths, input->profile, options->view, parts_sort(options));
    if (options->is_json)
        write_json(input, &tree, least_bytes, out);
    else
        write_text(input, &tree, least_bytes, out);
    tree_finish(&tree);
    paths_destroy(paths);
    return parts_end(out, err);
}
