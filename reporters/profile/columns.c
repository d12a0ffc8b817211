/*
 * Columns. Runs in the tools, and in the collector at its end. What holds: an item takes a byte of
 * every column at least, so a count from a file makes no more room than the file has bytes for.
 */
#include "profile/columns.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* The largest number that a field of so many bytes holds. */
static uint64_t largest(size_t size_bytes)
{
    return UINT64_MAX >> (64 - 8 * size_bytes);
}

static uint64_t load(const uint8_t *field, size_t size_bytes)
{
    uint64_t value = 0;
    uint32_t half;

    if (size_bytes == sizeof(value)) {
        memcpy(&value, field, sizeof(value));
        return value;
    }
    if (size_bytes == sizeof(half)) {
        memcpy(&half, field, sizeof(half));
        return half;
    }
    return *field;
}

static void store(uint64_t value, uint8_t *field, size_t size_bytes)
{
    uint32_t half = (uint32_t)value;

    if (size_bytes == sizeof(value))
        memcpy(field, &value, sizeof(value));
    else if (size_bytes == sizeof(half))
        memcpy(field, &half, sizeof(half));
    else
        *field = (uint8_t)value;
}

void columns_put_number(struct column_bytes *bytes, uint64_t value)
{
    if (bytes->size_bytes + VARINT_MAX_BYTES > bytes->capacity_bytes)
        bytes->bytes = memory_grow(bytes->bytes, &bytes->capacity_bytes,
                                   bytes->size_bytes + VARINT_MAX_BYTES, 1);
    bytes->size_bytes += varint_encode(value, bytes->bytes + bytes->size_bytes);
}

static void put_column(struct column_bytes *bytes, const uint8_t *fields, uint64_t count,
                       size_t item_bytes, const struct column *column)
{
    uint64_t last = 0;

    for (uint64_t i = 0; i < count; i++, fields += item_bytes) {
        uint64_t value = load(fields, column->size_bytes);

        if (column->how == COLUMN_CHANGE)
            columns_put_number(bytes, varint_fold((int64_t)(value - last)));
        else if (column->how == COLUMN_NEXT)
            columns_put_number(bytes, (value + 1) & largest(column->size_bytes));
        else
            columns_put_number(bytes, value);
        last = value;
    }
}

void columns_put(struct column_bytes *bytes, const void *items, uint64_t count, size_t item_bytes,
                 const struct column *columns, size_t column_count)
{
    columns_put_number(bytes, count);
    for (size_t i = 0; i < column_count && count > 0; i++)
        put_column(bytes, (const uint8_t *)items + columns[i].offset, count, item_bytes,
                   &columns[i]);
}

static bool take_column(struct cursor *cursor, uint8_t *fields, uint64_t count, size_t item_bytes,
                        const struct column *column)
{
    uint64_t last = 0, most = largest(column->size_bytes);

    for (uint64_t i = 0; i < count; i++, fields += item_bytes) {
        uint64_t value;

        if (!cursor_varint(cursor, &value))
            return false;
        if (column->how == COLUMN_CHANGE)
            value = last + (uint64_t)varint_unfold(value);
        if (value > (column->how == COLUMN_FLAG ? 1 : most))
            return false;
        if (column->how == COLUMN_NEXT)
            value = (value - 1) & most;
        store(value, fields, column->size_bytes);
        last = value;
    }
    return true;
}

bool columns_take(struct cursor *cursor, uint64_t most_count, size_t item_bytes,
                  const struct column *columns, size_t column_count, void **ret_items,
                  uint64_t *ret_count)
{
    uint64_t count;
    uint8_t *items;

    if (!cursor_limited(cursor, most_count, &count) || count > cursor->left_bytes / column_count)
        return false;
    items = memory_allocate(count > 0 ? count : 1, item_bytes);
    for (size_t i = 0; i < column_count; i++)
        if (!take_column(cursor, items + columns[i].offset, count, item_bytes, &columns[i])) {
            free(items);
            return false;
        }
    *ret_items = items;
    *ret_count = count;
    return true;
}
