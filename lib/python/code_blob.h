/*
 * A code object as it is announced: BLOB_CODE of protocol.h, made by plain loads.
 *
 * No GIL and no call: the object is alive, and what is read of it never changes once a frame
 * executes it.
 */
#ifndef PYTHON_CODE_BLOB_H
#define PYTHON_CODE_BLOB_H

#include "python/layout.h"

#include <stddef.h>
#include <stdint.h>

/* A code object and the sizes of what is announced of it, in bytes of the blob. */
struct code_blob {
    uintptr_t code;
    uint32_t file_name_bytes;
    uint32_t name_bytes;
    uint32_t line_table_bytes;
    uint32_t total_bytes; /* with the header; at most BLOB_MAX_BYTES */
    bool is_cut;          /* it was longer */
};

/*
 * Measure a code object.
 * Context: hot path.
 */
struct code_blob code_blob_measure(const struct python_layout *layout, uintptr_t code);

/*
 * Write the blob.
 * bytes: room for blob->total_bytes.
 * Context: hot path.
 */
void code_blob_write(const struct python_layout *layout, const struct code_blob *blob, uint32_t id,
                     uint8_t *bytes);

/*
 * Write a str object as UTF-8: at most so many bytes, whole characters.
 * object: alive, or a copy of one that is compact. Returns how many. Context: hot path.
 */
uint32_t code_blob_text(const struct object_layout *layout, uintptr_t object, uint8_t *bytes,
                        uint32_t limit_bytes);

#endif
