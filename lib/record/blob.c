/*
 * Cutting a blob into chunks, and chunks into slots of 15 bytes.
 *
 * Runs in the program's threads, inside their malloc. Chunks of one blob stand in the ring in their
 * order; records of handlers may stand between them.
 */
#include "record/blob.h"

#include "record/context.h"
#include "record/ring.h"

#include <string.h>

#define BLOB_NUMBER_SHIFT 8
#define BLOB_BYTES_SHIFT  24

/* Make the record of one chunk. Returns its slots. */
static unsigned chunk_fill(struct slot *record, uint64_t w0, uint64_t w1, const uint8_t *bytes,
                           size_t count_bytes)
{
    unsigned count_slots = 1;

    atomic_init(&record[0].w0, w0);
    atomic_init(&record[0].w1, w1);
    for (size_t i = 0; i < count_bytes; i += BLOB_BYTES_PER_SLOT) {
        size_t left = count_bytes - i;
        uint64_t words[2] = {0, 0}; /* w1, then w0, whose last byte belongs to the slot */

        memcpy(words, bytes + i, left < BLOB_BYTES_PER_SLOT ? left : BLOB_BYTES_PER_SLOT);
        atomic_init(&record[count_slots].w0, words[1]);
        atomic_init(&record[count_slots].w1, words[0]);
        count_slots++;
    }
    return count_slots;
}

bool blob_write(void *owner, unsigned blob_kind, const uint8_t *bytes, size_t count_bytes)
{
    struct context *context = owner;
    uint64_t w0 =
        slot_head(OP_BLOB) | blob_kind | (uint64_t)context->blob_number++ << BLOB_NUMBER_SHIFT;
    size_t done = 0;

    if (count_bytes > BLOB_MAX_BYTES)
        return false;
    do {
        size_t left = count_bytes - done;
        size_t size = left < BLOB_CHUNK_MAX_BYTES ? left : BLOB_CHUNK_MAX_BYTES;
        uint64_t flags = (done == 0 ? BLOB_FIRST : 0) | (size == left ? BLOB_LAST : 0);
        unsigned count_slots =
            chunk_fill(context->scratch, w0 | flags | (uint64_t)size << BLOB_BYTES_SHIFT,
                       done == 0 ? count_bytes : done, bytes + done, size);

        if (!ring_write(context, context->scratch, count_slots))
            return false;
        done += size;
    } while (done < count_bytes);
    return true;
}
