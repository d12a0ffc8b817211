/*
 * What the page knows about the capture as a whole, as JSON. Runs in the tools.
 */
#ifndef RENDER_PAGE_META_H
#define RENDER_PAGE_META_H

#include "render/page_error.h"
#include "render/page_source.h"
#include "render/page_time.h"
#include "render/page_tree.h"
#include "render/render.h"

#include <stdio.h>

/* All that goes into a page; the parts are the owner's. */
struct page {
    const struct render_input *input;
    const struct page_tree *tree;
    const struct page_time *time;
    const struct page_strings *strings;
    const struct page_sources *sources;
    uint64_t threshold_ppm; /* of what was folded; 0: nothing was */
    struct page_error error;
};

/*
 * Return how people call what was run: the script's or program's name, without its folder.
 * Returns memory to be freed. Context: tool.
 */
char *page_program_name(const struct capture *capture);

/*
 * Write the JSON as a script element of its own.
 * Returns false with err when there is no memory for it. Context: tool.
 */
bool page_meta_write(FILE *out, const struct page *page, struct error *err);

#endif
