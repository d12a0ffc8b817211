/*
 * Mapping the pool.
 *
 * Runs in our constructor. What a collector of another version, or no collector at all, may have
 * made is refused here; later nothing is checked any more.
 */
#include "session/pool_map.h"

#include "base/syscalls.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#ifndef MADV_DONTDUMP
#define MADV_DONTDUMP 16 /* linux 3.4, asm-generic/mman-common.h */
#endif

/* Whether a part of the pool lies in it and where it should be. */
static bool is_inside(uint64_t offset, uint64_t count, uint64_t element_bytes, uint64_t pool_bytes)
{
    return offset % 64 == 0 && offset >= POOL_HEADER_BYTES && offset <= pool_bytes &&
           count <= (pool_bytes - offset) / element_bytes;
}

static bool is_sound(const struct pool_header *header, uint64_t pool_bytes, uint32_t process_slot)
{
    return header->magic == PROTOCOL_MAGIC && header->major == PROTOCOL_MAJOR &&
           header->pool_bytes == pool_bytes && header->process_bytes == POOL_PROCESS_BYTES &&
           header->ring_slot_count == RING_SLOT_COUNT && header->ring_count > 0 &&
           header->ring_count <= POOL_RING_COUNT && process_slot < header->process_count &&
           header->death_word_offset % 4 == 0 &&
           header->death_word_offset <= POOL_HEADER_BYTES - sizeof(uint32_t) &&
           is_inside(header->process_offset, header->process_count, POOL_PROCESS_BYTES,
                     pool_bytes) &&
           is_inside(header->directory_offset, header->ring_count, POOL_RING_ENTRY_BYTES,
                     pool_bytes) &&
           is_inside(header->rings_offset, header->ring_count, RING_BYTES, pool_bytes);
}

/* Nobody may shrink it under us: a store behind its end would kill the program. */
static bool is_sealed(int fd, uint64_t pool_bytes)
{
    long seals = sys_call(SYS_fcntl, fd, F_GET_SEALS, 0, 0, 0, 0);
    struct stat status = {0};

    return !sys_failed(seals) && (seals & F_SEAL_SHRINK) != 0 &&
           !sys_failed(sys_call(SYS_fstat, fd, (long)&status, 0, 0, 0, 0)) &&
           (uint64_t)status.st_size >= pool_bytes;
}

static void *map_shared(int fd, size_t size_bytes)
{
    long address =
        sys_call(SYS_mmap, 0, (long)size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return sys_failed(address) ? NULL : (void *)address;
}

static bool is_address_space_limited(void)
{
    struct rlimit limit = {0};

    return sys_failed(sys_call(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&limit, 0, 0)) ||
           limit.rlim_cur != RLIM_INFINITY;
}

/* How much of the pool to map, and how many rings that is. */
static void choose_size(const struct pool_header *header, struct pool_map *map)
{
    map->ring_count = header->ring_count;
    map->mapped_bytes = header->pool_bytes;
    if (!is_address_space_limited() || header->ring_count <= POOL_RINGS_OF_SMALL_TARGET)
        return;
    map->ring_count = POOL_RINGS_OF_SMALL_TARGET;
    map->mapped_bytes = header->rings_offset + (size_t)map->ring_count * RING_BYTES;
}

bool pool_map_open(int fd, uint64_t pool_bytes, uint32_t process_slot, struct pool_map *ret_map)
{
    struct pool_map map = {0};
    struct pool_header *header;
    bool is_ours;

    if (pool_bytes < POOL_HEADER_BYTES || !is_sealed(fd, pool_bytes))
        return false;
    header = map_shared(fd, POOL_HEADER_BYTES);
    if (header == NULL)
        return false;
    is_ours = is_sound(header, pool_bytes, process_slot);
    if (is_ours)
        choose_size(header, &map);
    sys_unmap(header, POOL_HEADER_BYTES);
    if (!is_ours)
        return false;
    map.header = map_shared(fd, map.mapped_bytes);
    if (map.header == NULL)
        return false;
    /* A core file is the program's, not ours. */
    sys_call(SYS_madvise, (long)map.header, (long)map.mapped_bytes, MADV_DONTDUMP, 0, 0, 0);
    *ret_map = map;
    return true;
}

void pool_map_close(struct pool_map *map)
{
    sys_unmap(map->header, map->mapped_bytes);
    map->header = NULL;
}
