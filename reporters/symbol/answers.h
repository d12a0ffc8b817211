/*
 * The places of many addresses as a row of bytes: from the process that found them to the one that
 * asked, and so far alike in a capture.
 *
 * A row has for each address: varint count of places, then for each place: function, file, varint line,
 * varint column. A text is a varint number; the first time that a number occurs (they count from 0) its
 * length and bytes follow. A function "" is not known.
 */
#ifndef SYMBOL_ANSWERS_H
#define SYMBOL_ANSWERS_H

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

/* Begin the answer to the next address: so many places follow. Context: tool. */
void answers_address(struct answers *answers, uint32_t place_count);

/* Write a place. function, file: must stay until answers_finish(). Context: tool. */
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

/* Read how many places the next address has. Returns false when the row is wrong. Context: tool. */
bool answers_read_address(struct answers_reader *reader, uint32_t *ret_place_count);

/* Read a place; texts are the pool's. Returns false when the row is wrong. Context: tool. */
bool answers_read_place(struct answers_reader *reader, const char **ret_function,
                        const char **ret_file, uint32_t *ret_line, uint32_t *ret_column);

#endif
