/*
 * What the page says about a frame, whether a code object stands for it or not. Runs in the tools.
 */
#ifndef RENDER_PAGE_FRAME_H
#define RENDER_PAGE_FRAME_H

#include "render/page_tree.h"
#include "symbol/frames.h"

#include <stdint.h>

/*
 * Return a frame of the tree. Its texts live as long as frames and the tree.
 * number: in tree.frame_ids. Context: tool.
 */
struct frame page_frame_get(const struct frames *frames, const struct page_tree *tree,
                            uint32_t number);

#endif
