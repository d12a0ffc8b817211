/*
 * Inside the folder: the frames that were made, each once, and their texts, each once.
 */
#ifndef SYMBOL_FRAME_TABLE_H
#define SYMBOL_FRAME_TABLE_H

#include "base/hash_index.h"
#include "base/memory.h"
#include "symbol/frames.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text, which its owner keeps as long as the table is there. */
struct frame_name {
    const char *text;
    uint32_t length_bytes;
};

/* What makes two frames one. */
struct frame_key {
    uint32_t function, file, module; /* names; module 0: none */
    uint32_t line;
    uint32_t column; /* 0 unless frames part by it */
    uint8_t kind;
    bool is_hidden;  /* a shim is never added to the function that it stands before */
    bool is_runtime; /* a native function may be that in one place and not in another */
};

struct frame_entry {
    struct frame_key key;
    struct frame *frame; /* the pool's */
};

/* All zero bytes is an empty table. */
struct frame_table {
    struct memory_pool pool;
    struct frame_name *names;
    size_t name_count, name_capacity;
    struct hash_index name_index;
    struct frame_entry *entries;
    size_t count, capacity;
    struct hash_index index;
};

/* Give all of it back. Context: tool. */
void frame_table_finish(struct frame_table *table);

/* Return the number of a text, the same for equal ones; never 0. Context: tool. */
uint32_t frame_table_name(struct frame_table *table, const char *text, uint32_t length_bytes);

/*
 * Find a frame by its key, or add one: what the key says, and of the model column and first line.
 * Returns its id. Context: tool.
 */
uint32_t frame_table_intern(struct frame_table *table, const struct frame_key *key,
                            const struct frame *model);

/* Return the id of a special frame. name: lives as long as the program. Context: tool. */
uint32_t frame_table_special(struct frame_table *table, const char *name);

/* Return the name of a special frame. reason: enum frame_special, or of a later version. */
const char *frame_special_name(int64_t reason);

#endif
