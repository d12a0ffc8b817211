/*
 * The one writer of captures. Runs in the collector's pack thread, in the tools and in tests.
 *
 * What holds: the file always ends with a whole section, so it can be read at any instant. A write
 * that fails is taken back (the file is cut to the last whole section) and ends the writing: what
 * stands in the file stays valid.
 */
#include "capture/writer.h"

#include "base/memory.h"
#include "capture/directory.h"
#include "capture/section.h"
#include "capture/writer_inside.h"
#include "memtrack/format.h"
#include "memtrack/varint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lz4.h>
#include <lz4hc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    AT_MAJOR = 8,
    AT_MINOR = 10,
    AT_BYTES = 12,
    AT_UUID = 16,
    AT_FEATURES = 32,
    AT_REALTIME = 40,
    AT_SUPERBLOCK_HASH = 56,
    DIRECTORY_MAX_ENTRIES = SECTION_MAX_RAW_BYTES / DIRECTORY_ENTRY_BYTES,
    CREATE_MODE = 0666, /* umask decides, as for any output */
};

static bool open_failed(const char *path, struct error *err)
{
    if (errno == EEXIST)
        error_set(err, "%s: is there already: give another name, or -f to replace it", path);
    else
        error_set(err, "%s: cannot be created: %s", path, strerror(errno));
    return false;
}

/*
 * Make a new file that takes the name at once. The rename comes after the superblock is written.
 * ret_temporary: room for PATH_MAX; empty when the file has its name already.
 */
static int create_file(const char *path, bool may_overwrite, char *ret_temporary, struct error *err)
{
    struct stat status;
    int fd, length;

    ret_temporary[0] = '\0';
    if (!may_overwrite || stat(path, &status) < 0) {
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, CREATE_MODE);
        if (fd < 0)
            open_failed(path, err);
        return fd;
    }
    if (!S_ISREG(status.st_mode)) {
        error_set(err, "%s: is not a regular file: give another name", path);
        return -1;
    }
    length = snprintf(ret_temporary, PATH_MAX, "%s.%ld.tmp", path, (long)getpid());
    if (length < 0 || length >= PATH_MAX) {
        error_set(err, "%s: name too long: give a shorter one", path);
        return -1;
    }
    unlink(ret_temporary); /* what a killed process of the same pid has left */
    fd = open(ret_temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, CREATE_MODE);
    if (fd < 0) {
        ret_temporary[0] = '\0';
        open_failed(path, err);
    }
    return fd;
}

/* Write all of it at the end of the file, or nothing. */
static bool append(struct capture_writer *writer, const void *bytes, size_t size_bytes)
{
    const uint8_t *next = bytes;
    size_t left_bytes = size_bytes;

    while (left_bytes > 0) {
        uint64_t offset = writer->file_bytes + (size_bytes - left_bytes);
        ssize_t written = writer->is_adopted ? write(writer->fd, next, left_bytes)
                                             : pwrite(writer->fd, next, left_bytes, (off_t)offset);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            error_set(&writer->error, "%s: cannot be written: %s%s", writer->path,
                      strerror(written < 0 ? errno : EIO),
                      writer->is_adopted ? "" : ": what stands in it can be read");
            writer->has_failed = true;
            if (writer->is_adopted)
                return false;
            /* If this fails too, readers see a section cut off, and what stands before it. */
            if (ftruncate(writer->fd, (off_t)writer->file_bytes) < 0)
                return false;
            return false;
        }
        next += written;
        left_bytes -= (size_t)written;
    }
    writer->file_bytes += size_bytes;
    return true;
}

static bool write_superblock(struct capture_writer *writer, const uint8_t uuid[16],
                             uint64_t realtime_ns, uint64_t features)
{
    uint8_t bytes[SUPERBLOCK_BYTES] = {0};

    memcpy(bytes, SUPERBLOCK_MAGIC, 8);
    le_store_u16(FORMAT_MAJOR, bytes + AT_MAJOR);
    le_store_u16(FORMAT_MINOR, bytes + AT_MINOR);
    le_store_u32(SUPERBLOCK_BYTES, bytes + AT_BYTES);
    memcpy(bytes + AT_UUID, uuid, 16);
    le_store_u64(features, bytes + AT_FEATURES);
    le_store_u64(realtime_ns, bytes + AT_REALTIME);
    le_store_u64(XXH3_64bits(bytes, AT_SUPERBLOCK_HASH), bytes + AT_SUPERBLOCK_HASH);
    return append(writer, bytes, sizeof(bytes));
}

static void writer_free(struct capture_writer *writer)
{
    if (!writer->is_adopted)
        close(writer->fd); /* gives the lock back too */
    free(writer->path);
    directory_finish(&writer->directory);
    free(writer->packed);
    free(writer->out);
    free(writer);
}

static struct capture_writer *open_file(const char *path, bool may_overwrite,
                                        const uint8_t uuid[16], uint64_t realtime_ns,
                                        uint64_t features, struct error *err)
{
    struct capture_writer *writer;
    char resolved[PATH_MAX], temporary[PATH_MAX];
    int fd;

    /* A link stays a link: what it leads to is replaced. */
    if (may_overwrite && realpath(path, resolved) != NULL)
        path = resolved;
    fd = create_file(path, may_overwrite, temporary, err);
    if (fd < 0)
        return NULL;
    writer = memory_allocate(1, sizeof(*writer));
    writer->fd = fd;
    writer->path = memory_copy_text(path);
    /* Where locks are not known a running capture looks truncated; that is no reason to stop. */
    (void)flock(fd, LOCK_EX | LOCK_NB);
    if (!write_superblock(writer, uuid, realtime_ns, features)) {
        if (err != NULL)
            *err = writer->error;
        goto failed;
    }
    if (temporary[0] != '\0' && rename(temporary, path) < 0) {
        error_set(err, "%s: cannot be replaced: %s", path, strerror(errno));
        goto failed;
    }
    return writer;

failed:
    unlink(temporary[0] != '\0' ? temporary : path);
    writer_free(writer);
    return NULL;
}

struct capture_writer *capture_writer_open(const char *path, bool may_overwrite,
                                           const uint8_t uuid[16], uint64_t realtime_ns,
                                           struct error *err)
{
    return open_file(path, may_overwrite, uuid, realtime_ns, 0, err);
}

struct capture_writer *capture_writer_open_aggregated(const char *path, bool may_overwrite,
                                                      const uint8_t uuid[16], uint64_t realtime_ns,
                                                      struct error *err)
{
    return open_file(path, may_overwrite, uuid, realtime_ns, FEATURE_AGGREGATED, err);
}

/* A file that is memory. Returns NULL with err. */
static struct capture_writer *create_in_memory(const char *name, struct error *err)
{
    struct capture_writer *writer;
    int fd = memfd_create("memtrack-capture", MFD_CLOEXEC);

    if (fd < 0) {
        error_set(err, "%s: no memory for what is to be written: %s", name, strerror(errno));
        return NULL;
    }
    writer = memory_allocate(1, sizeof(*writer));
    writer->fd = fd;
    writer->path = memory_copy_text(name);
    return writer;
}

struct capture_writer *capture_writer_open_memory(const char *name, const uint8_t uuid[16],
                                                  uint64_t realtime_ns, struct error *err)
{
    struct capture_writer *writer = create_in_memory(name, err);

    if (writer == NULL || write_superblock(writer, uuid, realtime_ns, FEATURE_AGGREGATED))
        return writer;
    if (err != NULL)
        *err = writer->error;
    writer_free(writer);
    return NULL;
}

struct capture_writer *capture_writer_open_passing(const char *name, struct error *err)
{
    struct capture_writer *writer = create_in_memory(name, err);

    if (writer != NULL) {
        writer->is_passing = true;
        writer->file_bytes = SUPERBLOCK_BYTES; /* as in all others */
    }
    return writer;
}

bool capture_writer_is_passing(const struct capture_writer *writer)
{
    return writer->is_passing;
}

void capture_writer_forget(const struct capture_writer *writer, uint64_t before_offset)
{
    /* Whole pages are given back; where that fails, there is less memory, and nothing else. */
    (void)fallocate(writer->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                    (off_t)before_offset);
}

struct capture_writer *capture_writer_adopt(int fd, const char *name, const uint8_t uuid[16],
                                            uint64_t realtime_ns, bool is_kept_for_long,
                                            struct error *err)
{
    struct capture_writer *writer = memory_allocate(1, sizeof(*writer));

    writer->fd = fd;
    writer->is_adopted = true;
    writer->is_kept_for_long = is_kept_for_long;
    writer->path = memory_copy_text(name);
    if (write_superblock(writer, uuid, realtime_ns, 0))
        return writer;
    if (err != NULL)
        *err = writer->error;
    writer_free(writer);
    return NULL;
}

static void reserve(uint8_t **bytes, size_t *capacity, size_t needed)
{
    if (needed > *capacity)
        *bytes = memory_grow(*bytes, capacity, needed, 1);
}

static void remember_section(struct capture_writer *writer, uint8_t type, uint32_t stream,
                             uint64_t first_segment)
{
    directory_add(&writer->directory, &(struct directory_entry){.type = type,
                                                                .stream = stream,
                                                                .offset = writer->file_bytes,
                                                                .first_segment = first_segment});
}

/*
 * Pack a payload into writer->packed. Returns its size, 0 when it would not become smaller: LZ4 gives
 * up early where there is room for one byte less than the payload.
 */
static uint32_t pack_payload(struct capture_writer *writer, const void *payload,
                             uint32_t size_bytes)
{
    int packed_bytes;

    if (size_bytes <= 1 || writer->is_passing)
        return 0;
    if (size_bytes > writer->packed_capacity)
        writer->packed = memory_grow(writer->packed, &writer->packed_capacity, size_bytes, 1);
    if (writer->is_kept_for_long)
        packed_bytes = LZ4_compress_HC(payload, writer->packed, (int)size_bytes,
                                       (int)size_bytes - 1, LZ4HC_CLEVEL_MAX);
    else
        packed_bytes =
            LZ4_compress_default(payload, writer->packed, (int)size_bytes, (int)size_bytes - 1);
    return packed_bytes > 0 ? (uint32_t)packed_bytes : 0;
}

/* Lay the section out in writer->out. Returns its size. */
static size_t lay_out(struct capture_writer *writer, const struct writer_section *given)
{
    struct section section = {
        .type = given->type,
        .coder = given->coder,
        .process = given->process,
        .stream = given->stream,
        .record_count = given->record_count,
        .first_segment = given->first_segment,
        .raw_bytes = given->payload_bytes,
        .payload_bytes = given->payload_bytes,
        .payload = given->payload,
    };
    uint32_t packed_bytes = pack_payload(writer, given->payload, given->payload_bytes);

    if (packed_bytes > 0) {
        section.flags = SECTION_LZ4;
        section.payload_bytes = packed_bytes;
        section.payload = (const uint8_t *)writer->packed;
    }
    reserve(&writer->out, &writer->out_capacity, section_size(section.payload_bytes));
    section_write(&section, writer->out);
    return section_size(section.payload_bytes);
}

bool capture_writer_section(struct capture_writer *writer, const struct writer_section *section,
                            struct error *err)
{
    if (!writer->has_failed && section->payload_bytes > SECTION_MAX_RAW_BYTES) {
        error_set(&writer->error, "%s: section of %u bytes is too large", writer->path,
                  section->payload_bytes);
        writer->has_failed = true;
    }
    if (!writer->has_failed) {
        size_t size_bytes = lay_out(writer, section);

        if (!writer->is_passing)
            remember_section(writer, section->type, section->stream, section->first_segment);
        if (append(writer, writer->out, size_bytes))
            return true;
    }
    if (err != NULL)
        *err = writer->error;
    return false;
}

bool capture_writer_copy_section(struct capture_writer *writer, const struct section *section,
                                 const uint8_t *bytes, struct error *err)
{
    if (!writer->has_failed) {
        remember_section(writer, section->type, section->stream, section->first_segment);
        if (append(writer, bytes, section_size(section->payload_bytes)))
            return true;
    }
    if (err != NULL)
        *err = writer->error;
    return false;
}

struct capture_writer *capture_writer_adopt_copy(int fd, const char *name,
                                                 const uint8_t *superblock, size_t size_bytes,
                                                 struct error *err)
{
    struct capture_writer *writer = memory_allocate(1, sizeof(*writer));

    writer->fd = fd;
    writer->is_adopted = true;
    writer->path = memory_copy_text(name);
    if (append(writer, superblock, size_bytes))
        return writer;
    if (err != NULL)
        *err = writer->error;
    capture_writer_abandon(writer);
    return NULL;
}

int capture_writer_fd(const struct capture_writer *writer)
{
    return writer->fd;
}

uint64_t capture_writer_bytes(const struct capture_writer *writer)
{
    return writer->file_bytes;
}

uint64_t capture_writer_whole_bytes(const struct capture_writer *writer)
{
    uint64_t entries = writer->directory.entry_count;
    uint64_t sections = entries / DIRECTORY_MAX_ENTRIES + 1;

    return writer->file_bytes + entries * DIRECTORY_ENTRY_BYTES +
           sections * (SECTION_HEADER_BYTES + SECTION_ALIGN_BYTES) + TRAILER_BYTES;
}

/* Write so many entries, which one section can hold. */
static bool write_directory_part(struct capture_writer *writer, const struct directory *directory,
                                 struct directory_reader *reader, size_t count)
{
    uint8_t *payload = memory_allocate(count + 1, DIRECTORY_ENTRY_BYTES);
    struct writer_section section = {
        .type = SECTION_DIRECTORY,
        .record_count = (uint32_t)count,
        .payload = payload,
        .payload_bytes = (uint32_t)(count * DIRECTORY_ENTRY_BYTES),
    };
    bool is_written;

    for (size_t i = 0; i < count; i++) {
        uint8_t *bytes = payload + i * DIRECTORY_ENTRY_BYTES;
        struct directory_entry entry = directory_next(directory, reader);

        le_store_u64(entry.offset, bytes);
        bytes[8] = entry.type;
        le_store_u32(entry.stream, bytes + 12);
        le_store_u64(entry.first_segment, bytes + 16);
    }
    is_written = capture_writer_section(writer, &section, NULL);
    free(payload);
    return is_written;
}

static bool write_directory(struct capture_writer *writer, const struct directory *directory)
{
    struct directory_reader reader = {0};
    size_t left = directory->entry_count;

    do {
        size_t count = left < DIRECTORY_MAX_ENTRIES ? left : DIRECTORY_MAX_ENTRIES;

        if (!write_directory_part(writer, directory, &reader, count))
            return false;
        left -= count;
    } while (left > 0);
    return true;
}

static bool write_end(struct capture_writer *writer)
{
    uint64_t directory_offset = writer->file_bytes;
    struct directory directory = writer->directory; /* its own sections are not in it */
    uint8_t trailer[TRAILER_BYTES];
    bool is_written;

    writer->directory = (struct directory){.bytes = NULL};
    is_written = write_directory(writer, &directory);
    directory_finish(&directory);
    if (!is_written)
        return false;
    le_store_u64(directory_offset, trailer);
    le_store_u64(writer->file_bytes + TRAILER_BYTES, trailer + 8);
    memcpy(trailer + 16, TRAILER_MAGIC, 8);
    le_store_u64(XXH3_64bits(trailer, 24), trailer + 24);
    return append(writer, trailer, sizeof(trailer));
}

/* Does the name still lead to the file? Where that cannot be seen it is taken to. */
static bool has_its_name(const struct capture_writer *writer)
{
    struct stat file, name;

    if (fstat(writer->fd, &file) < 0)
        return true;
    if (stat(writer->path, &name) < 0)
        return errno != ENOENT && errno != ENOTDIR;
    return file.st_dev == name.st_dev && file.st_ino == name.st_ino;
}

bool capture_writer_close(struct capture_writer *writer, struct error *err)
{
    bool is_clean = !writer->has_failed && write_end(writer);

    if (is_clean && !writer->is_adopted && !has_its_name(writer)) {
        error_set(&writer->error, "%s: was removed or renamed while it was written", writer->path);
        is_clean = false;
    }
    if (!is_clean && err != NULL)
        *err = writer->error;
    writer_free(writer);
    return is_clean;
}

void capture_writer_abandon(struct capture_writer *writer)
{
    writer_free(writer);
}
