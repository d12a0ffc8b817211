/*
 * Names of captures that are written anew. Nothing here is shared.
 */
#include "collect/capture_name.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MODE_BITS = 0777,
};

/*
 * May the name be given to another file? ret_is_there: it leads to ours, which is to be replaced; else
 * it leads nowhere.
 */
static bool look_at_name(const char *path, int old_fd, bool *ret_is_there, struct error *err)
{
    struct stat ours, name;

    *ret_is_there = stat(path, &name) == 0;
    if (!*ret_is_there)
        return true; /* removed or renamed: what cannot be made again says so */
    if (fstat(old_fd, &ours) == 0 && ours.st_dev == name.st_dev && ours.st_ino == name.st_ino)
        return true;
    error_set(err, "%s: was replaced while it was written", path);
    return false;
}

bool capture_name_take(const char *path, int old_fd, struct snapshot_file *output, int *ret_fd,
                       struct error *err)
{
    struct stat status;
    bool is_there, is_taken;
    int fd;

    if (!look_at_name(path, old_fd, &is_there, err))
        return false;
    if (fstat(old_fd, &status) == 0)
        (void)fchmod(output->fd, status.st_mode & MODE_BITS); /* else it is as any new file */
    /* Where locks are not known a running capture looks truncated, as ever. */
    (void)flock(output->fd, LOCK_EX | LOCK_NB);
    fd = fcntl(output->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        error_set(err, "%s: cannot be written: %s", path, strerror(errno));
        return false;
    }
    if (!snapshot_file_name(output, path, is_there, &is_taken, err)) {
        close(fd);
        return false;
    }
    *ret_fd = fd;
    return true;
}
