/*
 * How much of a profile goes into a page of a certain size.
 *
 * Runs in the tools. What holds: as little is folded and joined as makes the page small enough; with
 * is_full nothing is. The size is that of the file, with the page's own parts, texts and source.
 */
#ifndef RENDER_PAGE_FIT_H
#define RENDER_PAGE_FIT_H

#include "render/page_time.h"
#include "render/page_tree.h"
#include "render/render.h"

#include <stddef.h>
#include <stdint.h>

struct page_fit {
    struct page_tree *tree;
    struct page_time time;
    uint64_t threshold_ppm; /* of what was folded; 0: nothing was */
};

/* Choose. ret_fit: to be given to page_fit_finish(). Context: tool. */
void page_fit_make(const struct render_input *input, struct page_fit *ret_fit);

/* Return how many bytes of source text the page may have; 0: no lines around others. Context: tool. */
size_t page_fit_context_bytes(const struct render_options *options);

/* Give it back. Context: tool. */
void page_fit_finish(struct page_fit *fit);

#endif
