/*
 * Inside the folder: what a writer is, for those who let one go on where another stands.
 */
#ifndef CAPTURE_WRITER_INSIDE_H
#define CAPTURE_WRITER_INSIDE_H

#include "base/error.h"
#include "capture/directory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_writer {
    int fd;
    bool is_adopted;       /* the file is the caller's, and written once from front to end */
    bool is_kept_for_long; /* and packed as well as can be */
    bool is_passing;       /* read once by ourselves: neither packed nor listed */
    bool has_failed;
    struct error error; /* of the first write that failed */
    char *path;
    uint64_t file_bytes;
    struct directory directory;
    char *packed; /* LZ4's output */
    size_t packed_capacity;
    uint8_t *out; /* a section as it goes to the file */
    size_t out_capacity;
};

#endif
