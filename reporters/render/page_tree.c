/*
 * Four steps, each linear but for sorting: a trie of all stacks by frame; the largest share that
 * each subtree has in any view; the small ones folded; what is left put into drawing order.
 *
 * Runs in the tools. Nothing here recurses: stacks may be as deep as the program made them.
 */
#include "render/page_tree.h"

#include "base/hash_index.h"
#include "base/memory.h"
#include "report/paths.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEASURE_COUNT = 2 * VIEW_WHOLE_COUNT, /* bytes and allocations of each view */
    NODE_NONE = 0,                        /* the root is nobody's child */
};

#define PARTS_PER_MILLION 1e6

struct trie_node {
    uint32_t parent;
    int64_t frame_id;
};

/* Parents stand before their children. Node 0 is the root. */
struct trie {
    struct trie_node *nodes;
    size_t capacity;
    uint32_t count;
    struct hash_index index;
};

/* What the steps hand on. */
struct builder {
    const struct profile *profile;
    struct frames *frames;
    struct trie trie;
    uint32_t *node_of_row; /* of each profile row, in the trie */
    uint64_t *peak_bytes;  /* of each trie node's subtree */
    uint64_t *allocated_bytes;
    uint32_t *place; /* of each trie node, in the tree; 0: not in it, but for the root */
};

static bool is_same_node(const void *items, uint32_t item, const void *key)
{
    const struct trie_node *node = (const struct trie_node *)items + item, *wanted = key;

    return node->parent == wanted->parent && node->frame_id == wanted->frame_id;
}

static uint32_t trie_child(struct trie *trie, uint32_t parent, int64_t frame_id)
{
    struct trie_node wanted = {.parent = parent, .frame_id = frame_id};
    uint64_t hash = hash_index_mix(parent, (uint64_t)frame_id);
    uint32_t found = hash_index_find(&trie->index, hash, is_same_node, trie->nodes, &wanted);

    if (found != HASH_INDEX_NONE)
        return found;
    trie->nodes =
        memory_grow(trie->nodes, &trie->capacity, trie->count + 1, sizeof(trie->nodes[0]));
    trie->nodes[trie->count] = wanted;
    hash_index_add(&trie->index, hash, trie->count);
    return trie->count++;
}

static void trie_init(struct trie *trie)
{
    *trie = (struct trie){.count = 1};
    trie->nodes = memory_grow(NULL, &trie->capacity, 1, sizeof(trie->nodes[0]));
    trie->nodes[0] = (struct trie_node){.parent = NODE_NONE};
}

static void trie_finish(struct trie *trie)
{
    hash_index_finish(&trie->index);
    free(trie->nodes);
}

/* Return the node of a row that has no frames: it ends with the allocator. */
static uint32_t bare_node(struct builder *builder, const struct profile_row *row, uint32_t frame)
{
    const struct capture *capture = builder->profile->capture;
    const struct capture_stack *stack = &capture->stacks[row->stack];
    uint32_t node = trie_child(&builder->trie, 0, frame);

    if (capture->process_count > 1 && row->stream > 0 && row->stream <= capture->thread_count)
        node = trie_child(&builder->trie, node,
                          PAGE_FRAME_PROCESS -
                              (int64_t)capture->threads[row->stream - 1].process_index);
    return trie_child(&builder->trie, node, PAGE_FRAME_ALLOCATOR + stack->allocator);
}

/* Whether a path says only that no frame was seen, or none but the interpreter's own. */
static bool is_bare(const struct builder *builder, const struct path *path)
{
    return path->parent == 0 && (path->frame == frames_of_node(builder->frames, 0) ||
                                 path->frame == frames_of_interpreter(builder->frames) ||
                                 path->frame == frames_of_start(builder->frames));
}

/* Return the path of each row, with the runtime's frames: the page hides them; to be freed. */
static uint32_t *paths_of_rows(const struct profile *profile, struct paths *paths)
{
    uint32_t *row_paths = memory_allocate(profile->row_count, sizeof(row_paths[0]));

    for (uint32_t i = 0; i < profile->row_count; i++)
        row_paths[i] = profile->rows[i].stack;
    paths_prepare(paths, row_paths, profile->row_count);
    for (uint32_t i = 0; i < profile->row_count; i++)
        row_paths[i] = paths_of_stack(paths, row_paths[i]);
    return row_paths;
}

static void map_rows(struct builder *builder, struct paths *paths)
{
    const struct profile *profile = builder->profile;
    uint32_t *row_paths = paths_of_rows(profile, paths), path_count;
    const struct path *all = paths_all(paths, &path_count);
    uint32_t *mapped = memory_allocate(path_count, sizeof(mapped[0]));

    for (uint32_t i = 1; i < path_count; i++) {
        if (!is_bare(builder, &all[i]))
            mapped[i] = trie_child(&builder->trie, mapped[all[i].parent], all[i].frame);
    }
    builder->node_of_row = memory_allocate(profile->row_count, sizeof(builder->node_of_row[0]));
    for (uint32_t i = 0; i < profile->row_count; i++) {
        uint32_t path = row_paths[i];

        builder->node_of_row[i] = mapped[path] != 0
                                      ? mapped[path]
                                      : bare_node(builder, &profile->rows[i], all[path].frame);
    }
    free(mapped);
    free(row_paths);
}

static uint64_t row_measure(const struct profile_row *row, unsigned measure)
{
    const struct profile_cost *cost = &row->costs[measure / 2];

    return measure % 2 == 0 ? cost->bytes : cost->allocations;
}

/* Sum a measure over each subtree. ret_sums: trie.count, zero. */
static void sum_subtrees(const struct builder *builder, unsigned measure, uint64_t *ret_sums)
{
    const struct trie *trie = &builder->trie;

    for (uint32_t i = 0; i < builder->profile->row_count; i++)
        ret_sums[builder->node_of_row[i]] += row_measure(&builder->profile->rows[i], measure);
    for (uint32_t i = trie->count; i-- > 1;)
        ret_sums[trie->nodes[i].parent] += ret_sums[i];
}

/* Return the largest share of each subtree in any measure, in parts per million; to be freed. */
static float *largest_shares(const struct builder *builder)
{
    size_t count = builder->trie.count;
    uint64_t *sums = memory_allocate(count, sizeof(sums[0]));
    float *shares = memory_allocate(count, sizeof(shares[0]));

    for (unsigned measure = 0; measure < MEASURE_COUNT; measure++) {
        memset(sums, 0, count * sizeof(sums[0]));
        sum_subtrees(builder, measure, sums);
        for (size_t i = 0; i < count && sums[0] > 0; i++) {
            float share = (float)((double)sums[i] / (double)sums[0] * PARTS_PER_MILLION);

            if (share > shares[i])
                shares[i] = share;
        }
    }
    free(sums);
    return shares;
}

/*
 * Point the rows of small subtrees to a box of their nearest large ancestor.
 * A child's share is never above its parent's, so what is small stays small further down.
 */
static uint32_t fold_small(struct builder *builder, uint64_t threshold_ppm)
{
    uint32_t count = builder->trie.count, folded_count = 0;
    float *shares = largest_shares(builder);
    uint32_t *target = memory_allocate(count, sizeof(target[0]));

    for (uint32_t i = 1; i < count; i++) {
        uint32_t parent = builder->trie.nodes[i].parent;

        if ((double)shares[i] >= (double)threshold_ppm)
            target[i] = i;
        else if (target[parent] != parent)
            target[i] = target[parent];
        else
            target[i] = trie_child(&builder->trie, parent, PAGE_FRAME_FOLDED);
    }
    for (uint32_t i = 0; i < builder->profile->row_count; i++) {
        uint32_t node = builder->node_of_row[i];

        folded_count += target[node] != node;
        builder->node_of_row[i] = target[node];
    }
    free(target);
    free(shares);
    return folded_count;
}

/* Mark, in place[], the trie nodes that rows use and those above them. Returns how many. */
static uint32_t mark_used(struct builder *builder)
{
    uint32_t used_count = 1;

    builder->place = memory_allocate(builder->trie.count, sizeof(builder->place[0]));
    for (uint32_t i = 0; i < builder->profile->row_count; i++)
        builder->place[builder->node_of_row[i]] = 1;
    for (uint32_t i = builder->trie.count; i-- > 1;) {
        if (builder->place[i] == 0)
            continue;
        builder->place[builder->trie.nodes[i].parent] = 1;
        used_count++;
    }
    return used_count;
}

/* Larger first; what is equal keeps the capture's order. */
static int compare_siblings(const void *a, const void *b, void *user)
{
    const struct builder *builder = user;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    uint32_t left_parent = builder->trie.nodes[left].parent;
    uint32_t right_parent = builder->trie.nodes[right].parent;

    if (left_parent != right_parent)
        return left_parent < right_parent ? -1 : 1;
    if (builder->peak_bytes[left] != builder->peak_bytes[right])
        return builder->peak_bytes[left] > builder->peak_bytes[right] ? -1 : 1;
    if (builder->allocated_bytes[left] != builder->allocated_bytes[right])
        return builder->allocated_bytes[left] > builder->allocated_bytes[right] ? -1 : 1;
    return left < right ? -1 : left > right;
}

/* Return the used nodes but for the root, siblings together and in drawing order; to be freed. */
static uint32_t *sort_siblings(struct builder *builder, uint32_t used_count)
{
    uint32_t *order = memory_allocate(used_count, sizeof(order[0]));
    uint32_t count = 0;

    builder->peak_bytes = memory_allocate(builder->trie.count, sizeof(uint64_t));
    builder->allocated_bytes = memory_allocate(builder->trie.count, sizeof(uint64_t));
    sum_subtrees(builder, 2 * VIEW_PEAK, builder->peak_bytes);
    sum_subtrees(builder, 2 * VIEW_ALLOCATED, builder->allocated_bytes);
    for (uint32_t i = 1; i < builder->trie.count; i++) {
        if (builder->place[i] != 0)
            order[count++] = i;
    }
    assert(count == used_count - 1);
    qsort_r(order, count, sizeof(order[0]), compare_siblings, builder);
    return order;
}

/* Put the nodes into preorder: a child is laid aside until all before it are done. */
static void place_nodes(struct builder *builder, struct page_tree *tree, uint32_t used_count)
{
    const struct trie_node *nodes = builder->trie.nodes;
    uint32_t *order = sort_siblings(builder, used_count);
    uint32_t *first = memory_allocate((size_t)builder->trie.count + 1, sizeof(first[0]));
    uint32_t *waiting = memory_allocate(used_count, sizeof(waiting[0]));
    uint32_t waiting_count = 1; /* the root */

    /* Children of n: order[first[n]] up to order[first[n + 1]]. */
    for (uint32_t i = 0; i + 1 < used_count; i++)
        first[nodes[order[i]].parent + 1]++;
    for (uint32_t i = 0; i < builder->trie.count; i++)
        first[i + 1] += first[i];

    tree->nodes = memory_allocate(used_count, sizeof(tree->nodes[0]));
    while (waiting_count > 0) {
        uint32_t node = waiting[--waiting_count];
        struct page_node *placed = &tree->nodes[tree->node_count];

        builder->place[node] = tree->node_count++;
        if (node != 0) {
            placed->parent = builder->place[nodes[node].parent];
            placed->depth = tree->nodes[placed->parent].depth + 1;
        }
        for (uint32_t i = first[node + 1]; i-- > first[node];)
            waiting[waiting_count++] = order[i];
        /* The trie's number, until number_frames(). */
        placed->frame = node;
    }
    assert(tree->node_count == used_count);
    free(waiting);
    free(first);
    free(order);
}

static bool is_same_frame(const void *items, uint32_t item, const void *key)
{
    return ((const int64_t *)items)[item] == *(const int64_t *)key;
}

/* Number the frames in the order of their first use. */
static void number_frames(const struct builder *builder, struct page_tree *tree)
{
    struct hash_index index = {.slots = NULL};
    size_t capacity = 0;

    for (uint32_t i = 1; i < tree->node_count; i++) {
        int64_t frame_id = builder->trie.nodes[tree->nodes[i].frame].frame_id;
        uint64_t hash = hash_index_mix((uint64_t)frame_id, 0);
        uint32_t frame = hash_index_find(&index, hash, is_same_frame, tree->frame_ids, &frame_id);

        if (frame == HASH_INDEX_NONE) {
            frame = tree->frame_count++;
            tree->frame_ids =
                memory_grow(tree->frame_ids, &capacity, tree->frame_count, sizeof(frame_id));
            tree->frame_ids[frame] = frame_id;
            hash_index_add(&index, hash, frame);
        }
        tree->nodes[i].frame = frame;
    }
    hash_index_finish(&index);
}

struct keyed_row {
    uint32_t node, stream, allocator;
    uint32_t profile_row;
};

static int compare_keyed_rows(const void *a, const void *b)
{
    const struct keyed_row *left = a, *right = b;

    if (left->node != right->node)
        return left->node < right->node ? -1 : 1;
    if (left->stream != right->stream)
        return left->stream < right->stream ? -1 : 1;
    if (left->allocator != right->allocator)
        return left->allocator < right->allocator ? -1 : 1;
    return left->profile_row < right->profile_row ? -1 : left->profile_row > right->profile_row;
}

static struct keyed_row *sort_rows(const struct builder *builder)
{
    const struct profile *profile = builder->profile;
    struct keyed_row *keyed = memory_allocate(profile->row_count, sizeof(keyed[0]));

    for (uint32_t i = 0; i < profile->row_count; i++) {
        keyed[i] = (struct keyed_row){
            .node = builder->place[builder->node_of_row[i]],
            .stream = profile->rows[i].stream,
            .allocator = profile->capture->stacks[profile->rows[i].stack].allocator,
            .profile_row = i,
        };
    }
    qsort(keyed, profile->row_count, sizeof(keyed[0]), compare_keyed_rows);
    return keyed;
}

/* Add up the profile's rows that the tree does not tell apart. */
static void merge_rows(const struct builder *builder, struct page_tree *tree)
{
    const struct profile *profile = builder->profile;
    struct keyed_row *keyed = sort_rows(builder);
    struct page_row *row = NULL;

    tree->rows = memory_allocate(profile->row_count, sizeof(tree->rows[0]));
    tree->row_of_profile_row = memory_allocate(profile->row_count, sizeof(uint32_t));
    for (uint32_t i = 0; i < profile->row_count; i++) {
        const struct profile_cost *costs = profile->rows[keyed[i].profile_row].costs;

        if (row == NULL || row->node != keyed[i].node || row->stream != keyed[i].stream ||
            row->allocator != keyed[i].allocator) {
            row = &tree->rows[tree->row_count++];
            *row = (struct page_row){
                .node = keyed[i].node,
                .stream = keyed[i].stream,
                .allocator = keyed[i].allocator,
            };
        }
        for (unsigned view = 0; view < VIEW_COUNT; view++) {
            row->costs[view].bytes += costs[view].bytes;
            row->costs[view].allocations += costs[view].allocations;
        }
        tree->row_of_profile_row[keyed[i].profile_row] = tree->row_count - 1;
    }
    free(keyed);
}

static char *process_name(const struct capture_process *process)
{
    const char *path = process->argument_count > 0 ? process->arguments[0] : "process";
    const char *slash = strrchr(path, '/');
    char *name = NULL;

    if (asprintf(&name, "%s (%" PRIu32 ")", slash != NULL ? slash + 1 : path, process->pid) < 0)
        memory_stop();
    return name;
}

static void name_processes(struct page_tree *tree, const struct capture *capture)
{
    if (capture->process_count < 2)
        return;
    tree->process_count = capture->process_count;
    tree->process_names = memory_allocate(tree->process_count, sizeof(tree->process_names[0]));
    for (uint32_t i = 0; i < tree->process_count; i++)
        tree->process_names[i] = process_name(&capture->processes[i]);
}

struct page_tree *page_tree_build(const struct profile *profile, struct paths *paths,
                                  uint64_t threshold_ppm)
{
    struct page_tree *tree = memory_allocate(1, sizeof(*tree));
    struct builder builder = {.profile = profile, .frames = paths_frames(paths)};

    trie_init(&builder.trie);
    map_rows(&builder, paths);
    if (threshold_ppm > 0)
        tree->folded_stack_count = fold_small(&builder, threshold_ppm);
    place_nodes(&builder, tree, mark_used(&builder));
    number_frames(&builder, tree);
    merge_rows(&builder, tree);
    tree->capture = profile->capture;
    name_processes(tree, profile->capture);

    free(builder.place);
    free(builder.allocated_bytes);
    free(builder.peak_bytes);
    free(builder.node_of_row);
    trie_finish(&builder.trie);
    return tree;
}

void page_tree_destroy(struct page_tree *tree)
{
    if (tree == NULL)
        return;
    for (uint32_t i = 0; i < tree->process_count; i++)
        free(tree->process_names[i]);
    free(tree->process_names);
    free(tree->row_of_profile_row);
    free(tree->rows);
    free(tree->frame_ids);
    free(tree->nodes);
    free(tree);
}
