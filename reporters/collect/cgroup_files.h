/*
 * What the kernel says of cgroups: which one a process is in, its limits, the memory it uses.
 */
#ifndef COLLECT_CGROUP_FILES_H
#define COLLECT_CGROUP_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cgroup_version {
    CGROUP_UNKNOWN = 0,
    CGROUP_V1 = 1,
    CGROUP_V2 = 2,
};

/* Where a hierarchy of cgroups is to be seen. */
struct cgroup_mount {
    enum cgroup_version version; /* CGROUP_UNKNOWN: nowhere */
    char directory[PATH_MAX];
    char root[PATH_MAX]; /* path of the cgroup that stands there; "" for "/" */
};

/* The hierarchies that may account for memory. */
struct cgroup_mounts {
    struct cgroup_mount v1; /* with the memory controller */
    struct cgroup_mount v2;
};

/*
 * Find them.
 * mountinfo: /proc/self/mountinfo as a text. Context: any thread.
 */
void cgroup_find_mounts(struct cgroup_mounts *mounts, const char *mountinfo);

/*
 * Which hierarchy accounts for a process's memory, and where is it there?
 * text: /proc/PID/cgroup. ret_path: from the mount's own cgroup on; "" for that one, else "/a/b".
 * Returns NULL when that is not to be seen; mounts stays the owner. Context: any thread.
 */
const struct cgroup_mount *cgroup_of(const struct cgroup_mounts *mounts, const char *text,
                                     char ret_path[static PATH_MAX]);

/*
 * Read the smallest limit on the way from a cgroup to the top.
 * path: of cgroup_of(). name: of the file, "memory.max".
 * ret_length: so many bytes of the path name the cgroup that has it; of equals the highest.
 * Returns false when there is no limit, or none that can be read. Context: any thread.
 */
bool cgroup_limit(const struct cgroup_mount *mount, const char *path, const char *name,
                  uint64_t *ret_bytes, size_t *ret_length);

/*
 * Open what cgroup_current() reads. path: of cgroup_of(), so many bytes of it.
 * Returns a descriptor, or -1. Context: any thread.
 */
int cgroup_open_current(const struct cgroup_mount *mount, const char *path, size_t length);

/*
 * Read how much memory is charged to a cgroup and those in it, page cache included.
 * fd: of cgroup_open_current(), as often as you like. Returns false when it is gone. Context: any
 * thread.
 */
bool cgroup_current(int fd, uint64_t *ret_bytes);

/*
 * Read how much of it is page cache that the kernel takes back when it needs to. Takes longer.
 * Returns false when that cannot be read. Context: any thread.
 */
bool cgroup_cache(const struct cgroup_mount *mount, const char *path, size_t length,
                  uint64_t *ret_bytes);

#endif
