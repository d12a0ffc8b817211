/*
 * What a capture with native stacks says about them: how many modules and frames, how many without a
 * name, and why. In `info` and `stats`.
 */
#ifndef RENDER_NATIVE_PARTS_H
#define RENDER_NATIVE_PARTS_H

#include "print/json_write.h"
#include "render/render.h"

#include <stdio.h>

/*
 * Write it as text, with an empty line before or behind as the caller wants: nothing when there are no
 * native stacks, or they are not to be shown. title_columns: of what stands before the text.
 * Context: tool.
 */
void native_parts_write(const struct render_input *input, unsigned title_columns, FILE *out);

/* Write it as the object "native_names", or null. Context: tool. */
void native_parts_write_json(struct json_writer *json, const struct render_input *input);

#endif
