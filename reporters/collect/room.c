/* How much memory there is. Any thread of the collector; nothing is kept but where cgroups are. */
#include "collect/room.h"

#include "collect/proc_files.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    TEXT_BYTES = 8192,
};

void room_init(struct room *room, const char *mountinfo)
{
    cgroup_find_mounts(&room->mounts, mountinfo);
}

static void take(struct room_bytes *bytes, uint64_t total, uint64_t used)
{
    uint64_t left = total > used ? total - used : 0;

    if (total < bytes->total)
        bytes->total = total;
    if (left < bytes->left)
        bytes->left = left;
}

/* The number of KiB behind a name in /proc/meminfo. */
static bool find_bytes(const char *meminfo, const char *name, uint64_t *ret_bytes)
{
    const char *at = strstr(meminfo, name);
    uint64_t kilobytes;

    if (at == NULL || sscanf(at + strlen(name), ": %" SCNu64, &kilobytes) != 1)
        return false;
    *ret_bytes = kilobytes * 1024;
    return true;
}

static void take_machine(struct room_bytes *bytes, const char *meminfo)
{
    uint64_t total, available;

    if (find_bytes(meminfo, "MemTotal", &total) && find_bytes(meminfo, "MemAvailable", &available))
        take(bytes, total, total > available ? total - available : 0);
}

static void take_cgroup(struct room_bytes *bytes, const struct room *room, const char *text)
{
    char path[PATH_MAX];
    const struct cgroup_mount *mount = cgroup_of(&room->mounts, text, path);
    uint64_t limit, current, cache;
    size_t length;
    int file;

    if (mount == NULL ||
        !cgroup_limit(mount, path,
                      mount->version == CGROUP_V1 ? "memory.limit_in_bytes" : "memory.max", &limit,
                      &length))
        return;
    file = cgroup_open_current(mount, path, length);
    if (file < 0)
        return;
    if (cgroup_current(file, &current)) {
        if (!cgroup_cache(mount, path, length, &cache) || cache > current)
            cache = 0;
        take(bytes, limit, current - cache);
    }
    close(file);
}

struct room_bytes room_of(const struct room *room, const char *meminfo, const char *cgroup)
{
    struct room_bytes bytes = {UINT64_MAX, UINT64_MAX};

    take_machine(&bytes, meminfo);
    take_cgroup(&bytes, room, cgroup);
    return bytes;
}

static void take_own_limits(struct room_bytes *bytes)
{
    static const enum __rlimit_resource resources[] = {RLIMIT_AS, RLIMIT_DATA};
    uint64_t used[2] = {0, 0};
    struct proc_memory memory;
    struct rlimit limit;
    int file = proc_open_memory((uint32_t)getpid());

    if (file >= 0 && proc_memory(file, (uint64_t)sysconf(_SC_PAGESIZE), &memory)) {
        used[0] = memory.address_bytes;
        used[1] = memory.data_bytes;
    }
    if (file >= 0)
        close(file);
    for (unsigned i = 0; i < 2; i++)
        if (getrlimit(resources[i], &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
            take(bytes, limit.rlim_cur, used[i]);
}

struct room_bytes room_look(const struct room *room)
{
    char meminfo[TEXT_BYTES], cgroup[TEXT_BYTES];
    struct room_bytes bytes;
    ssize_t length;

    length = proc_read(0, "meminfo", meminfo, sizeof(meminfo) - 1);
    meminfo[length > 0 ? length : 0] = '\0';
    length = proc_read(0, "self/cgroup", cgroup, sizeof(cgroup) - 1);
    cgroup[length > 0 ? length : 0] = '\0';
    bytes = room_of(room, meminfo, cgroup);
    take_own_limits(&bytes);
    return bytes;
}
