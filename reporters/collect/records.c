/*
 * RECORDS payloads, built byte by byte. Any thread of the collector, each with its own.
 */
#include "collect/records.h"

#include "base/memory.h"
#include "memtrack/varint.h"

#include <stdlib.h>
#include <string.h>

static uint8_t *room(struct records *records, size_t size_bytes)
{
    size_t needed = records->content_bytes + size_bytes;

    if (needed > records->content_capacity)
        records->content = memory_grow(records->content, &records->content_capacity, needed, 1);
    return records->content + records->content_bytes;
}

void records_begin(struct records *records, uint32_t kind)
{
    records->kind = kind;
    records->content_bytes = 0;
}

void records_number(struct records *records, uint64_t value)
{
    uint8_t *at = room(records, VARINT_MAX_BYTES);

    records->content_bytes += varint_encode(value, at);
}

void records_folded(struct records *records, int64_t value)
{
    records_number(records, varint_fold(value));
}

void records_bytes(struct records *records, const void *bytes, size_t size_bytes)
{
    if (size_bytes == 0)
        return;
    memcpy(room(records, size_bytes), bytes, size_bytes);
    records->content_bytes += size_bytes;
}

void records_text(struct records *records, const void *text, size_t length_bytes)
{
    size_t begin;

    records_number(records, length_bytes);
    begin = records->content_bytes;
    records_bytes(records, text, length_bytes);
    for (size_t i = begin; i < records->content_bytes; i++)
        if (records->content[i] == '\0')
            records->content[i] = '?';
}

void records_field_number(struct records *records, uint32_t field, uint64_t value)
{
    uint8_t encoded[VARINT_MAX_BYTES];
    size_t length = varint_encode(value, encoded);

    records_number(records, field);
    records_number(records, length);
    records_bytes(records, encoded, length);
}

void records_field_text(struct records *records, uint32_t field, const char *text,
                        size_t length_bytes)
{
    records_number(records, field);
    records_text(records, text, length_bytes);
}

void records_end(struct records *records)
{
    size_t needed = records->size_bytes + (size_t)2 * VARINT_MAX_BYTES + records->content_bytes;

    if (needed > records->capacity_bytes)
        records->bytes = memory_grow(records->bytes, &records->capacity_bytes, needed, 1);
    records->size_bytes += varint_encode(records->kind, records->bytes + records->size_bytes);
    records->size_bytes +=
        varint_encode(records->content_bytes, records->bytes + records->size_bytes);
    if (records->content_bytes > 0)
        memcpy(records->bytes + records->size_bytes, records->content, records->content_bytes);
    records->size_bytes += records->content_bytes;
    records->count++;
}

void records_append(struct records *records, const void *bytes, size_t size_bytes, uint32_t count)
{
    size_t needed = records->size_bytes + size_bytes;

    if (needed > records->capacity_bytes)
        records->bytes = memory_grow(records->bytes, &records->capacity_bytes, needed, 1);
    memcpy(records->bytes + records->size_bytes, bytes, size_bytes);
    records->size_bytes = needed;
    records->count += count;
}

void records_clear(struct records *records)
{
    records->size_bytes = 0;
    records->count = 0;
}

void records_finish(struct records *records)
{
    free(records->bytes);
    free(records->content);
    *records = (struct records){0};
}
