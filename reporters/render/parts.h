/*
 * What all reports begin with and are made of: the header, its JSON, frames, the end.
 */
#ifndef RENDER_PARTS_H
#define RENDER_PARTS_H

#include "base/memory.h"
#include "print/json_write.h"
#include "print/text.h"
#include "render/render.h"
#include "report/rows.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Return how the text of a report is to look. Context: tool. */
struct text_style parts_style(const struct render_options *options);

/* Return the order of rows that the user asked for. Context: tool. */
enum rows_sort parts_sort(const struct render_options *options);

/* Return the paths of stacks as the user wants them shown; to be destroyed. Context: tool. */
struct paths *parts_paths(const struct render_input *input);

/* Return how many of count rows are to be shown. Context: tool. */
size_t parts_row_limit(const struct render_options *options, size_t count);

/* Return the pid of the process that is asked for, as users know it; 0: of all. Context: tool. */
uint32_t parts_filter_pid(const struct render_input *input);

/* Return what a part of the time shows, in words; the pool's. Context: tool. */
const char *parts_window_text(struct memory_pool *pool, const struct profile *profile);

/* Return the sum of a view over all rows. Context: tool. */
struct profile_cost parts_view_cost(const struct profile *profile, enum profile_view view);

/*
 * Write the lines that say which program this is, its totals, what is shown, and all warnings,
 * with an empty line behind. Context: tool.
 */
void parts_write_header(const struct render_input *input, FILE *out);

/*
 * Begin a report in JSON: open its object and write schema, report, capture and, with a profile,
 * view. Context: tool.
 */
void parts_open_json(struct json_writer *json, const struct render_input *input,
                     const char *report);

/* Write the fields of a frame into the object that is open. Context: tool. */
void parts_write_frame_fields(struct json_writer *json, const struct frame *frame);

/*
 * Write the line about rows that are left out, if any are. one, many: what they are, "function" and
 * "functions". Context: tool.
 */
void parts_write_more(FILE *out, size_t count, size_t shown_count, const char *one,
                      const char *many);

/* Push out what was written. Returns false with err when anything could not be written. */
bool parts_end(FILE *out, struct error *err);

#endif
