/*
 * Bytes of a record, taken from the front, none beyond the end.
 *
 * Runs in the tools, on any thread. What holds: every function returns false, and has taken
 * nothing, when what it should take is not there or is not right.
 */
#ifndef CAPTURE_CURSOR_H
#define CAPTURE_CURSOR_H

#include "memtrack/varint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
    const uint8_t *bytes; /* the next one; the payload's */
    size_t left_bytes;
};

/* Take so many bytes. ret_bytes: points into the payload. Context: tool. */
static inline bool cursor_bytes(struct cursor *cursor, uint64_t count, const uint8_t **ret_bytes)
{
    if (count > cursor->left_bytes)
        return false;
    *ret_bytes = cursor->bytes;
    cursor->bytes += count;
    cursor->left_bytes -= (size_t)count;
    return true;
}

/* Take one byte. Context: tool. */
static inline bool cursor_u8(struct cursor *cursor, uint8_t *ret_value)
{
    const uint8_t *byte;

    if (!cursor_bytes(cursor, 1, &byte))
        return false;
    *ret_value = *byte;
    return true;
}

/* Take a varint. Context: tool. */
static inline bool cursor_varint(struct cursor *cursor, uint64_t *ret_value)
{
    size_t length = varint_decode(cursor->bytes, cursor->left_bytes, ret_value);

    cursor->bytes += length;
    cursor->left_bytes -= length;
    return length > 0;
}

/* Take a varint that must not be above a limit. Context: tool. */
static inline bool cursor_limited(struct cursor *cursor, uint64_t limit, uint64_t *ret_value)
{
    struct cursor before = *cursor;
    uint64_t value;

    if (!cursor_varint(cursor, &value))
        return false;
    if (value > limit) {
        *cursor = before;
        return false;
    }
    *ret_value = value;
    return true;
}

/* Take a folded number that must fit 32 bits. Context: tool. */
static inline bool cursor_folded_i32(struct cursor *cursor, int32_t *ret_value)
{
    uint64_t folded;

    if (!cursor_limited(cursor, UINT32_MAX, &folded))
        return false;
    *ret_value = (int32_t)varint_unfold(folded);
    return true;
}

/* Take a varint and so many bytes. ret_part: those bytes. Context: tool. */
static inline bool cursor_part(struct cursor *cursor, struct cursor *ret_part)
{
    struct cursor before = *cursor;
    uint64_t length;

    if (cursor_varint(cursor, &length) && cursor_bytes(cursor, length, &ret_part->bytes)) {
        ret_part->left_bytes = (size_t)length;
        return true;
    }
    *cursor = before;
    return false;
}

#endif
