/*
 * Limits in words, and as a list: equal ones of several processes are one.
 */
#ifndef REPORT_LIMITS_H
#define REPORT_LIMITS_H

#include "capture/capture.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What was in force from an instant on. */
struct limit_row {
    uint64_t from_ns; /* the first of those that are equal */
    uint64_t bytes;
    uint32_t process_count; /* 0: the machine's */
    uint32_t cgroup;        /* index in capture.cgroups; UINT32_MAX: none */
    uint8_t kind;           /* enum limit_kind */
    bool is_set;            /* false: there was none any more */
};

struct limit_rows {
    struct limit_row *rows; /* by time, then kind */
    size_t count;
};

/* Return what a limit is called: "memory.max", "RLIMIT_AS". Context: any thread. */
const char *limit_name(uint8_t kind);

/* Collect the limits that a capture knows of. Context: tool. */
struct limit_rows limit_rows_collect(const struct capture *capture);

/* Give its memory back. Context: tool. */
void limit_rows_finish(struct limit_rows *rows);

#endif
