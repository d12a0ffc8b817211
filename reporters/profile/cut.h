/*
 * The last part of a capture as a capture of its own: the tables, what was live where it begins, told
 * as allocated there, and the events from there on.
 */
#ifndef PROFILE_CUT_H
#define PROFILE_CUT_H

#include "capture/archive.h"
#include "capture/capture.h"
#include "capture/writer.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Write what a capture holds from an instant on: behind all events up to it (events have the time of
 * their tick). The events before are read; memory is that of what is live.
 * capture: archive_is_possible(), or of capture_open_part() without damage; and no sample.
 * is_quick: what is behind the cut is not packed anew. writer: adopted, nothing written yet; the caller closes it.
 * progress: may be NULL; given up when it says so, as if the input were at fault.
 * Context: tool.
 */
enum archive_result cut_write(const struct capture *capture, uint64_t time_ns, bool is_quick,
                              struct capture_writer *writer, capture_progress *progress, void *user,
                              struct error *err);

/* How far a capture that goes on has been cut. */
struct cut_reached {
    uint64_t time_ns;    /* where what was written begins */
    uint64_t from_bytes; /* of the capture: what stands before has been taken */
    uint64_t to_bytes;   /* of what was written: whole sections, and no end */
};

/*
 * Write what a capture that is being written holds from an instant on, or from a little earlier where
 * later news might be of then. What is written meanwhile is copied behind it, but for a small rest.
 * from_fd: the capture, read only, size_bytes of it up to the end of a section. to_fd: empty. Both stay the
 * caller's. name: for messages.
 * Returns false with err. Context: tool.
 */
bool cut_along(int from_fd, uint64_t size_bytes, int to_fd, const char *name, uint64_t time_ns,
               struct cut_reached *ret_reached, struct error *err);

#endif
