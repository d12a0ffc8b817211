/*
 * The stacks as reports show them: hidden frames left out, equal frames merged, in one trie.
 *
 * A path is a stack from its outermost frame down to one of its frames. Path 0 is the empty one, a
 * path's parent has the smaller number. What the tree shows as a node is a path.
 */
#ifndef REPORT_PATHS_H
#define REPORT_PATHS_H

#include "capture/capture.h"
#include "symbol/frames.h"

#include <stdbool.h>
#include <stdint.h>

struct path {
    uint32_t parent;
    uint32_t frame; /* innermost; not to be used of path 0 */
};

struct paths;

/*
 * Begin. capture, frames: must outlive it. shows_runtime: importlib and runpy frames stay in.
 * Context: tool.
 */
struct paths *paths_create(const struct capture *capture, struct frames *frames,
                           bool shows_runtime);

/* Give it back; NULL is allowed. Context: tool. */
void paths_destroy(struct paths *paths);

/*
 * Return the path of a stack by its Python node.
 * node: 0 when the stack has none. Never the empty path: where no frame is left, it is the path of
 * [no Python stack] or [interpreter]. Context: tool.
 */
uint32_t paths_of_node(struct paths *paths, uint32_t node);

/* Return all paths there are so far, by number; valid until paths_of_node(). Context: tool. */
const struct path *paths_all(const struct paths *paths, uint32_t *ret_count);

/* Return the frames that paths are made of. Context: tool. */
struct frames *paths_frames(const struct paths *paths);

/*
 * Compare two frames for a stable order: function, file, line, kind.
 * Returns less than, equal to or greater than 0, as strcmp(). Context: tool.
 */
int paths_compare_frames(const struct paths *paths, uint32_t a, uint32_t b);

#endif
