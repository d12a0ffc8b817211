/*
 * The finished model of a capture as bytes, to be stored in it (docs/format.md section 6), and back.
 *
 * It is what profile_build() makes with the default options, and no more: with all processes and
 * threads, the heap, and temporary at one allocation in between.
 */
#ifndef PROFILE_MODEL_H
#define PROFILE_MODEL_H

#include "capture/capture.h"
#include "profile/columns.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return whether what is stored is what these options ask for. Context: tool. */
bool model_is_for(const struct profile_options *options);

/*
 * Write a model.
 * profile: with intervals, of options that model_is_for(). bytes: appended to.
 * Context: tool.
 */
void model_write(const struct profile *profile, struct column_bytes *bytes);

/*
 * Read a model, which may be any bytes.
 * capture: stays the caller's and must outlive the profile.
 * ret_fault: why it is not one of this capture, a few words, static; NULL when it is one, or is
 * of a later version that says things in another way.
 * Returns NULL when it cannot be used. Context: tool.
 */
struct profile *model_read(const struct capture *capture, const uint8_t *bytes, size_t size_bytes,
                           bool has_intervals, const char **ret_fault);

/*
 * Read the model that a capture has stored, if it is whole and has one.
 * ret_damage: set when what is stored is wrong.
 * Returns NULL when the events have to be read. Context: tool.
 */
struct profile *model_load(const struct capture *capture, bool has_intervals,
                           struct capture_damage *ret_damage);

#endif
