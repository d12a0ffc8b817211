/*
 * The last part of a capture as a capture of its own: the tables, what was live where it begins, told
 * as allocated there, and the events from there on.
 */
#ifndef PROFILE_CUT_H
#define PROFILE_CUT_H

#include "capture/archive.h"
#include "capture/capture.h"
#include "capture/writer.h"

#include <stdint.h>

/*
 * Write what a capture holds from an instant on: behind all events up to it (events have the time of
 * their tick). The events before are read; memory is that of what is live.
 * capture: archive_is_possible(), and no sample. writer: adopted, nothing written yet; the caller closes it.
 * progress: may be NULL; given up when it says so, as if the input were at fault.
 * Context: tool.
 */
enum archive_result cut_write(const struct capture *capture, uint64_t time_ns,
                              struct capture_writer *writer, capture_progress *progress, void *user,
                              struct error *err);

#endif
