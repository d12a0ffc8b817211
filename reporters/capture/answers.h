/*
 * Numbers and places as a row of bytes: what a process that reads debugging information sends to the one
 * that asked, and what SYMBOLS records of a capture hold (docs/format.md).
 *
 * A place is function, file, varint line, varint column. A text is a varint number; the first time that a
 * number occurs (they count from 0) its length and bytes follow. A function "" is not known.
 */
#ifndef CAPTURE_ANSWERS_H
#define CAPTURE_ANSWERS_H

#include "base/hash_index.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ANSWER_PLACES_MOST = 256, /* of one address */
};

/* Writing. All zero bytes is an empty row. */
struct answers {
    uint8_t *bytes;
    size_t size_bytes, capacity;
    const char **texts; /* the caller's, who must keep them */
    size_t text_count, text_capacity;
    struct hash_index index;
};

/* Give it back; it is empty then. Context: tool. */
void answers_finish(struct answers *answers);

/* Begin another row in the same memory. Context: tool. */
void answers_begin(struct answers *answers);

/* Write a number. Context: tool. */
void answers_number(struct answers *answers, uint64_t value);

/* Write a place. function, file: must stay until the row is done with. Context: tool. */
void answers_place(struct answers *answers, const char *function, const char *file, uint32_t line,
                   uint32_t column);

/* Reading. */
struct answers_reader {
    const uint8_t *bytes; /* the next one */
    size_t left_bytes;
    struct memory_pool *pool; /* where texts are copied to */
    const char **texts;       /* read so far; to be given to free() */
    size_t text_count, text_capacity;
};

/* Read a number, at most limit. Returns false when the row is wrong. Context: tool. */
bool answers_read_number(struct answers_reader *reader, uint64_t limit, uint64_t *ret_value);

/* Read a place; texts are the pool's. Returns false when the row is wrong. Context: tool. */
bool answers_read_place(struct answers_reader *reader, const char **ret_function,
                        const char **ret_file, uint32_t *ret_line, uint32_t *ret_column);

#endif
