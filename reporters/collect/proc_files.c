/*
 * /proc. Any thread of the collector; nothing is shared.
 */
#include "collect/proc_files.h"

#include "base/memory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PATH_BYTES = 64,
    TEXT_BYTES = 8192,
    MOUNTS_MAX_BYTES = 1 << 20,
    STATM_BYTES = 256,     /* seven numbers */
    STAT_PARENT_FIELD = 4, /* proc(5) */
    STAT_EXIT_FIELD = 52,
};

static void make_path(char ret_path[static PATH_BYTES], uint32_t pid, const char *name)
{
    if (pid == 0)
        snprintf(ret_path, PATH_BYTES, "/proc/%s", name);
    else
        snprintf(ret_path, PATH_BYTES, "/proc/%" PRIu32 "/%s", pid, name);
}

static int open_file(uint32_t pid, const char *name)
{
    char path[PATH_BYTES];

    make_path(path, pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

ssize_t proc_read(uint32_t pid, const char *name, char *ret_bytes, size_t capacity_bytes)
{
    size_t size_bytes = 0;
    ssize_t part = 0;
    int fd = open_file(pid, name);

    if (fd < 0)
        return -1;
    while (size_bytes < capacity_bytes) {
        part = read(fd, ret_bytes + size_bytes, capacity_bytes - size_bytes);
        if (part < 0 && errno == EINTR)
            continue;
        if (part <= 0)
            break;
        size_bytes += (size_t)part;
    }
    close(fd);
    return part < 0 && size_bytes == 0 ? -1 : (ssize_t)size_bytes;
}

/* The same as a text. */
static bool read_text(uint32_t pid, const char *name, char ret_text[static TEXT_BYTES])
{
    ssize_t size_bytes = proc_read(pid, name, ret_text, TEXT_BYTES - 1);

    if (size_bytes < 0)
        return false;
    ret_text[size_bytes] = '\0';
    return true;
}

bool proc_read_link(uint32_t pid, const char *name, char *ret_text, size_t capacity_bytes)
{
    char path[PATH_BYTES];
    ssize_t length;

    make_path(path, pid, name);
    length = readlink(path, ret_text, capacity_bytes - 1);
    if (length < 0)
        return false;
    ret_text[length] = '\0';
    return true;
}

/* A field of stat by its number in proc(5). The name before them may hold anything, also ')'. */
static bool stat_field(uint32_t pid, int field, long long *ret_value)
{
    char text[TEXT_BYTES], *at, *end;

    if (!read_text(pid, "stat", text))
        return false;
    at = strrchr(text, ')');
    for (int i = 2; at != NULL && i < field; i++) {
        at = strchr(at, ' ');
        if (at != NULL)
            at++;
    }
    if (at == NULL)
        return false;
    *ret_value = strtoll(at, &end, 10);
    return end != at;
}

uint32_t proc_parent(uint32_t pid)
{
    long long parent;

    return stat_field(pid, STAT_PARENT_FIELD, &parent) && parent > 0 ? (uint32_t)parent : 0;
}

/*
 * The status of a process that nobody has waited for. The kernel shows it to those who may trace the
 * process, and 0 to others: so the owner is looked at first (fs/proc/array.c, Linux 6.1).
 */
static bool zombie_status(uint32_t pid, int *ret_status)
{
    char path[PATH_BYTES], text[TEXT_BYTES], *name_end;
    struct stat owner;
    long long status;

    make_path(path, pid, "");
    if (stat(path, &owner) < 0 || !read_text(pid, "stat", text))
        return false;
    if (geteuid() != 0 && (owner.st_uid != geteuid() || owner.st_gid != getegid()))
        return false;
    name_end = strrchr(text, ')');
    if (name_end == NULL || strncmp(name_end, ") Z", 3) != 0 ||
        !stat_field(pid, STAT_EXIT_FIELD, &status))
        return false;
    *ret_status = (int)status;
    return true;
}

/* The status of one that was waited for, from Linux 6.15 on (linux/pidfd.h). */
static bool reaped_status(int pidfd, int *ret_status)
{
    struct {
        uint64_t mask, cgroup;
        uint32_t ids[11];
        int32_t status;
    } info = {.mask = UINT64_C(1) << 3 /* PIDFD_INFO_EXIT */};

    _Static_assert(sizeof(info) == 64, "struct pidfd_info, first version");
    if (ioctl(pidfd, _IOC(_IOC_READ | _IOC_WRITE, 0xff, 11, sizeof(info)), &info) < 0 ||
        (info.mask & UINT64_C(1) << 3) == 0)
        return false;
    *ret_status = info.status;
    return true;
}

bool proc_exit_status(uint32_t pid, int pidfd, int *ret_status)
{
    return zombie_status(pid, ret_status) || (pidfd >= 0 && reaped_status(pidfd, ret_status));
}

/* The last number of the NSpid line: the innermost namespace's. */
static uint32_t innermost_of(const char *status)
{
    const char *line = strstr(status, "\nNSpid:"), *end, *last;

    if (line == NULL)
        return 0;
    line++;
    end = strchr(line, '\n');
    last = end == NULL ? line + strlen(line) : end;
    while (last > line && isdigit((unsigned char)last[-1]))
        last--;
    return (uint32_t)strtoul(last, NULL, 10);
}

uint32_t proc_inner_pid(uint32_t pid)
{
    char text[TEXT_BYTES];
    const char *tgid;

    if (!read_text(pid, "status", text))
        return 0;
    tgid = strstr(text, "\nTgid:");
    if (tgid == NULL || strtoul(tgid + strlen("\nTgid:"), NULL, 10) != pid)
        return 0; /* threads are found in /proc too, by their ids */
    return innermost_of(text);
}

/* Look for a thread by the id it has in its own namespace. */
static bool has_inner_thread(uint32_t pid, uint32_t tid)
{
    char path[PATH_BYTES], text[TEXT_BYTES];
    struct dirent *entry;
    bool is_found = false;
    DIR *directory;

    make_path(path, pid, "task");
    directory = opendir(path);
    if (directory == NULL)
        return errno != ENOENT; /* not to be known: taken as there */
    while (!is_found && (entry = readdir(directory)) != NULL) {
        char name[PATH_BYTES];

        if (!isdigit((unsigned char)entry->d_name[0]) || strlen(entry->d_name) > 10)
            continue;
        snprintf(name, sizeof(name), "task/%.10s/status", entry->d_name);
        is_found = read_text(pid, name, text) && innermost_of(text) == tid;
    }
    closedir(directory);
    return is_found;
}

bool proc_thread_is_gone(uint32_t pid, uint32_t inner_pid, uint32_t tid)
{
    if (pid == 0)
        return false;
    if (pid != inner_pid)
        return !has_inner_thread(pid, tid);
    return syscall(SYS_tgkill, pid, tid, 0) < 0 && errno == ESRCH;
}

enum proc_answer proc_maps_inode(uint32_t pid, uint64_t inode)
{
    char path[PATH_BYTES], *line = NULL;
    size_t capacity = 0;
    bool is_found = false;
    FILE *file;

    make_path(path, pid, "maps");
    file = fopen(path, "re");
    if (file == NULL)
        return errno == EACCES || errno == EPERM ? PROC_NOT_KNOWN : PROC_NO;
    while (!is_found && getline(&line, &capacity, file) > 0) {
        uint64_t found;
        int name_at = -1;

        if (strstr(line, "/memfd:") == NULL)
            continue;
        if (sscanf(line, "%*s %*s %*s %*s %" SCNu64 " %n", &found, &name_at) == 1 && name_at > 0)
            is_found = found == inode && strncmp(line + name_at, "/memfd:", 7) == 0;
    }
    free(line);
    fclose(file);
    return is_found ? PROC_YES : PROC_NO;
}

uint32_t proc_find(uint64_t inode, uint32_t inner_pid, bool (*is_wanted)(void *user, uint32_t pid),
                   void *user)
{
    struct dirent *entry;
    uint32_t found = 0;
    DIR *directory = opendir("/proc");

    if (directory == NULL)
        return 0;
    while (found == 0 && (entry = readdir(directory)) != NULL) {
        uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

        if (pid == 0 || pid == (uint32_t)getpid())
            continue;
        if (is_wanted != NULL && !is_wanted(user, pid))
            continue;
        if ((inner_pid == 0 || proc_inner_pid(pid) == inner_pid) &&
            proc_maps_inode(pid, inode) == PROC_YES)
            found = pid;
    }
    closedir(directory);
    return found;
}

int proc_open_memory(uint32_t pid)
{
    return open_file(pid, "statm");
}

/* The next of the numbers that a line is made of. */
static uint64_t next_number(char **at)
{
    return strtoull(*at, at, 10);
}

bool proc_memory(int fd, uint64_t page_bytes, struct proc_memory *ret_memory)
{
    char text[STATM_BYTES], *at = text;
    ssize_t size_bytes;

    do
        size_bytes = pread(fd, text, sizeof(text) - 1, 0);
    while (size_bytes < 0 && errno == EINTR);
    if (size_bytes <= 0)
        return false; /* ESRCH: gone */
    text[size_bytes] = '\0';
    ret_memory->address_bytes = next_number(&at) * page_bytes;
    ret_memory->resident_bytes = next_number(&at) * page_bytes;
    for (int i = 0; i < 3; i++)
        next_number(&at); /* shared, text, and what is always 0 */
    ret_memory->data_bytes = next_number(&at) * page_bytes;
    return true;
}

/* The number behind a name at the beginning of a line, in KiB. */
static bool find_kilobytes(const char *text, const char *name, uint64_t *ret_bytes)
{
    const char *at = strstr(text, name);

    if (at == NULL)
        return false;
    *ret_bytes = strtoull(at + strlen(name), NULL, 10) * 1024;
    return true;
}

bool proc_swapped(uint32_t pid, uint64_t *ret_bytes)
{
    char text[TEXT_BYTES];

    return read_text(pid, "status", text) && find_kilobytes(text, "\nVmSwap:", ret_bytes);
}

char *proc_mountinfo(void)
{
    char *text = memory_allocate(MOUNTS_MAX_BYTES, 1);

    if (proc_read(0, "self/mountinfo", text, MOUNTS_MAX_BYTES - 1) < 0)
        text[0] = '\0';
    return text;
}

bool proc_machine(uint64_t *ret_memory_bytes, uint64_t *ret_swap_bytes)
{
    char text[TEXT_BYTES];

    return read_text(0, "meminfo", text) &&
           find_kilobytes(text, "MemTotal:", ret_memory_bytes) && /* its first line */
           find_kilobytes(text, "\nSwapTotal:", ret_swap_bytes);
}

/* A line of /proc/PID/limits: name, soft limit, hard limit, unit. Returns false when it is not there. */
static bool find_limit(const char *text, const char *name, struct proc_limit *ret_limit)
{
    const char *at = strstr(text, name);
    char *end;

    if (at == NULL)
        return false;
    at += strlen(name);
    at += strspn(at, " ");
    ret_limit->bytes = strtoull(at, &end, 10);
    ret_limit->is_set = end != at;
    return ret_limit->is_set || strncmp(at, "unlimited", 9) == 0;
}

static bool ask_limit(uint32_t pid, enum __rlimit_resource resource, struct proc_limit *ret_limit)
{
    struct rlimit limit;

    if (prlimit((pid_t)pid, resource, NULL, &limit) < 0)
        return false;
    *ret_limit = (struct proc_limit){limit.rlim_cur != RLIM_INFINITY, limit.rlim_cur};
    return true;
}

/* prlimit() answers the owner and root; the file may be read by all who see the process. */
bool proc_limits(uint32_t pid, struct proc_limit *ret_address, struct proc_limit *ret_data)
{
    char text[TEXT_BYTES];

    if (ask_limit(pid, RLIMIT_AS, ret_address) && ask_limit(pid, RLIMIT_DATA, ret_data))
        return true;
    return read_text(pid, "limits", text) && find_limit(text, "\nMax address space", ret_address) &&
           find_limit(text, "\nMax data size", ret_data);
}

bool proc_huge(uint32_t pid, uint64_t *ret_bytes)
{
    static const char *const names[] = {
        "\nAnonHugePages:", "\nShared_Hugetlb:", "\nPrivate_Hugetlb:"};
    char text[TEXT_BYTES];
    uint64_t bytes = 0;

    if (!read_text(pid, "smaps_rollup", text))
        return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *at = strstr(text, names[i]);

        if (at != NULL)
            bytes += strtoull(at + strlen(names[i]), NULL, 10) * 1024;
    }
    *ret_bytes = bytes;
    return true;
}
