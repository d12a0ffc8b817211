/*
 * What the page shows where scripts do not run: a heading, a picture, a table. Bounded by pixels
 * and rows, at most some 50 KB. Runs in the tools.
 */
#ifndef RENDER_PAGE_STATIC_H
#define RENDER_PAGE_STATIC_H

#include "render/page_meta.h"

#include <stdio.h>

/* Write it as markup, with no style, class or script: nothing that a policy could refuse. */
void page_static_write(FILE *out, const struct page *page);

#endif
