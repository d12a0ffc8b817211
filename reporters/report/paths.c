/*
 * The trie of shown stacks. Runs in the tools; not thread-safe.
 *
 * What holds: each node of the capture is looked at once, however many stacks go through it, and no
 * function calls itself: stacks may be as deep as the capture says.
 */
#include "report/paths.h"

#include "base/hash_index.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define NOT_YET UINT32_MAX

struct paths {
    const struct capture *capture;
    struct frames *frames;
    bool shows_runtime;
    struct path *paths;
    size_t count, capacity;
    struct hash_index index;
    uint32_t *node_paths; /* capture->node_count; NOT_YET; may be 0 where all so far is hidden */
    uint32_t *pending;    /* nodes on the way up */
    size_t pending_capacity;
};

static bool path_equals(const void *items, uint32_t item, const void *key)
{
    const struct path *a = &((const struct path *)items)[item], *b = key;

    return a->parent == b->parent && a->frame == b->frame;
}

static uint32_t child_of(struct paths *paths, uint32_t parent, uint32_t frame)
{
    struct path path = {parent, frame};
    uint64_t hash = hash_index_mix(parent, frame);
    uint32_t found = hash_index_find(&paths->index, hash, path_equals, paths->paths, &path);

    if (found != HASH_INDEX_NONE)
        return found;
    paths->paths =
        memory_grow(paths->paths, &paths->capacity, paths->count + 1, sizeof(paths->paths[0]));
    paths->paths[paths->count] = path;
    hash_index_add(&paths->index, hash, (uint32_t)paths->count);
    return (uint32_t)paths->count++;
}

static bool is_shown(const struct paths *paths, uint32_t frame_id)
{
    const struct frame *frame = frames_get(paths->frames, frame_id);

    return !frame->is_hidden && (paths->shows_runtime || !frame->is_runtime);
}

/* Up to a node whose path is known, then down again. */
static uint32_t resolve(struct paths *paths, uint32_t node)
{
    size_t count = 0;
    uint32_t path;

    while (node != 0 && paths->node_paths[node] == NOT_YET) {
        paths->pending = memory_grow(paths->pending, &paths->pending_capacity, count + 1,
                                     sizeof(paths->pending[0]));
        paths->pending[count++] = node;
        node = paths->capture->nodes[node].parent;
    }
    path = node != 0 ? paths->node_paths[node] : 0;
    while (count > 0) {
        uint32_t frame;

        node = paths->pending[--count];
        frame = frames_of_node(paths->frames, node);
        if (is_shown(paths, frame))
            path = child_of(paths, path, frame);
        paths->node_paths[node] = path;
    }
    return path;
}

struct paths *paths_create(const struct capture *capture, struct frames *frames, bool shows_runtime)
{
    struct paths *paths = memory_allocate(1, sizeof(*paths));

    paths->capture = capture;
    paths->frames = frames;
    paths->shows_runtime = shows_runtime;
    paths->paths = memory_grow(NULL, &paths->capacity, 1, sizeof(paths->paths[0]));
    paths->paths[paths->count++] = (struct path){.parent = 0};
    paths->node_paths = memory_allocate(capture->node_count, sizeof(paths->node_paths[0]));
    for (uint32_t i = 0; i < capture->node_count; i++)
        paths->node_paths[i] = NOT_YET;
    return paths;
}

void paths_destroy(struct paths *paths)
{
    if (paths == NULL)
        return;
    hash_index_finish(&paths->index);
    free(paths->paths);
    free(paths->node_paths);
    free(paths->pending);
    free(paths);
}

uint32_t paths_of_node(struct paths *paths, uint32_t node)
{
    uint32_t path = resolve(paths, node);

    if (path != 0)
        return path;
    return child_of(paths, 0,
                    node == 0 ? frames_of_node(paths->frames, 0)
                              : frames_of_interpreter(paths->frames));
}

const struct path *paths_all(const struct paths *paths, uint32_t *ret_count)
{
    *ret_count = (uint32_t)paths->count;
    return paths->paths;
}

struct frames *paths_frames(const struct paths *paths)
{
    return paths->frames;
}

int paths_compare_frames(const struct paths *paths, uint32_t a, uint32_t b)
{
    const struct frame *first = frames_get(paths->frames, a),
                       *second = frames_get(paths->frames, b);
    int order = strcmp(first->function, second->function);

    if (order == 0)
        order = strcmp(first->file, second->file);
    if (order == 0)
        order = (first->line > second->line) - (first->line < second->line);
    if (order == 0)
        order = (int)first->kind - (int)second->kind;
    return order;
}
