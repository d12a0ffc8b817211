/*
 * Names by content. Drain thread. Contents are compared by hash, as in names.c.
 */
#include "collect/texts.h"

#include "base/memory.h"
#include "memtrack/format.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct text_content {
    uint64_t low, high;
    uint32_t kind, number;
};

static bool content_equals(const void *items, uint32_t item, const void *key)
{
    const struct text_content *a = (const struct text_content *)items + item, *b = key;

    return a->low == b->low && a->high == b->high && a->kind == b->kind;
}

static void write_name(const struct text_content *content, const char *text, size_t length_bytes,
                       struct records *records)
{
    records_begin(records, RECORD_NAME);
    records_number(records, content->kind);
    records_number(records, content->number);
    records_text(records, text, length_bytes);
    records_end(records);
}

/* Return the next number of a kind; pools beyond the last have no name. */
static uint32_t next_number(struct texts *texts, enum name_kind kind)
{
    if (kind != NAME_POOL)
        return ++texts->mark_count;
    return texts->pool_count < TEXTS_POOLS ? ALLOCATOR_POOL_FIRST + texts->pool_count++
                                           : ALLOCATOR_POOL;
}

static uint32_t number_of(struct texts *texts, enum name_kind kind, const char *text,
                          size_t length_bytes, struct records *records)
{
    XXH128_hash_t hash = XXH3_128bits(text, length_bytes);
    struct text_content content = {hash.low64, hash.high64, kind, 0};
    uint32_t item =
        hash_index_find(&texts->index, content.low, content_equals, texts->contents, &content);

    if (item != HASH_INDEX_NONE)
        return texts->contents[item].number;
    if (texts->count == FRAME_CODE_MASK)
        return 0;
    content.number = next_number(texts, kind);
    if (content.number == ALLOCATOR_POOL && kind == NAME_POOL)
        return ALLOCATOR_POOL;
    if (texts->count == texts->capacity)
        texts->contents = memory_grow(texts->contents, &texts->capacity, texts->count + 1,
                                      sizeof(*texts->contents));
    item = (uint32_t)texts->count++;
    texts->contents[item] = content;
    hash_index_add(&texts->index, content.low, item);
    write_name(&content, text, length_bytes, records);
    return content.number;
}

bool texts_add(struct texts *texts, struct text_map *map, enum name_kind kind, uint32_t id,
               const char *text, size_t length_bytes, struct records *records)
{
    uint32_t number;

    if (kind == NAME_POOL ? id < ALLOCATOR_POOL_FIRST || id >= ALLOCATOR_COUNT
                          : id == 0 || id > FRAME_CODE_MASK)
        return false;
    number = number_of(texts, kind, text, length_bytes, records);
    if (number == 0)
        return false;
    if (kind == NAME_POOL)
        map->pools[id - ALLOCATOR_POOL_FIRST] = (uint8_t)number;
    else
        code_map_set(&map->marks, id, number);
    return true;
}

void text_map_finish(struct text_map *map)
{
    code_map_finish(&map->marks);
    *map = (struct text_map){0};
}

void texts_finish(struct texts *texts)
{
    free(texts->contents);
    hash_index_finish(&texts->index);
    *texts = (struct texts){0};
}
