/*
 * The pool in this process's memory.
 */
#ifndef SESSION_POOL_MAP_H
#define SESSION_POOL_MAP_H

#include "memtrack/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool_map {
    struct pool_header *header; /* mapped for good */
    size_t mapped_bytes;
    uint32_t ring_count; /* rings that are mapped */
};

/*
 * Map a pool and check that it is one: nothing in it can lead outside of it, and nobody can cut it.
 * fd: stays the caller's, and may be closed afterwards.
 * pool_bytes: as the collector says. process_slot: the slot we were given, checked too.
 * Maps only as many rings as a small target needs when the address space is limited.
 * Returns false when it is no pool of ours, or does not fit.
 * Context: start-up.
 */
bool pool_map_open(int fd, uint64_t pool_bytes, uint32_t process_slot, struct pool_map *ret_map);

/* Unmap it again. Context: start-up. */
void pool_map_close(struct pool_map *map);

#endif
