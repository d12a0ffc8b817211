/*
 * How far the numbers of a page may be off, because stacks were folded and blocks joined.
 */
#ifndef RENDER_PAGE_ERROR_H
#define RENDER_PAGE_ERROR_H

#include "render/page_fit.h"

#include <stdint.h>

struct page_error {
    /* Of each view: what is shown in boxes of smaller stacks, in parts per million of its bytes. */
    uint64_t folded_ppm[VIEW_WHOLE_COUNT];
    /* No box of any sample is off by more than that, in bytes; nor all of them together. */
    uint64_t joined_bytes;
};

/*
 * Find it.
 * fit: of the profile. Numbers of the whole run are never off: joining changes times alone.
 * Context: tool.
 */
struct page_error page_error_find(const struct profile *profile, const struct page_fit *fit);

#endif
