/*
 * The file of an aggregated capture: names and stacks, and the model of what has happened so far.
 *
 * It is stored anew as a whole, in a file without a name that then takes the name of the one before
 * (docs/architecture.md): whenever anybody is killed, what has the name is a capture that can be read.
 * Not thread-safe.
 */
#ifndef COLLECT_AGGREGATE_FILE_H
#define COLLECT_AGGREGATE_FILE_H

#include "base/error.h"
#include "capture/capture.h"
#include "collect/records.h"
#include "profile/columns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aggregate_file;

/* What is stored beside the tables; all of it stays the caller's. */
struct aggregate_content {
    const struct capture *capture;    /* its samples of memory, and its last tick */
    const struct column_bytes *model; /* of that capture */
    const struct records *end;        /* records of what only an end says; NULL: it goes on */
};

/*
 * Make the file, as capture_writer_open() does. path: absolute.
 * Returns NULL with err. Context: main thread.
 */
struct aggregate_file *aggregate_file_open(const char *path, bool may_overwrite,
                                           const uint8_t uuid[16], uint64_t realtime_ns,
                                           struct error *err);

/*
 * Take what of a RECORDS payload is to be in the file: not what is of events alone, and not what
 * grows with time. Context: any thread.
 */
void aggregate_file_take(struct aggregate_file *file, const uint8_t *payload, size_t size_bytes);

/*
 * Store all of it in place of what the file holds. With an end the capture is finished, and nothing
 * more is to be stored.
 * Returns false with err: the file is as it was. Context: any thread.
 */
bool aggregate_file_store(struct aggregate_file *file, const struct aggregate_content *content,
                          struct error *err);

/*
 * Write all of it, with its end, to another file.
 * fd: empty, stays the caller's. path: its name, for messages. Context: any thread.
 */
bool aggregate_file_write(struct aggregate_file *file, int fd, const char *path,
                          const struct aggregate_content *content, struct error *err);

/* Give it back; what is stored stays as it is. NULL is allowed. Context: main thread. */
void aggregate_file_close(struct aggregate_file *file);

#endif
