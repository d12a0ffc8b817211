/*
 * Frames and their texts. Runs in the tools; not thread-safe.
 *
 * What holds: texts are interned first, so a frame's key is a few numbers, and a frame once made
 * never moves.
 */
#include "symbol/frame_table.h"

#include "memtrack/protocol.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* enum frame_special; later versions may have more. */
static const char *const special_names[] = {
    [SPECIAL_UNKNOWN] = "[unknown]",
    [SPECIAL_TRUNCATED] = "[truncated]",
    [SPECIAL_FINALIZING] = "[interpreter ending]",
    [SPECIAL_NO_FRAME] = "[no frame]",
    [SPECIAL_SIGNAL_HANDLER] = "[signal handler]",
    [SPECIAL_UNWINDER] = "[unwinder gave up]",
};

const char *frame_special_name(int64_t reason)
{
    int64_t count = sizeof(special_names) / sizeof(special_names[0]);

    return special_names[reason >= 0 && reason < count ? reason : SPECIAL_UNKNOWN];
}

static bool name_equals(const void *items, uint32_t item, const void *key)
{
    const struct frame_name *a = &((const struct frame_name *)items)[item], *b = key;

    return a->length_bytes == b->length_bytes && memcmp(a->text, b->text, a->length_bytes) == 0;
}

uint32_t frame_table_name(struct frame_table *table, const char *text, uint32_t length_bytes)
{
    struct frame_name name = {text, length_bytes};
    uint64_t hash = XXH3_64bits(text, length_bytes);
    uint32_t found = hash_index_find(&table->name_index, hash, name_equals, table->names, &name);

    if (found != HASH_INDEX_NONE)
        return found + 1;
    table->names = memory_grow(table->names, &table->name_capacity, table->name_count + 1,
                               sizeof(table->names[0]));
    table->names[table->name_count] = name;
    hash_index_add(&table->name_index, hash, (uint32_t)table->name_count);
    return (uint32_t)++table->name_count;
}

static const char *text_of(const struct frame_table *table, uint32_t name)
{
    return table->names[name - 1].text;
}

static bool key_equals(const void *items, uint32_t item, const void *key)
{
    const struct frame_key *a = &((const struct frame_entry *)items)[item].key, *b = key;

    return a->function == b->function && a->file == b->file && a->module == b->module &&
           a->line == b->line && a->column == b->column && a->kind == b->kind &&
           a->is_hidden == b->is_hidden && a->is_runtime == b->is_runtime;
}

static uint64_t hash_of(const struct frame_key *key)
{
    uint64_t place = hash_index_mix((uint64_t)key->line << 32 | key->column,
                                    (uint64_t)key->module << 32 | (uint64_t)key->kind << 2 |
                                        (uint64_t)key->is_runtime << 1 | key->is_hidden);

    return hash_index_mix((uint64_t)key->function << 32 | key->file, place);
}

uint32_t frame_table_intern(struct frame_table *table, const struct frame_key *key,
                            const struct frame *model)
{
    uint64_t hash = hash_of(key);
    uint32_t found = hash_index_find(&table->index, hash, key_equals, table->entries, key);
    struct frame *frame;

    if (found != HASH_INDEX_NONE) {
        frame = table->entries[found].frame;
        if (frame->column != model->column)
            frame->column = 0;
        return found;
    }
    frame = memory_pool_allocate(&table->pool, sizeof(*frame));
    *frame = (struct frame){
        .function = text_of(table, key->function),
        .file = text_of(table, key->file),
        .module = key->module != 0 ? text_of(table, key->module) : NULL,
        .line = key->line,
        .column = model->column,
        .first_line = model->first_line,
        .kind = key->kind,
        .is_hidden = key->is_hidden,
        .is_runtime = key->is_runtime,
    };
    table->entries =
        memory_grow(table->entries, &table->capacity, table->count + 1, sizeof(table->entries[0]));
    table->entries[table->count] = (struct frame_entry){*key, frame};
    hash_index_add(&table->index, hash, (uint32_t)table->count);
    return (uint32_t)table->count++;
}

uint32_t frame_table_special(struct frame_table *table, const char *name)
{
    struct frame_key key = {.kind = FRAME_SPECIAL};

    key.function = frame_table_name(table, name, (uint32_t)strlen(name));
    key.file = frame_table_name(table, "", 0);
    key.is_hidden = strcmp(name, special_names[SPECIAL_NO_FRAME]) == 0;
    return frame_table_intern(table, &key, &(struct frame){.line = 0});
}

void frame_table_finish(struct frame_table *table)
{
    memory_pool_finish(&table->pool);
    hash_index_finish(&table->name_index);
    hash_index_finish(&table->index);
    free(table->names);
    free(table->entries);
}
