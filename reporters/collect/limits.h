/*
 * Limits of the tracked processes' memory, and what counts against those of cgroups.
 */
#ifndef COLLECT_LIMITS_H
#define COLLECT_LIMITS_H

#include "collect/cgroup_files.h"
#include "collect/records.h"
#include "collect/session.h"
#include "memtrack/format.h"

#include <stdbool.h>
#include <stdint.h>

#define LIMITS_QUIET_NS UINT64_C(10000000000) /* of a process at rest, and of the machine */

enum {
    LIMITS_LOOK_NS = 1000000000,         /* of a process that records; for its own limits, */
    LIMITS_ASK_NS = 100000000,           /* ... which cost two system calls, so often */
    LIMITS_CGROUP_NS = 100000000,        /* a cgroup's memory, while it changes; at rest, */
    LIMITS_CGROUP_QUIET_NS = 1600000000, /* ... so rarely */
    LIMITS_MAX_CGROUPS = 64,             /* whose memory is looked at; limits of others have none */
    LIMITS_MAX_PATHS = 64,               /* of processes, known for a second */
};

struct limits_value {
    bool is_set;
    uint64_t bytes;
    uint32_t cgroup; /* number of the one that has it; 0: none */
};

/* A process: its limits as they stand in the capture. */
struct limits_process {
    uint32_t number; /* whose they are; 0: nobody's */
    uint32_t activity, activity_asked;
    uint64_t looked_ns, asked_ns;
    struct limits_value values[LIMIT_KIND_COUNT]; /* by enum limit_kind */
    uint64_t swapped_bytes;
};

/* Where processes are, and the limits there. */
struct limits_path {
    char *path; /* NULL: none */
    uint64_t looked_ns;
    struct limits_value maximum, high;
};

/* A cgroup that has a limit. */
struct limits_cgroup {
    char *path;
    int file; /* of cgroup_open_current() */
    bool has_file, is_written;
    uint64_t in_force_ns; /* when a process was last found under its limit */
    uint64_t looked_ns, period_ns;
    uint64_t cache_ns, cache_period_ns;
    uint64_t current_bytes, cache_bytes; /* last read */
    uint64_t most_bytes;                 /* of the first so far */
    uint64_t written_bytes;
};

struct limits {
    struct cgroup_mounts mounts;
    uint64_t looked_ns, machine_ns;
    uint64_t swap_bytes; /* of the machine */
    struct limits_value machine[LIMIT_KIND_COUNT];
    struct limits_path paths[LIMITS_MAX_PATHS];
    uint32_t next_path; /* to be given to the next new one */
    struct limits_cgroup cgroups[LIMITS_MAX_CGROUPS];
    uint32_t cgroup_count;
    uint32_t next; /* process to begin with, when there are too many for one time */
    struct limits_process processes[POOL_PROCESS_COUNT];
};

/*
 * Give it its beginning. limits: all zero. mountinfo: /proc/self/mountinfo as a text.
 * Context: any thread.
 */
void limits_init(struct limits *limits, const char *mountinfo);

/* Close what is open and give back the memory. Context: any thread, after the clock's. */
void limits_finish(struct limits *limits);

/*
 * Look at who is due: a process when it is first seen and then each second, for its own limits ten times
 * a second, or both more rarely at rest; the memory of a cgroup ten times a second while it changes.
 * Written is what has changed.
 * Context: clock thread.
 */
void limits_look(struct limits *limits, struct session *session, struct records *records,
                 uint64_t now_ns);

/*
 * Return whether a process has a limit of its own. number: of the process in this slot.
 * Context: clock thread.
 */
static inline bool limits_has(const struct limits *limits, uint32_t slot, uint32_t number,
                              enum limit_kind kind)
{
    const struct limits_process *process = &limits->processes[slot];

    return process->number == number && process->values[kind].is_set;
}

#endif
