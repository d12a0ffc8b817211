/*
 * Announcements: names that later records use by number.
 */
#ifndef RECORD_BLOB_H
#define RECORD_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Write one blob into the thread's ring, in as many chunks as it takes.
 * owner: the thread's struct context, its chain taken (context->scratch is used). Shaped for
 *     struct announcer.
 * blob_kind: enum blob_kind. bytes: as protocol.h lays them out, at most BLOB_MAX_BYTES.
 * Returns false when it did not go out, or only a part of it.
 * Context: hot path (slow paths only).
 */
bool blob_write(void *owner, unsigned blob_kind, const uint8_t *bytes, size_t count_bytes);

#endif
