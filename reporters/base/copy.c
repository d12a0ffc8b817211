/*
 * Copying. Nothing here is shared.
 */
#include "base/copy.h"

#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    COPY_BYTES = 1 << 18, /* at once, where the kernel does not copy */
    AT_ONCE_BYTES = 1 << 30,
};

/* Copy by reading and writing. */
static bool copy_by_hand(int from_fd, uint64_t from, int to_fd, uint64_t to, uint64_t size_bytes)
{
    char *bytes = memory_allocate(COPY_BYTES, 1);
    bool is_copied = true;

    for (uint64_t at = 0; at < size_bytes && is_copied;) {
        size_t wanted = size_bytes - at < COPY_BYTES ? (size_t)(size_bytes - at) : COPY_BYTES;
        ssize_t count = pread(from_fd, bytes, wanted, (off_t)(from + at));

        if (count < 0 && errno == EINTR)
            continue;
        for (ssize_t done = 0; done < count;) {
            ssize_t written =
                pwrite(to_fd, bytes + done, (size_t)(count - done), (off_t)(to + at) + done);

            if (written < 0 && errno != EINTR) {
                is_copied = false;
                break;
            }
            done += written > 0 ? written : 0;
        }
        if (count == 0)
            errno = EIO; /* it is shorter than it was */
        is_copied &= count > 0;
        at += count > 0 ? (uint64_t)count : 0;
    }
    free(bytes);
    return is_copied;
}

bool copy_bytes(int from_fd, uint64_t from, int to_fd, uint64_t to, uint64_t size_bytes)
{
    loff_t from_at = (loff_t)from, to_at = (loff_t)to;
    uint64_t left_bytes;

    while ((left_bytes = from + size_bytes - (uint64_t)from_at) > 0) {
        ssize_t count =
            copy_file_range(from_fd, &from_at, to_fd, &to_at,
                            left_bytes < AT_ONCE_BYTES ? (size_t)left_bytes : AT_ONCE_BYTES, 0);

        /* Other file systems, older kernels: where it is a real failure, the other way has it too. */
        if (count <= 0 && !(count < 0 && errno == EINTR))
            return copy_by_hand(from_fd, (uint64_t)from_at, to_fd, (uint64_t)to_at, left_bytes);
    }
    return true;
}
