/*
 * Writers that go on where others stand. Runs in the collector and in tests.
 *
 * What holds: a point stays what it was, whatever its writer writes next; a file that is gone on with ends
 * with a whole section.
 */
#include "base/copy.h"
#include "base/memory.h"
#include "capture/section.h"
#include "capture/writer.h"
#include "capture/writer_inside.h"
#include "memtrack/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct capture_writer_point {
    int fd; /* the writer's file, by a descriptor of its own */
    uint64_t file_bytes;
    struct directory directory;
};

struct capture_writer_point *capture_writer_point(const struct capture_writer *writer,
                                                  struct error *err)
{
    struct capture_writer_point *point;
    int fd = writer->has_failed ? -1 : fcntl(writer->fd, F_DUPFD_CLOEXEC, 0);

    if (fd < 0) {
        if (writer->has_failed && err != NULL)
            *err = writer->error;
        else
            error_set(err, "%s: cannot be read again: %s", writer->path, strerror(errno));
        return NULL;
    }
    point = memory_allocate(1, sizeof(*point));
    point->fd = fd;
    point->file_bytes = writer->file_bytes;
    point->directory = directory_copy(&writer->directory);
    return point;
}

int capture_writer_point_fd(const struct capture_writer_point *point)
{
    return point->fd;
}

uint64_t capture_writer_point_bytes(const struct capture_writer_point *point)
{
    return point->file_bytes;
}

void capture_writer_point_free(struct capture_writer_point *point)
{
    if (point == NULL)
        return;
    close(point->fd);
    directory_finish(&point->directory);
    free(point);
}

struct capture_writer *capture_writer_resume(int fd, const char *name,
                                             const struct capture_writer_point *point)
{
    struct capture_writer *writer = memory_allocate(1, sizeof(*writer));

    writer->fd = fd;
    writer->is_adopted = true;
    writer->path = memory_copy_text(name);
    writer->file_bytes = point->file_bytes;
    writer->directory = directory_copy(&point->directory);
    return writer;
}

/* Note the sections up to an offset. Returns false with err: the writer stands before the wrong one. */
static bool take_sections(struct capture_writer *writer, uint64_t end_offset, struct error *err)
{
    while (writer->file_bytes < end_offset) {
        uint8_t header[SECTION_HEADER_BYTES];
        /* Of the payload only its size is looked at: there are no more bytes than the header. */
        struct capture_bytes content = {writer->path, header,
                                        (size_t)(end_offset - writer->file_bytes)};
        struct section section;

        if (pread(writer->fd, header, sizeof(header), (off_t)writer->file_bytes) !=
            (ssize_t)sizeof(header)) {
            error_set(err, "%s: cannot be read again: %s", writer->path, strerror(errno));
            return false;
        }
        if (!section_read(&content, 0, &section, err))
            return false;
        directory_add(&writer->directory,
                      &(struct directory_entry){.type = section.type,
                                                .stream = section.stream,
                                                .offset = writer->file_bytes,
                                                .first_segment = section.first_segment});
        writer->file_bytes += section.next_offset;
    }
    return true;
}

struct capture_writer *capture_writer_go_on(int fd, const char *path, uint64_t size_bytes,
                                            struct error *err)
{
    struct capture_writer *writer = memory_allocate(1, sizeof(*writer));

    writer->fd = fd;
    writer->path = memory_copy_text(path);
    writer->file_bytes = SUPERBLOCK_BYTES;
    if (take_sections(writer, size_bytes, err))
        return writer;
    writer->is_adopted = true; /* the file stays the caller's */
    capture_writer_abandon(writer);
    return NULL;
}

bool capture_writer_append_from(struct capture_writer *writer, const struct capture_writer *other,
                                uint64_t offset, struct error *err)
{
    uint64_t size_bytes = other->file_bytes - offset;

    if (other->has_failed) {
        if (err != NULL)
            *err = other->error; /* it has left something out */
        return false;
    }
    if (copy_bytes(other->fd, offset, writer->fd, writer->file_bytes, size_bytes))
        return take_sections(writer, writer->file_bytes + size_bytes, err);
    error_set(err, "%s: cannot be written: %s", writer->path, strerror(errno));
    return false;
}

void capture_writer_exchange(struct capture_writer *writer, struct capture_writer *other)
{
    struct capture_writer former = *writer;

    *writer = *other;
    *other = former;
}
