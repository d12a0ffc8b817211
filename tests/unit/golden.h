/*
 * The captures of tests/golden/data, whole, cut off or changed, as files without a name.
 */
#ifndef UNIT_GOLDEN_H
#define UNIT_GOLDEN_H

#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct golden {
    uint8_t *bytes; /* free() */
    size_t size_bytes;
};

/* Read a capture by its name in tests/golden/captures.py. */
static inline struct golden golden_read(const char *name)
{
    struct golden golden;
    struct stat status;
    char path[4096];
    int fd;

    snprintf(path, sizeof(path), "%s/%s.bin", GOLDEN_FOLDER, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && fstat(fd, &status) == 0);
    golden.size_bytes = (size_t)status.st_size;
    golden.bytes = malloc(golden.size_bytes);
    CHECK(golden.bytes != NULL);
    CHECK(read(fd, golden.bytes, golden.size_bytes) == (ssize_t)golden.size_bytes);
    close(fd);
    return golden;
}

struct golden_file {
    int fd;
    char path[64];
};

/* Make a file of these bytes. */
static inline struct golden_file golden_file_open(const uint8_t *bytes, size_t size_bytes)
{
    struct golden_file file = {.fd = memfd_create("capture", MFD_CLOEXEC)};

    CHECK(file.fd >= 0);
    CHECK(write(file.fd, bytes, size_bytes) == (ssize_t)size_bytes);
    snprintf(file.path, sizeof(file.path), "/proc/self/fd/%d", file.fd);
    return file;
}

static inline void golden_file_close(struct golden_file *file)
{
    close(file->fd);
}

#endif
