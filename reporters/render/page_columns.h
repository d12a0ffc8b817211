/*
 * The page's data sections, each a few columns of varints; reporters/web/src/model.js reads them.
 *
 * Runs in the tools. A column has one value for each frame, node, row, interval or sample, in their
 * order; columns follow one another without anything between. What is written as a difference is
 * small, and what is alike stands together: LZ4 finds both.
 */
#ifndef RENDER_PAGE_COLUMNS_H
#define RENDER_PAGE_COLUMNS_H

#include "render/page_pack.h"
#include "render/page_source.h"
#include "render/page_time.h"
#include "render/page_tree.h"

/*
 * Append the columns of the frames: function, file, line, kind with bit 2 for the runtime's, module
 * + 1, source line + 1. Texts are numbers of strings, to which they are added. Context: tool.
 */
void page_columns_frames(const struct page_tree *tree, const struct frames *frames,
                         const struct page_sources *sources, struct page_strings *strings,
                         struct page_bytes *to);

/*
 * Append the columns of the nodes but the root: how many levels up from the node before; frame, 0
 * for the next one that no node had yet, else + 1. Context: tool.
 */
void page_columns_nodes(const struct page_tree *tree, struct page_bytes *to);

/*
 * Append the columns of the rows: node, from the row before; stream; allocator; then for each view
 * bytes and allocations. Context: tool.
 */
void page_columns_rows(const struct page_tree *tree, struct page_bytes *to);

/*
 * Append the columns of the intervals: row, from the interval before; first bucket, from the
 * interval before of the same row; buckets lived, 0 for ever; bytes; allocations. Context: tool.
 */
void page_columns_intervals(const struct page_time *time, struct page_bytes *to);

/*
 * Append the columns of the samples, each folded from the sample before: time, heap bytes, heap
 * blocks, RSS, allocations up to it. Context: tool.
 */
void page_columns_samples(const struct profile *profile, struct page_bytes *to);

#endif
