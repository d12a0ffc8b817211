/*
 * Inside the folder: the directory of a capture while it is written, a few bytes a section: type, stream,
 * and how far offset and segment are from those before. A capture of a day has millions of sections,
 * and its collector is to stay small.
 */
#ifndef CAPTURE_DIRECTORY_H
#define CAPTURE_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>

/* All zero bytes: no sections. */
struct directory {
    uint8_t *bytes;
    size_t size_bytes, capacity_bytes, entry_count;
    /* Of the last entry, in writing; segments: of events, and of all others. */
    uint64_t last_offset, last_segments[2];
};

struct directory_entry {
    uint8_t type; /* enum section_type */
    uint32_t stream;
    uint64_t offset, first_segment;
};

/* What directory_next() has come to. All zero bytes: at the beginning. */
struct directory_reader {
    size_t at;
    uint64_t last_offset, last_segments[2];
};

/* Add a section. offset: beyond that of the last one. Context: tool. */
void directory_add(struct directory *directory, const struct directory_entry *entry);

/* Take the next entry; there is one. Context: tool. */
struct directory_entry directory_next(const struct directory *directory,
                                      struct directory_reader *reader);

/* Return a copy, the caller's to finish. Context: tool. */
struct directory directory_copy(const struct directory *directory);

/* Give the memory back; it is empty then. Context: tool. */
void directory_finish(struct directory *directory);

#endif
