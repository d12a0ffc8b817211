/*
 * Where allocations failed.
 */
#ifndef REPORT_FAILURES_H
#define REPORT_FAILURES_H

#include "profile/profile.h"
#include "report/paths.h"

#include <stddef.h>
#include <stdint.h>

/* All that failed at one location. */
struct failure_row {
    uint32_t frame; /* innermost */
    uint64_t count;
    uint64_t largest_bytes; /* that was asked for */
    uint64_t first_ns, last_ns;
};

struct failure_rows {
    struct failure_row *rows; /* by count, then the largest, then name */
    size_t count;
};

/* Collect the locations at which allocations failed. Context: tool. */
struct failure_rows failure_rows_collect(struct paths *paths, const struct profile *profile);

/* Give its memory back. Context: tool. */
void failure_rows_finish(struct failure_rows *rows);

#endif
