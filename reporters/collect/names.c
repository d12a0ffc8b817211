/*
 * Code objects by content. Drain thread.
 *
 * Contents are compared by 128 bits of hash and not kept: two different ones that agree in all of
 * them are not to be expected before the sun goes out.
 */
#include "collect/names.h"

#include "base/memory.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "memtrack/varint.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct code_content {
    uint64_t low, high;
};

/* A BLOB_CODE, taken apart. Texts and table lie in the blob. */
struct code_blob {
    uint32_t id;
    int32_t first_line;
    uint8_t table_kind, flags;
    const uint8_t *file, *name, *table;
    uint32_t file_bytes, name_bytes, table_bytes;
};

static bool parse(const uint8_t *blob, size_t blob_bytes, struct code_blob *ret_code)
{
    size_t left;

    if (blob_bytes < BLOB_CODE_HEADER_BYTES)
        return false;
    *ret_code = (struct code_blob){
        .id = le_load_u32(blob),
        .first_line = (int32_t)le_load_u32(blob + 4),
        .table_kind = blob[8],
        .flags = blob[9] & CODE_HIDDEN,
        .file_bytes = le_load_u32(blob + 12),
        .name_bytes = le_load_u32(blob + 16),
        .table_bytes = le_load_u32(blob + 20),
    };
    left = blob_bytes - BLOB_CODE_HEADER_BYTES;
    if (ret_code->file_bytes > left || ret_code->name_bytes > left - ret_code->file_bytes ||
        ret_code->table_bytes != left - ret_code->file_bytes - ret_code->name_bytes)
        return false;
    if (ret_code->id == 0 || ret_code->id > FRAME_CODE_MASK)
        return false;
    if (ret_code->table_kind < LINE_TABLE_LNOTAB || ret_code->table_kind > LINE_TABLE_LOCATION)
        return false;
    ret_code->file = blob + BLOB_CODE_HEADER_BYTES;
    ret_code->name = ret_code->file + ret_code->file_bytes;
    ret_code->table = ret_code->name + ret_code->name_bytes;
    return true;
}

/* All of a blob but the id, which is the process's own. */
static struct code_content content_of(const uint8_t *blob, size_t blob_bytes)
{
    XXH128_hash_t hash = XXH3_128bits(blob + 4, blob_bytes - 4);

    return (struct code_content){hash.low64, hash.high64};
}

static bool content_equals(const void *items, uint32_t item, const void *key)
{
    const struct code_content *a = (const struct code_content *)items + item, *b = key;

    return a->low == b->low && a->high == b->high;
}

static void write_code(const struct code_blob *code, uint32_t number, struct records *records)
{
    records_begin(records, RECORD_CODE);
    records_number(records, number);
    records_folded(records, code->first_line);
    records_bytes(records, &code->table_kind, 1);
    records_bytes(records, &code->flags, 1);
    records_text(records, code->file, code->file_bytes);
    records_text(records, code->name, code->name_bytes);
    records_number(records, code->table_bytes);
    records_bytes(records, code->table, code->table_bytes);
    records_end(records);
}

void code_map_set(struct code_map *map, uint32_t id, uint32_t number)
{
    size_t page = id / CODE_MAP_PAGE_IDS;

    if (page >= map->page_count) {
        if (page >= map->page_capacity)
            map->pages =
                memory_grow(map->pages, &map->page_capacity, page + 1, sizeof(*map->pages));
        memset(map->pages + map->page_count, 0, (page + 1 - map->page_count) * sizeof(*map->pages));
        map->page_count = page + 1;
    }
    if (map->pages[page] == NULL)
        map->pages[page] = memory_allocate(CODE_MAP_PAGE_IDS, sizeof(**map->pages));
    map->pages[page][id % CODE_MAP_PAGE_IDS] = number;
}

void code_map_finish(struct code_map *map)
{
    for (size_t i = 0; i < map->page_count; i++)
        free(map->pages[i]);
    free(map->pages);
    *map = (struct code_map){0};
}

bool names_add_code(struct names *names, struct code_map *map, const uint8_t *blob,
                    size_t blob_bytes, struct records *records)
{
    struct code_blob code;
    struct code_content content;
    uint32_t item;

    if (!parse(blob, blob_bytes, &code))
        return false;
    content = content_of(blob, blob_bytes);
    item = hash_index_find(&names->index, content.low, content_equals, names->contents, &content);
    if (item == HASH_INDEX_NONE) {
        if (names->count >= FRAME_CODE_MASK)
            return false;
        if (names->count == names->capacity)
            names->contents = memory_grow(names->contents, &names->capacity, names->count + 1,
                                          sizeof(*names->contents));
        item = (uint32_t)names->count++;
        names->contents[item] = content;
        hash_index_add(&names->index, content.low, item);
        write_code(&code, item + 1, records);
    }
    code_map_set(map, code.id, item + 1);
    return true;
}

void names_finish(struct names *names)
{
    free(names->contents);
    hash_index_finish(&names->index);
    *names = (struct names){0};
}
