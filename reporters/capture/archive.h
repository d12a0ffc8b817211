/*
 * A capture written again, smaller: the same tables and the same events in the same order, in longer
 * sections and packed as small as LZ4 can.
 */
#ifndef CAPTURE_ARCHIVE_H
#define CAPTURE_ARCHIVE_H

#include "capture/capture.h"
#include "capture/writer.h"

#include <stdbool.h>

enum archive_result {
    ARCHIVE_WRITTEN = 0,
    ARCHIVE_INPUT = 1,  /* the capture is not whole, of a later version, or wrong inside */
    ARCHIVE_OUTPUT = 2, /* the file could not be written */
};

/*
 * Say whether a capture can be written again: clean, without damage, and nothing in it that this
 * version might drop. Returns false with err. Context: tool.
 */
bool archive_is_possible(const struct capture *capture, struct error *err);

/*
 * Write what a capture holds.
 * capture: archive_is_possible(). writer: adopted, nothing written yet; the caller closes it.
 * progress: may be NULL; given up when it says so, as if the input were at fault.
 * Context: tool.
 */
enum archive_result archive_write(const struct capture *capture, struct capture_writer *writer,
                                  capture_progress *progress, void *user, struct error *err);

#endif
