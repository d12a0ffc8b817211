/*
 * The page's call tree: the capture's Python nodes merged by frame, in the order they are drawn.
 *
 * Runs in the tools. What holds: nodes stand in preorder and node 0 is the root, so a parent stands
 * before its children and the nodes below i are those that follow it with a greater depth; sibling
 * order is by bytes at the peak and does not depend on what the page shows, so boxes never jump.
 * Frames are numbered in the order in which the nodes first use them. Folding moves costs, it loses
 * none: the rows of the tree add up to those of the profile in every view.
 */
#ifndef RENDER_PAGE_TREE_H
#define RENDER_PAGE_TREE_H

#include "profile/profile.h"
#include "report/paths.h"
#include "symbol/frames.h"

#include <stdint.h>

/* Frames that no code object stands for; everything below is an id of frames_get(). */
enum {
    PAGE_FRAME_FOLDED = -1,       /* stacks that were too small to be shown one by one */
    PAGE_FRAME_ALLOCATOR = -1000, /* + enum allocator: the leaf of a stack that has no frames */
    PAGE_FRAME_PROCESS = -2000, /* - index in the capture: above that leaf, where there are more */
};

struct page_node {
    uint32_t parent; /* the root's is 0 */
    uint32_t frame;  /* index in frame_ids; 0 for the root, which has none */
    uint32_t depth;
};

/* What one thread allocated through one allocator with one stack. */
struct page_row {
    uint32_t node;
    uint32_t stream; /* as in struct profile_row */
    uint32_t allocator;
    struct profile_cost costs[VIEW_COUNT];
};

struct page_tree {
    const struct capture *capture; /* the profile's */
    struct page_node *nodes;
    uint32_t node_count;
    int64_t *frame_ids; /* of frames_get(), or one of PAGE_FRAME_ */
    uint32_t frame_count;
    struct page_row *rows; /* by node, stream, allocator; no two alike */
    uint32_t row_count;
    uint32_t *row_of_profile_row; /* profile->row_count of them */
    char **process_names;         /* "cc1 (4242)" by index in the capture; NULL when there is one */
    uint32_t process_count;
    uint32_t folded_stack_count;
};

/*
 * Build the tree of a profile.
 * paths: of its capture, with the runtime's frames: the page hides them. What it is asked for here it
 * knows when another tree is built.
 * threshold_ppm: subtrees with a smaller share, in parts per million, of the bytes and of the
 * allocations of every view are folded into one box of their parent; 0 folds nothing.
 * Returns a tree to be given to page_tree_destroy(). Context: tool.
 */
struct page_tree *page_tree_build(const struct profile *profile, struct paths *paths,
                                  uint64_t threshold_ppm);

/* Give it back; NULL is allowed. Context: tool. */
void page_tree_destroy(struct page_tree *tree);

#endif
