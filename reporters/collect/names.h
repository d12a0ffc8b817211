/*
 * Code objects: from the ids of a process to the numbers of the capture, by content.
 *
 * Drain thread. Each process gives ids of its own; equal code (name, file, first line, table) has
 * one number in the capture, so equal workers share their stacks.
 */
#ifndef COLLECT_NAMES_H
#define COLLECT_NAMES_H

#include "base/hash_index.h"
#include "collect/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ids of one process -> numbers. All zero bytes is an empty map. */
struct code_map {
    uint32_t **pages; /* of CODE_MAP_PAGE_IDS numbers; NULL where nothing was announced */
    size_t page_count, page_capacity;
};

enum {
    CODE_MAP_PAGE_IDS = 4096,
};

/* Return the number of an id, 0 when it was not announced. Context: drain thread. */
static inline uint32_t code_map_find(const struct code_map *map, uint32_t id)
{
    size_t page = id / CODE_MAP_PAGE_IDS;

    if (page >= map->page_count || map->pages[page] == NULL)
        return 0;
    return map->pages[page][id % CODE_MAP_PAGE_IDS];
}

/* An id has a number now. id: at most FRAME_CODE_MASK. Context: drain thread. */
void code_map_set(struct code_map *map, uint32_t id, uint32_t number);

/* Give the memory back; the map is empty then. Context: drain thread. */
void code_map_finish(struct code_map *map);

/* The codes of the capture. All zero bytes: none yet. */
struct names {
    struct code_content *contents; /* number - 1 */
    size_t count, capacity;
    struct hash_index index;
};

/*
 * Take an announcement (BLOB_CODE) of a process.
 * map: of the process. records: gets a CODE record when the content is new.
 * Returns false, with nothing changed, when the blob is damaged. Context: drain thread.
 */
bool names_add_code(struct names *names, struct code_map *map, const uint8_t *blob,
                    size_t blob_bytes, struct records *records);

/* Give the memory back. Context: drain thread. */
void names_finish(struct names *names);

#endif
