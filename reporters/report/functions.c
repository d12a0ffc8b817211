/*
 * Rows by function. Runs in the tools.
 *
 * A function that calls itself is in a stack several times but costs what the stack costs once: its
 * total is the sum of the tree's nodes that have no node of the same function above them. One walk
 * over the tree with a count of open nodes for each function finds them, at any depth.
 */
#include "report/rows.h"

#include "base/hash_index.h"
#include "base/memory.h"
#include "report/tree.h"

#include <assert.h>
#include <stdlib.h>

#define NOT_YET UINT32_MAX

struct functions {
    const struct paths *paths;
    struct function_row *rows;
    size_t count, capacity;
    struct hash_index index;
    uint32_t *of_frame;   /* row of each frame; NOT_YET */
    uint32_t *open_count; /* by row: nodes between the root and here; as many as there are frames */
};

struct order {
    const struct paths *paths;
    enum rows_sort sort;
};

/* A function that is inlined in one place is no other one. */
static uint8_t kind_of(const struct frame *frame)
{
    return frame->kind == FRAME_INLINED ? FRAME_NATIVE : frame->kind;
}

/* Texts are compared as pointers: frames keep each text once. */
static bool is_same_function(const struct frame *a, const struct frame *b)
{
    return a->function == b->function && a->file == b->file && a->first_line == b->first_line &&
           a->module == b->module && kind_of(a) == kind_of(b);
}

static bool row_equals(const void *items, uint32_t item, const void *key)
{
    const struct functions *functions = items;
    const struct frames *frames = paths_frames(functions->paths);

    return is_same_function(frames_get(frames, functions->rows[item].frame), key);
}

static uint32_t row_of_frame(struct functions *functions, uint32_t frame_id)
{
    const struct frame *frame = frames_get(paths_frames(functions->paths), frame_id);
    uint64_t hash;
    uint32_t row = functions->of_frame[frame_id];

    if (row != NOT_YET)
        return row;
    hash = hash_index_mix(hash_index_mix((uintptr_t)frame->function, (uintptr_t)frame->file),
                          (uint64_t)frame->first_line << 8 | kind_of(frame));
    row = hash_index_find(&functions->index, hash, row_equals, functions, frame);
    if (row == HASH_INDEX_NONE) {
        row = (uint32_t)functions->count;
        functions->rows = memory_grow(functions->rows, &functions->capacity, functions->count + 1,
                                      sizeof(functions->rows[0]));
        functions->rows[functions->count++] = (struct function_row){.frame = frame_id};
        hash_index_add(&functions->index, hash, row);
    }
    functions->of_frame[frame_id] = row;
    return row;
}

static void enter_node(struct functions *functions, const struct tree_node *node)
{
    uint32_t number = row_of_frame(functions, node->frame);
    struct function_row *row = &functions->rows[number];

    assert(number < functions->count);
    row->own.bytes += node->own.bytes;
    row->own.allocations += node->own.allocations;
    if (functions->open_count[number]++ > 0)
        return;
    row->total.bytes += node->total.bytes;
    row->total.allocations += node->total.allocations;
}

static void leave_node(struct functions *functions, const struct tree_node *node)
{
    functions->open_count[functions->of_frame[node->frame]]--;
}

static void walk(struct functions *functions, const struct tree *tree)
{
    uint32_t at = tree->nodes[0].first_child;

    while (at != 0) {
        const struct tree_node *node = &tree->nodes[at];

        enter_node(functions, node);
        if (node->first_child != 0) {
            at = node->first_child;
            continue;
        }
        leave_node(functions, node);
        while (at != 0 && tree->nodes[at].next_sibling == 0) {
            at = tree->nodes[at].parent;
            if (at != 0)
                leave_node(functions, &tree->nodes[at]);
        }
        if (at != 0)
            at = tree->nodes[at].next_sibling;
    }
}

static int compare_falling(uint64_t a, uint64_t b)
{
    return (a < b) - (a > b);
}

static int compare_functions(const struct paths *paths, uint32_t first, uint32_t second)
{
    const struct frame *a = frames_get(paths_frames(paths), first);
    const struct frame *b = frames_get(paths_frames(paths), second);
    int order = paths_compare_frames(paths, first, second);

    /* Lines of one function differ by what was met first; its first line does not. */
    if (a->function == b->function && a->file == b->file)
        order = compare_falling(b->first_line, a->first_line);
    return order;
}

static int compare_as_asked(const void *first, const void *second, void *user)
{
    const struct function_row *a = first, *b = second;
    const struct order *order = user;
    int result = 0;

    if (order->sort == ROWS_OWN)
        result = compare_falling(a->own.bytes, b->own.bytes);
    else if (order->sort == ROWS_COUNT)
        result = compare_falling(a->total.allocations, b->total.allocations);
    else if (order->sort == ROWS_NAME)
        result = compare_functions(order->paths, a->frame, b->frame);
    if (result == 0)
        result = compare_falling(a->total.bytes, b->total.bytes);
    if (result == 0)
        result = compare_falling(a->own.bytes, b->own.bytes);
    if (result == 0)
        result = compare_functions(order->paths, a->frame, b->frame);
    return result != 0 ? result : (a->frame > b->frame) - (a->frame < b->frame);
}

struct function_rows function_rows_collect(const struct paths *paths, const struct tree *tree,
                                           enum rows_sort sort)
{
    uint32_t frame_count = frames_count(paths_frames(paths));
    struct functions functions = {.paths = paths};
    struct order order = {paths, sort};

    functions.of_frame = memory_allocate(frame_count, sizeof(functions.of_frame[0]));
    functions.open_count = memory_allocate(frame_count, sizeof(functions.open_count[0]));
    for (uint32_t i = 0; i < frame_count; i++)
        functions.of_frame[i] = NOT_YET;
    walk(&functions, tree);
    if (functions.count > 0)
        qsort_r(functions.rows, functions.count, sizeof(functions.rows[0]), compare_as_asked,
                &order);
    hash_index_finish(&functions.index);
    free(functions.of_frame);
    free(functions.open_count);
    return (struct function_rows){functions.rows, functions.count};
}

void function_rows_finish(struct function_rows *rows)
{
    free(rows->rows);
    *rows = (struct function_rows){.rows = NULL};
}
