/*
 * Source text of the page: the line that each frame is at, and the lines around it.
 *
 * Runs in the tools. What holds: the text is bounded, whatever the program's files are like; frames
 * come first that come first in the tree, which are those with the largest boxes.
 */
#ifndef RENDER_PAGE_SOURCE_H
#define RENDER_PAGE_SOURCE_H

#include "render/page_pack.h"
#include "render/page_tree.h"
#include "symbol/frames.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line of a file; both are numbers of the page's strings. */
struct page_source_line {
    uint32_t file, line, text;
};

struct page_sources {
    uint32_t *strings;   /* by frame of the tree: 1 + number in the page's strings, 0: none */
    uint32_t line_count; /* how many frames have one */
    struct page_source_line *lines; /* those around them too: by file and line, no two alike */
    size_t context_count, capacity;
};

/*
 * Read the lines from the files that the frames name, as far as these did not change since the
 * program began. capture: says when. max_context_bytes: of text, once the lines
 * around them go in too; 0: they do not. strings: the text goes
 * there.
 * Context: tool.
 */
void page_sources_init(struct page_sources *sources, const struct capture *capture,
                       const struct frames *frames, const struct page_tree *tree,
                       size_t max_context_bytes, struct page_strings *strings);

/* Return how many files there are lines of. Context: tool. */
uint32_t page_sources_files(const struct page_sources *sources);

/*
 * Append the columns of the files and their lines: file's name; number of lines; then for each file
 * its lines, from the line before, and their texts. Context: tool.
 */
void page_sources_pack(const struct page_sources *sources, struct page_bytes *to);

/* Give them back; all zero bytes is allowed. Context: tool. */
void page_sources_finish(struct page_sources *sources);

#endif
