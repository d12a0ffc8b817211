/*
 * Building trees. Runs in the tools.
 *
 * What holds: nodes are numbered so that a parent comes before its children; so sums go backwards
 * over the array, and nothing here calls itself.
 */
#include "report/tree.h"

#include "base/memory.h"

#include <stdlib.h>

/* For the sort: which tree, in which order. */
struct order {
    const struct paths *paths;
    const struct tree_node *nodes;
    enum rows_sort sort;
};

static void add_cost(struct profile_cost *sum, const struct profile_cost *cost)
{
    sum->bytes += cost->bytes;
    sum->allocations += cost->allocations;
}

static int compare_falling(uint64_t a, uint64_t b)
{
    return (a < b) - (a > b);
}

static int compare_nodes(const void *first, const void *second, void *user)
{
    const struct order *order = user;
    const struct tree_node *a = &order->nodes[*(const uint32_t *)first];
    const struct tree_node *b = &order->nodes[*(const uint32_t *)second];
    int result = 0;

    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    if (order->sort == ROWS_OWN)
        result = compare_falling(a->own.bytes, b->own.bytes);
    else if (order->sort == ROWS_COUNT)
        result = compare_falling(a->total.allocations, b->total.allocations);
    else if (order->sort == ROWS_NAME)
        result = paths_compare_frames(order->paths, a->frame, b->frame);
    if (result == 0)
        result = compare_falling(a->total.bytes, b->total.bytes);
    if (result == 0)
        result = paths_compare_frames(order->paths, a->frame, b->frame);
    return result != 0 ? result : (a > b) - (a < b);
}

/* Make the lists of children, of nodes that stand for something. */
static void link_children(const struct tree *tree, const struct paths *paths, enum rows_sort sort)
{
    uint32_t *shown = memory_allocate(tree->count, sizeof(shown[0])), count = 0;
    struct order order = {paths, tree->nodes, sort};

    for (uint32_t i = 1; i < tree->count; i++) {
        if (tree->nodes[i].total.allocations > 0 || tree->nodes[i].total.bytes > 0)
            shown[count++] = i;
    }
    qsort_r(shown, count, sizeof(shown[0]), compare_nodes, &order);
    /* Backwards: each becomes the first of its parent's list. */
    while (count > 0) {
        struct tree_node *node = &tree->nodes[shown[--count]];
        struct tree_node *parent = &tree->nodes[node->parent];

        node->next_sibling = parent->first_child;
        parent->first_child = shown[count];
        parent->child_count++;
    }
    free(shown);
}

/* What each path's own stacks cost. Returns an array with one entry a path. */
static struct profile_cost *collect_own(struct paths *paths, const struct profile *profile,
                                        enum profile_view view, uint32_t *ret_count)
{
    uint32_t *row_paths = memory_allocate(profile->row_count, sizeof(row_paths[0]));
    struct profile_cost *own;

    paths_prepare_view(paths, profile, view);
    for (uint32_t i = 0; i < profile->row_count; i++) {
        const struct profile_cost *cost = &profile->rows[i].costs[view];

        if (cost->allocations > 0 || cost->bytes > 0)
            row_paths[i] = paths_of_stack(paths, profile->rows[i].stack);
    }
    paths_all(paths, ret_count);
    own = memory_allocate(*ret_count, sizeof(own[0]));
    for (uint32_t i = 0; i < profile->row_count; i++)
        add_cost(&own[row_paths[i]], &profile->rows[i].costs[view]);
    free(row_paths);
    return own;
}

struct tree tree_build(struct paths *paths, const struct profile *profile, enum profile_view view,
                       enum rows_sort sort)
{
    struct tree tree;
    struct profile_cost *own = collect_own(paths, profile, view, &tree.count);
    const struct path *all = paths_all(paths, &tree.count);

    tree.nodes = memory_allocate(tree.count, sizeof(tree.nodes[0]));
    for (uint32_t i = tree.count; i-- > 0;) {
        struct tree_node *node = &tree.nodes[i], *parent = &tree.nodes[all[i].parent];

        node->frame = all[i].frame;
        node->parent = all[i].parent;
        node->own = own[i];
        add_cost(&node->total, &own[i]);
        node->stack_count += own[i].allocations > 0 || own[i].bytes > 0;
        if (i > 0) {
            add_cost(&parent->total, &node->total);
            parent->stack_count += node->stack_count;
        }
    }
    free(own);
    link_children(&tree, paths, sort);
    return tree;
}

/*
 * The inverted tree: stacks that share their innermost frames lie side by side in one array, and a
 * node is a range of it. A node's children are found by moving each stack of its range one frame
 * outwards and sorting the range by that frame, so the array is all that is needed besides the tree.
 */
struct strand {
    uint32_t path; /* that the stack goes on with, outwards */
    uint32_t frame;
    struct profile_cost cost;
};

struct range {
    uint32_t node;
    size_t first, end; /* in strands */
};

struct inversion {
    const struct path *paths;
    struct strand *strands;
    struct tree tree;
    size_t node_capacity;
    struct range *work; /* nodes whose children are still to be found */
    size_t work_count, work_capacity;
    uint64_t least_bytes;
};

static int compare_strands(const void *first, const void *second)
{
    const struct strand *a = first, *b = second;

    if (a->frame != b->frame)
        return a->frame < b->frame ? -1 : 1;
    return (a->path > b->path) - (a->path < b->path);
}

/* Make a node of a range of strands that have just come to its frame. */
static void add_inverted(struct inversion *inversion, uint32_t parent, size_t first, size_t end)
{
    struct tree_node node = {.parent = parent, .frame = inversion->strands[first].frame};
    struct tree *tree = &inversion->tree;

    for (size_t i = first; i < end; i++) {
        struct strand *strand = &inversion->strands[i];

        add_cost(&node.total, &strand->cost);
        strand->path = inversion->paths[strand->path].parent;
        if (strand->path == 0)
            add_cost(&node.own, &strand->cost);
    }
    node.stack_count = (uint32_t)(end - first);
    tree->nodes = memory_grow(tree->nodes, &inversion->node_capacity, (size_t)tree->count + 1,
                              sizeof(tree->nodes[0]));
    tree->nodes[tree->count] = node;
    if (node.total.bytes >= inversion->least_bytes) {
        inversion->work = memory_grow(inversion->work, &inversion->work_capacity,
                                      inversion->work_count + 1, sizeof(inversion->work[0]));
        inversion->work[inversion->work_count++] = (struct range){tree->count, first, end};
    }
    tree->count++;
}

/* Deep recursion has the same caller again and again: nothing to sort then. */
static bool is_of_one_frame(const struct strand *strands, size_t first, size_t end)
{
    for (size_t i = first + 1; i < end; i++) {
        if (strands[i].frame != strands[first].frame)
            return false;
    }
    return true;
}

static void add_children(struct inversion *inversion, struct range range)
{
    struct strand *strands = inversion->strands;
    size_t next;

    for (size_t i = range.first; i < range.end; i++)
        strands[i].frame = strands[i].path != 0 ? inversion->paths[strands[i].path].frame : 0;
    /* Those that end here first: they have no frame to sort by. */
    next = range.first;
    for (size_t i = range.first; i < range.end; i++) {
        if (strands[i].path == 0) {
            struct strand ended = strands[i];

            strands[i] = strands[next];
            strands[next++] = ended;
        }
    }
    if (!is_of_one_frame(strands, next, range.end))
        qsort(strands + next, range.end - next, sizeof(strands[0]), compare_strands);
    while (next < range.end) {
        size_t first = next;

        while (next < range.end && strands[next].frame == strands[first].frame)
            next++;
        add_inverted(inversion, range.node, first, next);
    }
}

struct tree tree_build_inverted(struct paths *paths, const struct profile *profile,
                                enum profile_view view, enum rows_sort sort, uint64_t least_bytes)
{
    uint32_t path_count;
    struct profile_cost *own = collect_own(paths, profile, view, &path_count);
    struct inversion inversion = {.least_bytes = least_bytes};
    size_t count = 0;

    inversion.paths = paths_all(paths, &path_count);
    inversion.strands = memory_allocate(path_count, sizeof(inversion.strands[0]));
    inversion.tree.nodes =
        memory_grow(NULL, &inversion.node_capacity, 1, sizeof(inversion.tree.nodes[0]));
    inversion.tree.nodes[0] = (struct tree_node){.parent = 0};
    inversion.tree.count = 1;
    for (uint32_t i = 1; i < path_count; i++) {
        if (own[i].allocations == 0 && own[i].bytes == 0)
            continue;
        inversion.strands[count++] = (struct strand){.path = i, .cost = own[i]};
        add_cost(&inversion.tree.nodes[0].total, &own[i]);
    }
    inversion.tree.nodes[0].stack_count = (uint32_t)count;
    free(own);
    add_children(&inversion, (struct range){0, 0, count});
    while (inversion.work_count > 0)
        add_children(&inversion, inversion.work[--inversion.work_count]);
    free(inversion.work);
    free(inversion.strands);
    link_children(&inversion.tree, paths, sort);
    return inversion.tree;
}

void tree_finish(struct tree *tree)
{
    free(tree->nodes);
    tree->nodes = NULL;
    tree->count = 0;
}
