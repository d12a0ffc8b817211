/*
 * A capture cut while it is written. Runs in a process of its own beside the collector.
 *
 * What holds: what is written is the last part of the capture up to a place where a section of it ends.
 * News of an instant may come a while later (bounds, ends, children), so no cut is made through the
 * last LATE_NS that the capture knows of.
 */
#include "profile/cut.h"

#include "base/copy.h"
#include "capture/section.h"
#include "memtrack/format.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LATE_NS UINT64_C(200000000)

enum {
    MOST_ROUNDS = 64,     /* of following what is written meanwhile */
    REST_BYTES = 1 << 20, /* the collector copies that in a millisecond */
};

/* Where a cut is possible, at the latest at an instant. */
static uint64_t cut_before(const struct capture *capture, uint64_t time_ns)
{
    uint64_t known_ns =
        capture->tick_count > 0 ? capture->ticks[capture->tick_count - 1].time_ns : 0;

    known_ns = known_ns > LATE_NS ? known_ns - LATE_NS : 0;
    return time_ns < known_ns ? time_ns : known_ns;
}

static bool write_part(const struct capture *capture, int to_fd, uint64_t time_ns,
                       struct cut_reached *reached, struct error *err)
{
    const struct capture_session *session = &capture->session;
    struct capture_writer *writer;
    bool is_written;

    if (capture->damage.is_damaged) {
        *err = capture->damage.error;
        return false;
    }
    writer =
        capture_writer_adopt(to_fd, capture->file, session->uuid, session->realtime_ns, false, err);
    if (writer == NULL)
        return false;
    reached->time_ns = cut_before(capture, time_ns);
    is_written =
        cut_write(capture, reached->time_ns, true, writer, NULL, NULL, err) == ARCHIVE_WRITTEN;
    reached->to_bytes = capture_writer_bytes(writer);
    capture_writer_abandon(writer);
    return is_written;
}

/* Where the last whole section of a file ends, from the beginning of one on. */
static uint64_t whole_bytes(int fd, const char *name, uint64_t offset)
{
    struct stat status;

    if (fstat(fd, &status) != 0)
        return offset;
    while (offset < (uint64_t)status.st_size) {
        uint8_t header[SECTION_HEADER_BYTES];
        /* Of the payload only its size is looked at: there are no more bytes than the header. */
        struct capture_bytes content = {name, header, (size_t)((uint64_t)status.st_size - offset)};
        struct section section;

        if (content.size_bytes < sizeof(header) ||
            pread(fd, header, sizeof(header), (off_t)offset) != (ssize_t)sizeof(header) ||
            !section_read(&content, 0, &section, NULL))
            break; /* on its way into the file */
        offset += section.next_offset;
    }
    return offset;
}

/*
 * A file system that delays finding room (ext4) finds it for all of a file when that takes the name of
 * another: 0.1 s for some hundred megabytes, in which the collector would stand still. At worst it does.
 */
static void settle(int fd)
{
    (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

/* Copy what has been written since, until that is little. */
static bool follow(int from_fd, int to_fd, const char *name, struct cut_reached *reached,
                   struct error *err)
{
    for (unsigned round = 0; round < MOST_ROUNDS; round++) {
        uint64_t more_bytes;

        settle(to_fd);
        more_bytes = whole_bytes(from_fd, name, reached->from_bytes) - reached->from_bytes;
        if (!copy_bytes(from_fd, reached->from_bytes, to_fd, reached->to_bytes, more_bytes)) {
            error_set(err, "%s: cannot be written: %s", name, strerror(errno));
            return false;
        }
        reached->from_bytes += more_bytes;
        reached->to_bytes += more_bytes;
        if (more_bytes < REST_BYTES)
            break;
    }
    return true;
}

bool cut_along(int from_fd, uint64_t size_bytes, int to_fd, const char *name, uint64_t time_ns,
               struct cut_reached *ret_reached, struct error *err)
{
    struct capture *capture = capture_open_part(from_fd, name, size_bytes, err);
    struct cut_reached reached = {.from_bytes = size_bytes};
    bool is_cut;

    if (capture == NULL)
        return false;
    is_cut = write_part(capture, to_fd, time_ns, &reached, err);
    capture_close(capture);
    if (!is_cut || !follow(from_fd, to_fd, name, &reached, err))
        return false;
    *ret_reached = reached;
    return true;
}
