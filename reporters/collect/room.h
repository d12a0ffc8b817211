/*
 * How much memory there is for what the collector can do without: of the machine, of the cgroup it is
 * in, which is mostly the program's as well, and under its own resource limits.
 */
#ifndef COLLECT_ROOM_H
#define COLLECT_ROOM_H

#include "collect/cgroup_files.h"

#include <stdint.h>

struct room {
    struct cgroup_mounts mounts;
};

struct room_bytes {
    uint64_t total; /* the least of what there is of each */
    uint64_t left;  /* the least of what is not in use */
};

/* Begin. mountinfo: /proc/self/mountinfo as a text. Context: any thread. */
void room_init(struct room *room, const char *mountinfo);

/*
 * Say what machine and cgroup have. Page cache that the kernel takes back is not in use.
 * meminfo: /proc/meminfo as a text. cgroup: /proc/self/cgroup as a text.
 * What they do not say is as good as endless: UINT64_MAX. Context: any thread.
 */
struct room_bytes room_of(const struct room *room, const char *meminfo, const char *cgroup);

/* Look how it is now, for this process. Context: any thread. */
struct room_bytes room_look(const struct room *room);

#endif
