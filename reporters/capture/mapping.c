/*
 * The bytes of a capture. Runs in the tools.
 *
 * What holds: whether somebody writes is asked before the size is, so a capture that nobody had
 * locked is as long as it will ever be; one that was locked may have grown since.
 */
#include "capture/mapping.h"

#include "memtrack/format.h"
#include "memtrack/varint.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Where the fields stand, from docs/format.md. */
enum {
    AT_MAJOR = 8,
    AT_SUPERBLOCK_BYTES = 12,
    AT_UUID = 16,
    AT_FEATURES = 32,
    AT_REALTIME = 40,
    HASH_BYTES = 8,
    TRAILER_AT_FILE_BYTES = 8,
    TRAILER_AT_MAGIC = 16,
    TRAILER_AT_HASH = 24,
};

static bool map_bytes(int fd, const char *path, size_t size_bytes, struct capture_mapping *mapping,
                      struct error *err)
{
    void *bytes = mmap(NULL, size_bytes, PROT_READ, MAP_PRIVATE, fd, 0);

    if (bytes == MAP_FAILED) {
        error_set(err, "%s: cannot be mapped: %s", path, strerror(errno));
        return false;
    }
    mapping->content = (struct capture_bytes){path, bytes, size_bytes};
    return true;
}

static bool map_file(int fd, const char *path, struct capture_mapping *mapping, struct error *err)
{
    struct stat status;

    /* A shared lock cannot be had while the collector holds its exclusive one. */
    mapping->is_locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fstat(fd, &status) != 0) {
        error_set(err, "%s: cannot be read: %s", path, strerror(errno));
        return false;
    }
    if (!S_ISREG(status.st_mode)) {
        error_set(err, "%s: not a regular file: captures are read from files", path);
        return false;
    }
    if (status.st_size == 0) {
        error_set(err, "%s: not a capture: empty at offset 0: record it again", path);
        return false;
    }
    return map_bytes(fd, path, (size_t)status.st_size, mapping, err);
}

bool capture_mapping_open(const char *path, struct capture_mapping *ret_mapping, struct error *err)
{
    struct capture_mapping mapping = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool is_mapped;

    if (fd < 0) {
        error_set(err, "%s: cannot be opened: %s", path, strerror(errno));
        return false;
    }
    is_mapped = map_file(fd, path, &mapping, err);
    close(fd); /* and with it the shared lock */
    if (is_mapped)
        *ret_mapping = mapping;
    return is_mapped;
}

bool capture_mapping_part(int fd, const char *name, size_t size_bytes,
                          struct capture_mapping *ret_mapping, struct error *err)
{
    struct capture_mapping mapping = {.is_locked = true};

    if (!map_bytes(fd, name, size_bytes, &mapping, err))
        return false;
    *ret_mapping = mapping;
    return true;
}

void capture_mapping_close(struct capture_mapping *mapping)
{
    if (mapping->content.bytes != NULL)
        munmap((void *)(uintptr_t)mapping->content.bytes, mapping->content.size_bytes);
    *mapping = (struct capture_mapping){0};
}

static bool refuse(const struct capture_bytes *content, size_t offset, const char *what,
                   struct error *err)
{
    error_set(err, "%s: %s at offset %zu: nothing of it can be read", content->file, what, offset);
    return false;
}

bool capture_superblock_read(const struct capture_bytes *content,
                             struct capture_superblock *ret_superblock, struct error *err)
{
    const uint8_t *bytes = content->bytes;
    size_t superblock_bytes;

    for (size_t i = 0; i < sizeof(SUPERBLOCK_MAGIC) - 1; i++)
        if (i < content->size_bytes && bytes[i] != (uint8_t)SUPERBLOCK_MAGIC[i])
            return refuse(content, i, "not a memtrack capture", err);
    if (content->size_bytes < SUPERBLOCK_BYTES)
        return refuse(content, content->size_bytes, "superblock cut off", err);
    if (le_load_u16(bytes + AT_MAJOR) != FORMAT_MAJOR) {
        error_set(err,
                  "%s: capture of major version %u at offset %d: read it with the memtrack that "
                  "recorded it, or a newer one",
                  content->file, le_load_u16(bytes + AT_MAJOR), AT_MAJOR);
        return false;
    }
    superblock_bytes = le_load_u32(bytes + AT_SUPERBLOCK_BYTES);
    if (superblock_bytes < SUPERBLOCK_BYTES || superblock_bytes > SUPERBLOCK_MAX_BYTES ||
        superblock_bytes % SECTION_ALIGN_BYTES != 0)
        return refuse(content, AT_SUPERBLOCK_BYTES, "impossible superblock size", err);
    if (superblock_bytes > content->size_bytes)
        return refuse(content, content->size_bytes, "superblock cut off", err);
    if (XXH3_64bits(bytes, superblock_bytes - HASH_BYTES) !=
        le_load_u64(bytes + superblock_bytes - HASH_BYTES))
        return refuse(content, superblock_bytes - HASH_BYTES, "superblock checksum differs", err);
    ret_superblock->features = le_load_u64(bytes + AT_FEATURES);
    if ((ret_superblock->features & ~FEATURES_KNOWN) != 0) {
        error_set(err, "%s: feature of a later version at offset %d: read it with a newer memtrack",
                  content->file, AT_FEATURES);
        return false;
    }
    memcpy(ret_superblock->uuid, bytes + AT_UUID, sizeof(ret_superblock->uuid));
    ret_superblock->realtime_ns = le_load_u64(bytes + AT_REALTIME);
    ret_superblock->sections_offset = superblock_bytes;
    return true;
}

bool capture_trailer_read(const struct capture_bytes *content, uint64_t *ret_directory_offset)
{
    const uint8_t *trailer;

    if (content->size_bytes < SUPERBLOCK_BYTES + TRAILER_BYTES ||
        content->size_bytes % SECTION_ALIGN_BYTES != 0)
        return false;
    trailer = content->bytes + content->size_bytes - TRAILER_BYTES;
    if (memcmp(trailer + TRAILER_AT_MAGIC, TRAILER_MAGIC, sizeof(TRAILER_MAGIC) - 1) != 0 ||
        le_load_u64(trailer + TRAILER_AT_FILE_BYTES) != content->size_bytes ||
        XXH3_64bits(trailer, TRAILER_AT_HASH) != le_load_u64(trailer + TRAILER_AT_HASH))
        return false;
    *ret_directory_offset = le_load_u64(trailer);
    return true;
}
