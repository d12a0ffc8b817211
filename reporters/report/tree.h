/*
 * The tree of a view: what went through each path, callers above (or, inverted, callees above).
 */
#ifndef REPORT_TREE_H
#define REPORT_TREE_H

#include "profile/profile.h"
#include "report/paths.h"
#include "report/rows.h"

#include <stdint.h>

/*
 * A node. Children stand in the asked order, and only those that have a part in the view are there.
 * Inverted: the root's children are the allocating frames, below a frame stand its callers; own is
 * what was allocated by stacks that end here, at their outermost frame.
 */
struct tree_node {
    uint32_t frame; /* not to be used of the root */
    uint32_t parent;
    uint32_t first_child, next_sibling; /* 0: none; the root is nobody's child */
    uint32_t child_count;
    uint32_t stack_count; /* different stacks that go through it or end at it */
    struct profile_cost total, own;
};

struct tree {
    struct tree_node *nodes; /* 0 is the root; a parent stands before its children */
    uint32_t count;
};

/*
 * Build the tree of a view.
 * least_bytes: inverted only: nodes below it get no children, since an inverted tree of everything
 * can be as large as all stacks together; 0 builds it all.
 * Context: tool.
 */
struct tree tree_build(struct paths *paths, const struct profile *profile, enum profile_view view,
                       enum rows_sort sort);
struct tree tree_build_inverted(struct paths *paths, const struct profile *profile,
                                enum profile_view view, enum rows_sort sort, uint64_t least_bytes);

/* Give its memory back. Context: tool. */
void tree_finish(struct tree *tree);

#endif
