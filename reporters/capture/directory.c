/*
 * Directories in memory. Used by whoever writes a capture.
 */
#include "capture/directory.h"

#include "base/memory.h"
#include "memtrack/format.h"
#include "memtrack/varint.h"

#include <stdlib.h>
#include <string.h>

enum {
    ENTRY_NUMBERS = 4,
};

void directory_add(struct directory *directory, const struct directory_entry *entry)
{
    uint64_t *last_segment = &directory->last_segments[entry->type == SECTION_EVENTS];
    size_t needed_bytes = directory->size_bytes + ENTRY_NUMBERS * (size_t)VARINT_MAX_BYTES;
    uint8_t *at;

    if (needed_bytes > directory->capacity_bytes)
        directory->bytes =
            memory_grow(directory->bytes, &directory->capacity_bytes, needed_bytes, 1);
    at = directory->bytes + directory->size_bytes;
    at += varint_encode(entry->type, at);
    at += varint_encode(entry->stream, at);
    at += varint_encode(entry->offset - directory->last_offset, at);
    at += varint_encode(varint_fold((int64_t)(entry->first_segment - *last_segment)), at);
    directory->size_bytes = (size_t)(at - directory->bytes);
    directory->entry_count++;
    directory->last_offset = entry->offset;
    *last_segment = entry->first_segment;
}

static uint64_t take_number(const struct directory *directory, struct directory_reader *reader)
{
    uint64_t value = 0;

    reader->at +=
        varint_decode(directory->bytes + reader->at, directory->size_bytes - reader->at, &value);
    return value;
}

struct directory_entry directory_next(const struct directory *directory,
                                      struct directory_reader *reader)
{
    struct directory_entry entry = {.type = (uint8_t)take_number(directory, reader)};
    uint64_t *last_segment = &reader->last_segments[entry.type == SECTION_EVENTS];

    entry.stream = (uint32_t)take_number(directory, reader);
    reader->last_offset += take_number(directory, reader);
    *last_segment += (uint64_t)varint_unfold(take_number(directory, reader));
    entry.offset = reader->last_offset;
    entry.first_segment = *last_segment;
    return entry;
}

struct directory directory_copy(const struct directory *directory)
{
    struct directory copy = *directory;

    copy.capacity_bytes = directory->size_bytes;
    copy.bytes = memory_allocate(directory->size_bytes + 1, 1);
    if (directory->size_bytes > 0)
        memcpy(copy.bytes, directory->bytes, directory->size_bytes);
    return copy;
}

void directory_finish(struct directory *directory)
{
    free(directory->bytes);
    *directory = (struct directory){.bytes = NULL};
}
