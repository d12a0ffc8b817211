/*
 * Building the payload of a RECORDS section (docs/format.md section 2).
 *
 * A record is begun, filled and ended; its length is known only then, so it is built aside. All
 * zero bytes is an empty payload. Not thread-safe: each thread has its own.
 */
#ifndef COLLECT_RECORDS_H
#define COLLECT_RECORDS_H

#include <stddef.h>
#include <stdint.h>

struct records {
    uint8_t *bytes; /* ended records */
    size_t size_bytes, capacity_bytes;
    uint32_t count;
    uint8_t *content; /* of the record that is being built */
    size_t content_bytes, content_capacity;
    uint32_t kind;
};

/* Begin a record. kind: enum record_kind. Context: any thread. */
void records_begin(struct records *records, uint32_t kind);

/* Append a varint, a folded number, or bytes to the record. Context: any thread. */
void records_number(struct records *records, uint64_t value);
void records_folded(struct records *records, int64_t value);
void records_bytes(struct records *records, const void *bytes, size_t size_bytes);

/* Append varint length and bytes. NUL bytes become '?': texts have none. Context: any thread. */
void records_text(struct records *records, const void *text, size_t length_bytes);

/* Append a field: number, length, content. Context: any thread. */
void records_field_number(struct records *records, uint32_t field, uint64_t value);
void records_field_text(struct records *records, uint32_t field, const char *text,
                        size_t length_bytes);

/* End the record. Context: any thread. */
void records_end(struct records *records);

/* Append records that are ended already: so many, of size_bytes. Context: any thread. */
void records_append(struct records *records, const void *bytes, size_t size_bytes, uint32_t count);

/* Forget the ended records; the memory is kept. Context: any thread. */
void records_clear(struct records *records);

/* Give the memory back. Context: any thread. */
void records_finish(struct records *records);

#endif
