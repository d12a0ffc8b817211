/*
 * What the page says about a frame, whether a code object stands for it or not, and the line of
 * source it is at. Runs in the tools.
 */
#ifndef RENDER_PAGE_FRAME_H
#define RENDER_PAGE_FRAME_H

#include "render/page_pack.h"
#include "render/page_tree.h"
#include "symbol/frames.h"

#include <stdint.h>

/*
 * Return a frame of the tree. Its texts live as long as frames and the tree.
 * number: in tree.frame_ids. Context: tool.
 */
struct frame page_frame_get(const struct frames *frames, const struct page_tree *tree,
                            uint32_t number);

/* Source lines of the frames of a page. */
struct page_sources {
    uint32_t *strings;   /* by frame of the tree: 1 + number in the page's strings, 0: none */
    uint32_t line_count; /* how many frames have one */
};

/*
 * Read the lines from the files that the frames name, as far as these did not change since the
 * program began. capture: says when. strings: the lines go there.
 * Context: tool.
 */
void page_sources_init(struct page_sources *sources, const struct capture *capture,
                       const struct frames *frames, const struct page_tree *tree,
                       struct page_strings *strings);

/* Give them back; all zero bytes is allowed. Context: tool. */
void page_sources_finish(struct page_sources *sources);

#endif
