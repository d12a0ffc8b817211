/*
 * The trie of shown stacks. Runs in the tools; not thread-safe.
 *
 * What holds: each node of the capture is looked at once, however many stacks go through it, and no
 * function calls itself: stacks may be as deep as the capture says. Native and Python stacks are
 * joined from the innermost frame on, so what two stacks have above a pair of nodes is the same, and a
 * pair is looked at once too: there are hardly more of them than nodes.
 */
#include "report/paths.h"

#include "base/hash_index.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define NOT_YET UINT32_MAX

/* Where a joined stack has come to, and what is its innermost part there. */
enum part {
    PART_BOTH = 0,  /* all of both nodes */
    PART_GROUP = 1, /* the Python frame, inside of the native one, which is a loop */
    PART_NATIVE =
        2, /* the native frame, which is a loop, outside of a group; Python: what is left */
};

struct joint {
    uint32_t python_node, native_node;
    uint32_t part; /* enum part */
    uint32_t path; /* when it is known; may be 0 as in node_paths */
};

struct paths {
    const struct capture *capture;
    struct frames *frames;
    unsigned shown; /* enum paths_shown */
    struct path *paths;
    size_t count, capacity;
    struct hash_index index;
    uint32_t *node_paths; /* capture->node_count; NOT_YET; may be 0 where all so far is hidden */
    uint32_t *pending;    /* nodes on the way up */
    size_t pending_capacity;
    struct joint *joints; /* whose path is known */
    size_t joint_count, joint_capacity;
    struct hash_index joint_index;
    struct joint *pending_joints; /* on the way up */
    size_t pending_joint_capacity;
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

    if (frame->is_hidden || !frame->is_runtime)
        return !frame->is_hidden;
    return paths->shown & PATHS_SHOW_RUNTIME &&
           (frame->kind == FRAME_PYTHON || !(paths->shown & PATHS_FOLD_NATIVE));
}

/* Add a frame to a path, if it is shown. */
static uint32_t append(struct paths *paths, uint32_t path, uint32_t frame)
{
    return is_shown(paths, frame) ? child_of(paths, path, frame) : path;
}

/* Up to a node whose path is known, then down again. */
static uint32_t resolve_python(struct paths *paths, uint32_t node)
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
        node = paths->pending[--count];
        path = append(paths, path, frames_of_node(paths->frames, node));
        paths->node_paths[node] = path;
    }
    return path;
}

static bool joint_equals(const void *items, uint32_t item, const void *key)
{
    const struct joint *a = &((const struct joint *)items)[item], *b = key;

    return a->python_node == b->python_node && a->native_node == b->native_node &&
           a->part == b->part;
}

static uint64_t joint_hash(const struct joint *joint)
{
    return hash_index_mix((uint64_t)joint->python_node << 32 | joint->native_node, joint->part);
}

static bool is_loop(const struct paths *paths, const struct joint *joint)
{
    return paths->capture->native_nodes[joint->native_node].is_eval;
}

/* What stands around the innermost frame of a joint. */
static struct joint outwards(const struct paths *paths, const struct joint *joint)
{
    const struct capture *capture = paths->capture;
    struct joint outer = *joint;

    if (joint->part == PART_BOTH && is_loop(paths, joint) && joint->python_node != 0) {
        outer.part = PART_GROUP; /* only another name for it */
    } else if (joint->part == PART_GROUP) {
        const struct capture_node *node = &capture->nodes[joint->python_node];

        outer.python_node = node->parent;
        if (node->is_entry || node->parent == 0)
            outer.part = PART_NATIVE;
    } else {
        outer.native_node = frames_native_parent(paths->frames, joint->native_node);
        outer.part = PART_BOTH;
    }
    return outer;
}

/* The path of a joint whose outer part has this one. */
static uint32_t append_joint(struct paths *paths, uint32_t path, const struct joint *joint)
{
    const uint32_t *frames;
    uint32_t count;

    if (joint->part == PART_GROUP)
        return append(paths, path, frames_of_node(paths->frames, joint->python_node));
    if (joint->part == PART_BOTH && is_loop(paths, joint) && joint->python_node != 0)
        return path;
    count = frames_of_native(paths->frames, joint->native_node, &frames);
    for (uint32_t i = 0; i < count; i++)
        path = append(paths, path, frames[i]);
    return path;
}

/* Returns false when the path is not known yet. Without native frames it is that of the others. */
static bool find_joint(struct paths *paths, const struct joint *joint, uint32_t *ret_path)
{
    uint32_t found;

    if (joint->native_node == 0) {
        *ret_path = resolve_python(paths, joint->python_node);
        return true;
    }
    found =
        hash_index_find(&paths->joint_index, joint_hash(joint), joint_equals, paths->joints, joint);
    if (found == HASH_INDEX_NONE)
        return false;
    *ret_path = paths->joints[found].path;
    return true;
}

static void keep_joint(struct paths *paths, const struct joint *joint)
{
    paths->joints = memory_grow(paths->joints, &paths->joint_capacity, paths->joint_count + 1,
                                sizeof(paths->joints[0]));
    paths->joints[paths->joint_count] = *joint;
    hash_index_add(&paths->joint_index, joint_hash(joint), (uint32_t)paths->joint_count);
    paths->joint_count++;
}

static uint32_t resolve_joint(struct paths *paths, uint32_t python_node, uint32_t native_node)
{
    struct joint joint = {python_node, native_node, PART_BOTH, 0};
    size_t count = 0;
    uint32_t path;

    while (!find_joint(paths, &joint, &path)) {
        paths->pending_joints = memory_grow(paths->pending_joints, &paths->pending_joint_capacity,
                                            count + 1, sizeof(paths->pending_joints[0]));
        paths->pending_joints[count++] = joint;
        joint = outwards(paths, &joint);
    }
    while (count > 0) {
        struct joint *pending = &paths->pending_joints[--count];

        path = append_joint(paths, path, pending);
        pending->path = path;
        keep_joint(paths, pending);
    }
    return path;
}

struct paths *paths_create(const struct capture *capture, struct frames *frames, unsigned shown)
{
    struct paths *paths = memory_allocate(1, sizeof(*paths));

    paths->capture = capture;
    paths->frames = frames;
    paths->shown = shown;
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
    hash_index_finish(&paths->joint_index);
    free(paths->joints);
    free(paths->pending_joints);
    free(paths);
}

void paths_prepare(struct paths *paths, const uint32_t *stacks, size_t count)
{
    const struct capture *capture = paths->capture;
    uint32_t *nodes;

    if (paths->shown & PATHS_HIDE_NATIVE || capture->native_node_count <= 1)
        return;
    nodes = memory_allocate(count, sizeof(nodes[0]));
    for (size_t i = 0; i < count; i++)
        nodes[i] = capture->stacks[stacks[i]].native_node;
    frames_prepare_native(paths->frames, nodes, count);
    free(nodes);
}

uint32_t paths_of_stack(struct paths *paths, uint32_t stack)
{
    uint32_t python_node = paths->capture->stacks[stack].python_node;
    uint32_t native_node = paths->capture->stacks[stack].native_node;
    uint32_t path, frame;

    if (paths->shown & PATHS_HIDE_NATIVE)
        native_node = 0;
    path = resolve_joint(paths, python_node, native_node);
    if (path != 0)
        return path;
    if (python_node == 0 && native_node == 0)
        frame = frames_of_node(paths->frames, 0);
    else if (python_node != 0 || frames_is_interpreter(paths->frames, native_node))
        frame = frames_of_interpreter(paths->frames);
    else
        frame = frames_of_start(paths->frames);
    return child_of(paths, 0, frame);
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
