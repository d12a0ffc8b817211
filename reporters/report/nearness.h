/*
 * How near programs came to the limits of their memory.
 */
#ifndef REPORT_NEARNESS_H
#define REPORT_NEARNESS_H

#include "base/memory.h"
#include "capture/capture.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What was counted against a limit. */
enum nearness_measure {
    NEARNESS_RSS = 0,    /* resident memory of its processes */
    NEARNESS_CGROUP = 1, /* what the cgroup holds, others' memory included, without page cache */
    NEARNESS_ADDRESS_SPACE = 2,
    NEARNESS_DATA = 3,
    NEARNESS_SWAP = 4,
};

/* A limit from an instant on. */
struct nearness_step {
    uint64_t time_ns;
    uint64_t bytes; /* UINT64_MAX: there is none */
};

/* A limit of one process, of a cgroup, or of the machine: the instant at which least was left of it. */
struct nearness {
    uint8_t kind;                    /* enum limit_kind */
    uint8_t measure;                 /* enum nearness_measure */
    uint32_t process_index;          /* UINT32_MAX: it is not of one process */
    uint32_t cgroup;                 /* index in capture.cgroups; UINT32_MAX: it is not of one */
    uint64_t bytes;                  /* the limit at that instant */
    uint64_t used_bytes, left_bytes; /* left 0: it was reached */
    uint64_t time_ns;
    struct nearness_step *steps; /* the limit over time */
    size_t step_count;
};

struct nearnesses {
    struct nearness *items; /* least left first; of equal ones the earlier */
    size_t count;
};

/*
 * Find how near it was to each limit of which what counts is known.
 * process_number: limits of this process, and those that it has with others; 0: all. Context: tool.
 */
struct nearnesses nearness_find(const struct capture *capture, uint32_t process_number);

/*
 * Return the limit that people should be told of: the nearest of a process or a cgroup, or how much
 * memory or swap the machine has when a fourth of it was used. NULL: none. Context: tool.
 */
const struct nearness *nearness_nearest(const struct nearnesses *nearnesses);

/* Return whether a fourth of a limit or more was used. Context: any thread. */
bool nearness_is_near(const struct nearness *nearness);

/*
 * Return whose limit it is: "memory.max of the cgroup", "RLIMIT_AS", "RLIMIT_AS of process 4711" where
 * there are several. The pool's, or static. Context: tool.
 */
const char *nearness_name(struct memory_pool *pool, const struct capture *capture,
                          const struct nearness *nearness);

/* Return the name of a measure: "rss", "cgroup", "address_space". Context: any thread. */
const char *nearness_measure_name(uint8_t measure);

/* Give the memory back. Context: tool. */
void nearness_finish(struct nearnesses *nearnesses);

#endif
