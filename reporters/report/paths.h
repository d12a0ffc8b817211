/*
 * The stacks as reports show them: native and Python frames in one, hidden frames left out, equal
 * frames merged, in one trie.
 *
 * A path is a stack from its outermost frame down to one of its frames. Path 0 is the empty one, a
 * path's parent has the smaller number. What the tree shows as a node is a path.
 */
#ifndef REPORT_PATHS_H
#define REPORT_PATHS_H

#include "capture/capture.h"
#include "symbol/frames.h"

#include <stddef.h>
#include <stdint.h>

struct path {
    uint32_t parent;
    uint32_t frame; /* innermost; not to be used of path 0 */
};

struct paths;

/* What is shown beside the frames of the program's own; bits. */
enum paths_shown {
    PATHS_SHOW_RUNTIME = 1u << 0, /* frames that are the runtime's: struct frame */
    PATHS_HIDE_NATIVE = 1u << 1,  /* stacks are what they are in Python alone */
    PATHS_FOLD_NATIVE = 1u << 2,  /* of the runtime's frames only Python's are shown */
};

/* Begin. capture, frames: must outlive it. shown: bits of enum paths_shown. Context: tool. */
struct paths *paths_create(const struct capture *capture, struct frames *frames, unsigned shown);

/* Give it back; NULL is allowed. Context: tool. */
void paths_destroy(struct paths *paths);

/*
 * Say which stacks will be asked for: frames_prepare_native() of theirs, if any are shown.
 * stacks: ids, in any order. Context: tool.
 */
void paths_prepare(struct paths *paths, const uint32_t *stacks, size_t count);

/*
 * Return the path of a stack, by its id. Never the empty path: where no frame is left, it is the path
 * of [interpreter] or [C runtime], and of [no Python stack] where there was none to begin with.
 * Context: tool.
 */
uint32_t paths_of_stack(struct paths *paths, uint32_t stack);

/* Return all paths there are so far, by number; valid until paths_of_stack(). Context: tool. */
const struct path *paths_all(const struct paths *paths, uint32_t *ret_count);

/* Return the frames that paths are made of. Context: tool. */
struct frames *paths_frames(const struct paths *paths);

/*
 * Compare two frames for a stable order: function, file, line, kind.
 * Returns less than, equal to or greater than 0, as strcmp(). Context: tool.
 */
int paths_compare_frames(const struct paths *paths, uint32_t a, uint32_t b);

#endif
