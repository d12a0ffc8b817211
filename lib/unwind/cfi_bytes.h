/* Numbers in call frame information: read within bounds, one behind the other. */
#ifndef UNWIND_CFI_BYTES_H
#define UNWIND_CFI_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What is left to be read. Once it was too little all that is read is 0. */
struct cfi_bytes {
    const uint8_t *at, *end;
    bool is_bad;
};

/* Return an unsigned number of 1, 2, 4 or 8 bytes. Context: hot path (slow paths only). */
static inline uint64_t cfi_fixed(struct cfi_bytes *bytes, size_t size_bytes)
{
    uint64_t value = 0;

    if ((size_t)(bytes->end - bytes->at) < size_bytes) {
        bytes->is_bad = true;
        bytes->at = bytes->end;
        return 0;
    }
    memcpy(&value, bytes->at, size_bytes);
    bytes->at += size_bytes;
    return value;
}

/* The same with a sign. Context: hot path (slow paths only). */
static inline int64_t cfi_signed(struct cfi_bytes *bytes, size_t size_bytes)
{
    unsigned unused_bits = 64 - 8 * (unsigned)size_bytes;

    return (int64_t)(cfi_fixed(bytes, size_bytes) << unused_bits) >> unused_bits;
}

/* Return a number of 7 bits a byte. Context: hot path (slow paths only). */
static inline uint64_t cfi_uleb(struct cfi_bytes *bytes)
{
    uint64_t value = 0;

    for (unsigned shift = 0; bytes->at < bytes->end; shift += 7) {
        uint8_t byte = *bytes->at++;

        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    bytes->is_bad = true;
    return 0;
}

/* The same with a sign. Context: hot path (slow paths only). */
static inline int64_t cfi_sleb(struct cfi_bytes *bytes)
{
    uint64_t value = 0;

    for (unsigned shift = 0; bytes->at < bytes->end; shift += 7) {
        uint8_t byte = *bytes->at++;

        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte >= 0x80)
            continue;
        if (shift + 7 < 64 && (byte & 0x40) != 0)
            value |= ~UINT64_C(0) << (shift + 7);
        return (int64_t)value;
    }
    bytes->is_bad = true;
    return 0;
}

/* Take so many bytes as a part of their own. Context: hot path (slow paths only). */
static inline struct cfi_bytes cfi_part(struct cfi_bytes *bytes, uint64_t count_bytes)
{
    struct cfi_bytes part = {bytes->at, bytes->at, false};

    if (count_bytes > (uint64_t)(bytes->end - bytes->at)) {
        bytes->is_bad = true;
        bytes->at = bytes->end;
        part.is_bad = true;
        return part;
    }
    part.end = bytes->at + count_bytes;
    bytes->at = part.end;
    return part;
}

#endif
