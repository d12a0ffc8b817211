/*
 * Aggregated captures: the thread that tells the model of the events as they come, forgets them, and
 * stores once a second what they have come to.
 *
 * Unlike the model thread (model_thread.h) it is on the way of the data. The pack thread writes into
 * memory what a capture would hold; what is not read there yet is limited, and who is beyond the limit
 * waits, up to the programs, as for a ring that is full. Nothing can be read again, and nothing is
 * given up: when there is no memory for the model any more, the recording ends.
 */
#ifndef COLLECT_AGGREGATE_H
#define COLLECT_AGGREGATE_H

#include "base/error.h"
#include "capture/writer.h"
#include "collect/aggregate_file.h"
#include "collect/records.h"
#include "collect/session.h"

#include <stdbool.h>
#include <stdint.h>

struct aggregate;

/*
 * Store a first capture, without events, and start the thread.
 * session: its pack is there; all of it must outlive the thread. passing: what the pack thread writes
 * to (capture_writer_open_passing()). file: the aggregate's from now on, also after a failure.
 * path: of the capture, stays the caller's.
 * Returns NULL with err. Context: main thread.
 */
struct aggregate *aggregate_start(struct session *session, const struct capture_writer *passing,
                                  struct aggregate_file *file, const char *path, struct error *err);

/*
 * Return whether the recording has to end, as the model cannot go on; then err says why. It wakes the
 * main thread. NULL is allowed. Context: any thread.
 */
bool aggregate_has_failed(struct aggregate *aggregate, struct error *err);

/* End the thread, wherever it is; before pack_stop(). NULL is allowed. Context: main thread. */
void aggregate_stop(struct aggregate *aggregate);

/* Return the processor time of the thread, which must have ended. Context: main thread. */
uint64_t aggregate_cpu_ns(const struct aggregate *aggregate);

/*
 * Tell all that the pack thread has written; it has ended, as has ours. Snapshots that wait get theirs.
 * Context: main thread.
 */
void aggregate_complete(struct aggregate *aggregate);

/*
 * Store the finished capture. end: the last records.
 * Returns false with err: then the file is what was stored last. Context: main thread.
 */
bool aggregate_finish(struct aggregate *aggregate, const struct records *end, struct error *err);

/*
 * Write a snapshot of all that was recorded up to an instant, and a little more. Waits until it has
 * been told.
 * fd: an empty file, stays the caller's. path: its name, for messages. until_ns: since the start.
 * end: records behind it. Context: the snapshots' thread.
 */
bool aggregate_snapshot(struct aggregate *aggregate, int fd, const char *path, uint64_t until_ns,
                        const struct records *end, struct error *err);

/* Give it back, and the file; the thread must have ended. NULL is allowed. Context: main thread. */
void aggregate_free(struct aggregate *aggregate);

#endif
