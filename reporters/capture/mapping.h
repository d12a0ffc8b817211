/*
 * The bytes of a capture: the file mapped, its superblock and its end looked at.
 */
#ifndef CAPTURE_MAPPING_H
#define CAPTURE_MAPPING_H

#include "base/error.h"
#include "capture/section.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_mapping {
    struct capture_bytes content; /* file: the caller's */
    bool is_locked;               /* somebody was writing when it was mapped */
};

/* What the superblock says. */
struct capture_superblock {
    uint8_t uuid[16];
    uint64_t realtime_ns;
    uint64_t features;      /* all of them known */
    size_t sections_offset; /* a multiple of SECTION_ALIGN_BYTES, within the file */
};

/*
 * Map a regular file.
 * path: the caller's, must outlive the mapping.
 * Returns false with err when it cannot be read, or is empty. Context: tool.
 */
bool capture_mapping_open(const char *path, struct capture_mapping *ret_mapping, struct error *err);

/*
 * Map the first so many bytes, which are there, of a file that somebody is writing.
 * fd: stays the caller's. name: for messages; the caller's, must outlive the mapping.
 * Returns false with err. Context: tool.
 */
bool capture_mapping_part(int fd, const char *name, size_t size_bytes,
                          struct capture_mapping *ret_mapping, struct error *err);

/* Give it back; all zero bytes is allowed. Context: tool. */
void capture_mapping_close(struct capture_mapping *mapping);

/* Check the superblock. Returns false with err, which says what and where. Context: tool. */
bool capture_superblock_read(const struct capture_bytes *content,
                             struct capture_superblock *ret_superblock, struct error *err);

/*
 * Look for a trailer at the end of the file.
 * ret_directory_offset: of the directory, as the trailer says; not checked.
 * Returns false when there is none, or one that is not right: the capture is not clean then.
 * Context: tool.
 */
bool capture_trailer_read(const struct capture_bytes *content, uint64_t *ret_directory_offset);

#endif
