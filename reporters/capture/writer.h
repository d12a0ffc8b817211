/*
 * Writing a capture: the one writer there is, for the collector, `recompress` and tests.
 *
 * Not thread-safe: one thread writes. A failed write (full disk) is kept: everything after it is
 * refused, what stands in the file stays valid.
 */
#ifndef CAPTURE_WRITER_H
#define CAPTURE_WRITER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_writer;
struct capture_writer_point;
struct section;

/* A payload to be written; the fields mean what they mean in the section header. */
struct writer_section {
    uint8_t type;  /* enum section_type */
    uint8_t coder; /* enum section_coder */
    uint32_t process, stream, record_count;
    uint64_t first_segment;
    const void *payload; /* not packed; the caller's */
    uint32_t payload_bytes;
};

/*
 * Make the file, lock it and write the superblock. It is a new inode: an existing file of the name
 * is replaced (by rename) only when may_overwrite, so a capture in progress is never cut.
 * Returns NULL with err, which names the file and the way out.
 * Context: tool.
 */
struct capture_writer *capture_writer_open(const char *path, bool may_overwrite,
                                           const uint8_t uuid[16], uint64_t realtime_ns,
                                           struct error *err);

/* As capture_writer_open(), of an aggregated capture: no events are to be written to it. */
struct capture_writer *capture_writer_open_aggregated(const char *path, bool may_overwrite,
                                                      const uint8_t uuid[16], uint64_t realtime_ns,
                                                      struct error *err);

/*
 * Begin an aggregated capture that has no file yet: its bytes are in memory, and copied to where they
 * are wanted (capture_writer_point()).
 * name: for messages. Returns NULL with err. Context: tool.
 */
struct capture_writer *capture_writer_open_memory(const char *name, const uint8_t uuid[16],
                                                  uint64_t realtime_ns, struct error *err);

/*
 * Begin what is only to be read along by the same process, in memory: nothing is packed, there will be no
 * end, and what has been read is given back by capture_writer_forget().
 * name: for messages. Returns NULL with err. Context: tool.
 */
struct capture_writer *capture_writer_open_passing(const char *name, struct error *err);

/* Return whether it is of capture_writer_open_passing(). */
bool capture_writer_is_passing(const struct capture_writer *writer);

/*
 * Give the memory below an offset back; nobody reads there any more. Context: any thread, one at a time.
 */
void capture_writer_forget(const struct capture_writer *writer, uint64_t before_offset);

/*
 * Write a capture to a file that is open already.
 * fd: empty, may be a pipe; stays the caller's, until capture_writer_close() in the writer's use.
 * name: of the file, for messages. is_kept_for_long: it is packed more slowly, and smaller.
 * Returns NULL with err. Context: tool.
 */
struct capture_writer *capture_writer_adopt(int fd, const char *name, const uint8_t uuid[16],
                                            uint64_t realtime_ns, bool is_kept_for_long,
                                            struct error *err);

/*
 * Append a section, packed with LZ4 when that is smaller.
 * Returns false when this or an earlier write failed; err says why.
 * Context: tool.
 */
bool capture_writer_section(struct capture_writer *writer, const struct writer_section *section,
                            struct error *err);

/*
 * Append a section of another capture as it stands there.
 * section: as section_read() made it. bytes: where it begins, with its header.
 * Returns as capture_writer_section(). Context: tool.
 */
bool capture_writer_copy_section(struct capture_writer *writer, const struct section *section,
                                 const uint8_t *bytes, struct error *err);

/*
 * What has been written so far, to be copied and gone on with.
 * Returns NULL with err after a failed write; else to be given to capture_writer_point_free(), and
 * good for longer than the writer lives. It takes time and memory by the number of sections: a few
 * bytes each.
 * Context: tool, the thread that writes.
 */
struct capture_writer_point *capture_writer_point(const struct capture_writer *writer,
                                                  struct error *err);

/* The file itself, to read the bytes below capture_writer_point_bytes() from; the point's. */
int capture_writer_point_fd(const struct capture_writer_point *point);
uint64_t capture_writer_point_bytes(const struct capture_writer_point *point);

/* Give it back; NULL is allowed. Context: tool. */
void capture_writer_point_free(struct capture_writer_point *point);

/*
 * Go on behind a copy of what stood before a point, to a file that is open already.
 * fd: holds the copy and stands at its end; stays the caller's. point: stays the caller's.
 * Context: tool.
 */
struct capture_writer *capture_writer_resume(int fd, const char *name,
                                             const struct capture_writer_point *point);

/*
 * Go on behind what stands in a file: a superblock and whole sections, whose headers are read.
 * fd: becomes the writer's. path: its name, or that which it is to have before the end.
 * Returns NULL with err, and fd stays the caller's. Context: tool.
 */
struct capture_writer *capture_writer_go_on(int fd, const char *path, uint64_t size_bytes,
                                            struct error *err);

/*
 * Append all that another writer has written from an offset on, where a section of it begins.
 * other: not adopted; one that has failed is refused. On failure err says why, and the writer is to be abandoned.
 * Context: tool, the thread that writes.
 */
bool capture_writer_append_from(struct capture_writer *writer, const struct capture_writer *other,
                                uint64_t offset, struct error *err);

/*
 * Let each of two write where the other one stood.
 * Context: tool, the thread that writes.
 */
void capture_writer_exchange(struct capture_writer *writer, struct capture_writer *other);

/*
 * Begin a copy of a capture in a file that is open already; sections follow, by
 * capture_writer_copy_section() and capture_writer_section().
 * fd: empty, may be a pipe; stays the caller's. name: of the file, for messages. superblock: of the other one,
 * of size_bytes.
 * Returns NULL with err when it cannot be written. Context: tool.
 */
struct capture_writer *capture_writer_adopt_copy(int fd, const char *name,
                                                 const uint8_t *superblock, size_t size_bytes,
                                                 struct error *err);

/* Return the file, to be read from; it stays the writer's. Context: tool. */
int capture_writer_fd(const struct capture_writer *writer);

/* Bytes in the file so far. */
uint64_t capture_writer_bytes(const struct capture_writer *writer);

/* Bytes that it would have if it were closed now. Context: tool, the thread that writes. */
uint64_t capture_writer_whole_bytes(const struct capture_writer *writer);

/*
 * Write directory and trailer, unlock, close, free. After a failed write it only closes. An adopted
 * file stays open.
 * Returns false when the capture is not clean, or no longer at its path.
 */
bool capture_writer_close(struct capture_writer *writer, struct error *err);

/* Leave the capture as it is, without an end; unlock, close, free. */
void capture_writer_abandon(struct capture_writer *writer);

#endif
