/*
 * Snapshot files. The snapshots' own thread; nothing here is shared.
 */
#include "collect/snapshot_file.h"

#include "base/copy.h"
#include "base/memory.h"
#include "base/nameless.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NUMBERS_BYTES = 32, /* of a temporary name */
};

static bool cannot_write(const char *path, struct error *err)
{
    error_set(err, "%s: cannot be written: %s", path, strerror(errno));
    return false;
}

/* "PATH.PID-N.tmp". */
static char *temporary_name(const char *path, unsigned number)
{
    size_t size_bytes = strlen(path) + NUMBERS_BYTES;
    char *name = memory_allocate(size_bytes, 1);

    snprintf(name, size_bytes, "%s.%ld-%u.tmp", path, (long)getpid(), number);
    return name;
}

/* A file with a name of its own. Returns false with errno. */
static bool open_named(const char *path, struct snapshot_file *file)
{
    for (unsigned number = 0;; number++) {
        file->temporary = temporary_name(path, number);
        file->fd = open(file->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, NAMELESS_MODE);
        if (file->fd >= 0)
            return true;
        free(file->temporary);
        file->temporary = NULL;
        if (errno != EEXIST)
            return false;
    }
}

bool snapshot_file_open(const char *path, struct snapshot_file *ret_file, struct error *err)
{
    struct snapshot_file file = {.fd = -1};
    char *folder = memory_copy_text(path);
    char *slash = strrchr(folder, '/');

    if (slash != NULL)
        slash[slash == folder] = '\0'; /* the root's name is its slash */
    file.fd = nameless_create(folder, O_RDWR);
    free(folder);
    if (file.fd < 0 && !open_named(path, &file)) {
        cannot_write(path, err);
        snapshot_file_close(&file);
        return false;
    }
    *ret_file = file;
    return true;
}

bool snapshot_file_copy(struct snapshot_file *file, int from_fd, uint64_t size_bytes,
                        const char *path, struct error *err)
{
    if (copy_bytes(from_fd, 0, file->fd, 0, size_bytes) &&
        lseek(file->fd, (off_t)size_bytes, SEEK_SET) >= 0)
        return true;
    return cannot_write(path, err);
}

static bool link_file(const struct snapshot_file *file, const char *path)
{
    if (file->temporary != NULL)
        return link(file->temporary, path) == 0;
    return nameless_link(file->fd, path);
}

/* Returns false with errno. */
static bool name_new(const struct snapshot_file *file, const char *path)
{
    struct stat status;

    if (link_file(file, path))
        return true;
    if (errno == EEXIST || file->temporary == NULL)
        return false;
    /* A file system without links. */
    if (lstat(path, &status) == 0) {
        errno = EEXIST;
        return false;
    }
    return rename(file->temporary, path) == 0;
}

/* A link cannot replace anything: it gets another name first. Returns false with errno. */
static bool replace(struct snapshot_file *file, const char *path)
{
    struct stat status;

    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : EEXIST; /* a device is not to be replaced */
        return false;
    }
    for (unsigned number = 0; file->temporary == NULL; number++) {
        char *temporary = temporary_name(path, number);

        if (link_file(file, temporary)) {
            file->temporary = temporary;
            break;
        }
        free(temporary);
        if (errno != EEXIST)
            return false;
    }
    return rename(file->temporary, path) == 0;
}

bool snapshot_file_name(struct snapshot_file *file, const char *path, bool may_overwrite,
                        bool *ret_is_taken, struct error *err)
{
    bool is_named = may_overwrite ? replace(file, path) : name_new(file, path);

    *ret_is_taken = !is_named && errno == EEXIST;
    if (*ret_is_taken) {
        error_set(err, "%s: is there already: give another name, or -f to replace it", path);
        return false;
    }
    if (!is_named)
        return cannot_write(path, err);
    if (file->temporary != NULL)
        unlink(file->temporary); /* which is still there where it was linked */
    free(file->temporary);
    file->temporary = NULL;
    return true;
}

void snapshot_file_close(struct snapshot_file *file)
{
    if (file->temporary != NULL)
        unlink(file->temporary);
    if (file->fd >= 0)
        close(file->fd);
    free(file->temporary);
    *file = (struct snapshot_file){.fd = -1};
}
