/*
 * Announcements, put together from the chunks that a thread writes into its ring.
 *
 * Drain thread, one per ring. What holds: a blob is never larger than BLOB_MAX_BYTES, and its chunks
 * are one number, in order, without a gap; anything else is dropped.
 */
#ifndef COLLECT_BLOB_H
#define COLLECT_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slot;

/* All zero bytes: nothing begun. */
struct blob {
    uint8_t *bytes;
    size_t capacity_bytes;
    uint32_t total_bytes, received_bytes;
    uint16_t number;
    uint8_t kind; /* enum blob_kind */
    bool is_open;
};

enum blob_result {
    BLOB_MORE = 0,
    BLOB_COMPLETE = 1, /* bytes and total_bytes hold it, until the next call */
    BLOB_WRONG = 2,    /* dropped */
};

/*
 * Take a chunk.
 * w0, w1: of its head. slots: its continuations, as many as the head implies, foreign.
 * Context: drain thread.
 */
enum blob_result blob_add(struct blob *blob, uint64_t w0, uint64_t w1, struct slot *slots);

/* Forget what was begun and give the memory back. Context: drain thread. */
void blob_finish(struct blob *blob);

#endif
