/*
 * The file of a snapshot: a copy of the first bytes of a capture, which gets its name when it is whole.
 *
 * Until then it has none, where the file system can do that (O_TMPFILE), else one of its own beside it:
 * whatever fails, nothing is left, and nobody sees half a snapshot.
 */
#ifndef COLLECT_SNAPSHOT_FILE_H
#define COLLECT_SNAPSHOT_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct snapshot_file {
    int fd;          /* to be written to */
    char *temporary; /* its name until it has its own; NULL: it has none */
};

/*
 * Make an empty file in the folder of a path.
 * path: absolute. ret_file: to be given to snapshot_file_close().
 * Returns false with err. Context: any thread.
 */
bool snapshot_file_open(const char *path, struct snapshot_file *ret_file, struct error *err);

/*
 * Copy the first so many bytes of another file; where the file system can, they are shared. The file
 * then stands at its end. from_fd: stays the caller's; may go on being written behind them.
 * Returns false with err. Context: any thread.
 */
bool snapshot_file_copy(struct snapshot_file *file, int from_fd, uint64_t size_bytes,
                        const char *path, struct error *err);

/*
 * Give it its name, a path in the folder that it was opened for.
 * may_overwrite: an ordinary file of that name is replaced.
 * Returns false with err; ret_is_taken: the reason is that there is one of that name.
 * Context: any thread.
 */
bool snapshot_file_name(struct snapshot_file *file, const char *path, bool may_overwrite,
                        bool *ret_is_taken, struct error *err);

/* Close it; without a name it is gone. Context: any thread. */
void snapshot_file_close(struct snapshot_file *file);

#endif
