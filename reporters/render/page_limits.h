/*
 * What the page knows of limits and of allocations that failed, as JSON. Runs in the tools.
 */
#ifndef RENDER_PAGE_LIMITS_H
#define RENDER_PAGE_LIMITS_H

#include "print/json_write.h"
#include "render/render.h"

/*
 * Write the keys `limits`, `failures`, `failurePlaces` and `failed` into the object that is open.
 * Context: tool.
 */
void page_limits_write(struct json_writer *json, const struct render_input *input);

#endif
