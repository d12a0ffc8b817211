/*
 * A file that takes the name of a capture from the one that has it, while somebody may read that.
 */
#ifndef COLLECT_CAPTURE_NAME_H
#define COLLECT_CAPTURE_NAME_H

#include "base/error.h"
#include "collect/snapshot_file.h"

#include <stdbool.h>

/*
 * Let a new file have the name, and be what readers of the old one expect: locked by us, and as much
 * theirs. A name that leads to somebody else's file by now is left alone; one that leads nowhere is
 * given anew.
 * path: of the file itself, no link. old_fd: the file that has it. output: complete; still to be closed.
 * ret_fd: the new file, the caller's, with the lock.
 * Returns false with err: all is as it was. Context: any thread.
 */
bool capture_name_take(const char *path, int old_fd, struct snapshot_file *output, int *ret_fd,
                       struct error *err);

#endif
