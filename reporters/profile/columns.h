/*
 * Arrays of structures as columns of varints, one field of all items behind the other, and back.
 *
 * Not thread-safe. The same description serves both ways, so what is written is what is read.
 */
#ifndef PROFILE_COLUMNS_H
#define PROFILE_COLUMNS_H

#include "capture/cursor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the values of a column are said. */
enum column_how {
    COLUMN_PLAIN = 0,
    COLUMN_CHANGE = 1, /* folded, how far from the item before; the first from 0 */
    COLUMN_NEXT = 2,   /* 1 more; the largest, which stands for none, is 0 */
    COLUMN_FLAG = 3,   /* 0 or 1 */
};

struct column {
    uint16_t offset;    /* of the field in an item */
    uint8_t size_bytes; /* 1, 4 or 8 */
    uint8_t how;        /* enum column_how */
};

/* A field of a type as a column. */
#define COLUMN_OF(type, field, column_how)                                         \
    {                                                                              \
        .offset = offsetof(type, field), .size_bytes = sizeof(((type *)0)->field), \
        .how = (column_how)                                                        \
    }

/* Bytes that grow. */
struct column_bytes {
    uint8_t *bytes; /* free() */
    size_t size_bytes, capacity_bytes;
};

/* Append a varint. Context: tool. */
void columns_put_number(struct column_bytes *bytes, uint64_t value);

/*
 * Append how many items there are, and their columns.
 * items: count times item_bytes. Context: tool.
 */
void columns_put(struct column_bytes *bytes, const void *items, uint64_t count, size_t item_bytes,
                 const struct column *columns, size_t column_count);

/*
 * Take what columns_put() has appended. The cursor is moved.
 * ret_items: to be given to free(), other fields are zero; ret_count: how many.
 * Returns false, and nothing, when it is cut off or has a number that does not fit its field.
 * Context: tool.
 */
bool columns_take(struct cursor *cursor, uint64_t most_count, size_t item_bytes,
                  const struct column *columns, size_t column_count, void **ret_items,
                  uint64_t *ret_count);

#endif
