/* How a name goes out: what lies below the rings hands over whole blobs. */
#ifndef BASE_ANNOUNCER_H
#define BASE_ANNOUNCER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * write() gets one whole blob (protocol.h: enum blob_kind) and returns false when it could not be
 * recorded. bytes: valid during the call.
 */
struct announcer {
    bool (*write)(void *owner, unsigned blob_kind, const uint8_t *bytes, size_t count_bytes);
    void *owner;
};

#endif
