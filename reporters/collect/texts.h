/*
 * Names that programs give to marks, phases and pools: from the ids of a process to the numbers of the
 * capture, by content.
 *
 * Drain thread. Equal names of all processes have one number; a capture holds as many pools as there
 * are allocator numbers for them, and those beyond have no name.
 */
#ifndef COLLECT_TEXTS_H
#define COLLECT_TEXTS_H

#include "base/hash_index.h"
#include "collect/names.h"
#include "collect/records.h"
#include "memtrack/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TEXTS_POOLS = ALLOCATOR_COUNT - ALLOCATOR_POOL_FIRST,
};

/* Ids of one process -> numbers. All zero bytes is an empty map. */
struct text_map {
    struct code_map marks;
    uint8_t pools[TEXTS_POOLS]; /* id - ALLOCATOR_POOL_FIRST -> allocator; 0: not announced */
};

/* Return the number of a mark's name, 0 when it was not announced. Context: drain thread. */
static inline uint32_t text_map_mark(const struct text_map *map, uint64_t id)
{
    return id <= FRAME_CODE_MASK ? code_map_find(&map->marks, (uint32_t)id) : 0;
}

/*
 * Return the allocator that a pool has in the capture, ALLOCATOR_NONE when it was not announced.
 * Context: drain thread.
 */
static inline uint8_t text_map_pool(const struct text_map *map, uint8_t id)
{
    return id < ALLOCATOR_POOL_FIRST ? ALLOCATOR_POOL : map->pools[id - ALLOCATOR_POOL_FIRST];
}

/* Give the memory back; the map is empty then. Context: drain thread. */
void text_map_finish(struct text_map *map);

/* The names of the capture. All zero bytes: none yet. */
struct texts {
    struct text_content *contents;
    size_t count, capacity;
    struct hash_index index;
    uint32_t mark_count, pool_count;
};

/*
 * Take an announcement (BLOB_NAME) of a process.
 * kind: NAME_MARK or NAME_POOL. map: of the process. records: gets a NAME record when it is new.
 * Returns false, with nothing changed, when the id is impossible. Context: drain thread.
 */
bool texts_add(struct texts *texts, struct text_map *map, enum name_kind kind, uint32_t id,
               const char *text, size_t length_bytes, struct records *records);

/* Give the memory back. Context: drain thread. */
void texts_finish(struct texts *texts);

#endif
