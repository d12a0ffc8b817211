/*
 * A capture copied with more tables in it, as they are known when it is finished.
 */
#ifndef CAPTURE_BUNDLE_H
#define CAPTURE_BUNDLE_H

#include "capture/capture.h"
#include "capture/writer.h"

#include <stdbool.h>

/* Write sections of one's own. Returns false with err when they cannot be written. */
typedef bool bundle_add(void *user, struct capture_writer *writer, struct error *err);

/*
 * Copy a capture; its sections stay as they are. What is added stands behind all tables, and before the
 * model, which is the last of a capture.
 * capture: archive_is_whole(). fd: as of capture_writer_adopt_copy(). add: called once, with user.
 * progress: may be NULL.
 * Returns false with err. Context: tool.
 */
bool bundle_write(const struct capture *capture, int fd, const char *name, bundle_add *add,
                  void *user, capture_progress *progress, void *progress_user, struct error *err);

#endif
