/*
 * Blobs out of chunks. Drain thread.
 */
#include "collect/blob.h"

#include "base/memory.h"
#include "collect/slots.h"
#include "memtrack/protocol.h"
#include "memtrack/varint.h"

#include <stdlib.h>
#include <string.h>

static bool begin(struct blob *blob, uint64_t w0, uint64_t total_bytes)
{
    blob->is_open = false;
    if (total_bytes > BLOB_MAX_BYTES)
        return false;
    if (total_bytes > blob->capacity_bytes)
        blob->bytes = memory_grow(blob->bytes, &blob->capacity_bytes, total_bytes, 1);
    blob->kind = slots_blob_kind(w0);
    blob->number = slots_blob_number(w0);
    blob->total_bytes = (uint32_t)total_bytes;
    blob->received_bytes = 0;
    blob->is_open = true;
    return true;
}

static void copy_chunk(uint8_t *to, struct slot *slots, uint32_t size_bytes)
{
    for (uint32_t done = 0; done < size_bytes; done += BLOB_BYTES_PER_SLOT, slots++) {
        uint32_t left = size_bytes - done;
        uint8_t bytes[16];

        /* Each word is read once: the target may be writing still. */
        le_store_u64(atomic_load_explicit(&slots->w1, memory_order_relaxed), bytes);
        le_store_u64(atomic_load_explicit(&slots->w0, memory_order_relaxed), bytes + 8);
        memcpy(to + done, bytes, left < BLOB_BYTES_PER_SLOT ? left : BLOB_BYTES_PER_SLOT);
    }
}

enum blob_result blob_add(struct blob *blob, uint64_t w0, uint64_t w1, struct slot *slots)
{
    uint32_t size_bytes = slots_blob_bytes(w0);

    if ((w0 & BLOB_FIRST) != 0) {
        if (!begin(blob, w0, w1))
            return BLOB_WRONG;
    } else if (!blob->is_open || blob->number != slots_blob_number(w0) ||
               blob->received_bytes != w1) {
        blob->is_open = false;
        return BLOB_WRONG;
    }
    if (size_bytes > blob->total_bytes - blob->received_bytes) {
        blob->is_open = false;
        return BLOB_WRONG;
    }
    if (size_bytes > 0)
        copy_chunk(blob->bytes + blob->received_bytes, slots, size_bytes);
    blob->received_bytes += size_bytes;
    if ((w0 & BLOB_LAST) == 0)
        return BLOB_MORE;
    blob->is_open = false;
    return blob->received_bytes == blob->total_bytes ? BLOB_COMPLETE : BLOB_WRONG;
}

void blob_finish(struct blob *blob)
{
    free(blob->bytes);
    *blob = (struct blob){0};
}
