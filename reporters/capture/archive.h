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
 * Say whether all of a capture is there and known: clean, without damage, of no later version.
 * Returns false with err. Context: tool.
 */
bool archive_is_whole(const struct capture *capture, struct error *err);

/*
 * Say whether a capture can be written again: clean, without damage, and nothing in it that this
 * version might drop. Returns false with err. Context: tool.
 */
bool archive_is_possible(const struct capture *capture, struct error *err);

struct archive;

/*
 * Where a capture is cut: what stands before is left out, but for what is live there, which is told
 * as if it were allocated then.
 */
struct archive_cut {
    uint64_t time_ns;
    const uint64_t
        *segments; /* as capture.processes: events of these and lower ones are left out */
    /* Tell what is live by archive_tell(). Returns what that returned last. */
    bool (*tell)(void *user, struct archive *archive);
    void *user;
    bool is_quick; /* sections behind the cut are copied as they stand */
};

/*
 * Tell an event that makes something live, from archive_cut.tell().
 * stream: index in capture.threads. w0, w1: the record. The first of a stream is a SYNC, of a segment
 * that is left out and is no other stream's.
 * Returns false when the file cannot be written. Context: tool.
 */
bool archive_tell(struct archive *archive, uint32_t stream, uint64_t w0, uint64_t w1);

/*
 * Write what a capture holds.
 * capture: archive_is_possible(), or one of capture_open_part() without damage, of which a part is cut.
 * writer: adopted, nothing written yet; the caller closes it. cut: NULL: all of it. progress: may be NULL; given up when it says so, as if the input were at fault.
 * Context: tool.
 */
enum archive_result archive_write(const struct capture *capture, struct capture_writer *writer,
                                  const struct archive_cut *cut, capture_progress *progress,
                                  void *user, struct error *err);

#endif
