/*
 * Limits, put together by what they are. Runs in the tools.
 */
#include "report/limits.h"

#include "base/memory.h"
#include "memtrack/format.h"

#include <stdlib.h>

const char *limit_name(uint8_t kind)
{
    static const char *const names[LIMIT_KIND_COUNT] = {
        [LIMIT_CGROUP_MAX] = "memory.max",
        [LIMIT_CGROUP_HIGH] = "memory.high",
        [LIMIT_CGROUP_V1] = "memory.limit_in_bytes",
        [LIMIT_ADDRESS_SPACE] = "RLIMIT_AS",
        [LIMIT_DATA] = "RLIMIT_DATA",
        [LIMIT_MACHINE] = "machine",
        [LIMIT_SWAP] = "swap",
    };

    return kind < LIMIT_KIND_COUNT && names[kind] != NULL ? names[kind] : "unknown";
}

static int compare_rising(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By what makes them equal. */
static int compare_what(const struct capture_limit *a, const struct capture_limit *b)
{
    int order = compare_rising(a->kind, b->kind);

    if (order == 0)
        order = compare_rising(a->is_set, b->is_set);
    if (order == 0)
        order = compare_rising(a->bytes, b->bytes);
    return order != 0 ? order : compare_rising(a->cgroup, b->cgroup);
}

static int compare_limits(const void *first, const void *second)
{
    const struct capture_limit *a = first, *b = second;
    int order = compare_what(a, b);

    if (order == 0)
        order = compare_rising(a->process_index, b->process_index);
    return order != 0 ? order : compare_rising(a->time_ns, b->time_ns);
}

static int compare_rows(const void *first, const void *second)
{
    const struct limit_row *a = first, *b = second;
    int order = compare_rising(a->from_ns, b->from_ns);

    if (order == 0)
        order = compare_rising(a->kind, b->kind);
    if (order == 0)
        order = compare_rising(a->bytes, b->bytes);
    return order != 0 ? order : compare_rising(a->cgroup, b->cgroup);
}

struct limit_rows limit_rows_collect(const struct capture *capture)
{
    struct capture_limit *limits = memory_allocate(capture->limit_count, sizeof(*limits));
    struct limit_rows rows = {.rows = memory_allocate(capture->limit_count, sizeof(*rows.rows))};

    for (uint32_t i = 0; i < capture->limit_count; i++)
        limits[i] = capture->limits[i];
    qsort(limits, capture->limit_count, sizeof(*limits), compare_limits);
    for (uint32_t i = 0; i < capture->limit_count; i++) {
        const struct capture_limit *limit = &limits[i];
        struct limit_row *last = rows.count > 0 ? &rows.rows[rows.count - 1] : NULL;

        if (last == NULL || compare_what(limit, limit - 1) != 0) {
            last = &rows.rows[rows.count++];
            *last = (struct limit_row){.from_ns = limit->time_ns,
                                       .bytes = limit->bytes,
                                       .process_count = limit->process_index != UINT32_MAX,
                                       .cgroup = limit->cgroup,
                                       .kind = limit->kind,
                                       .is_set = limit->is_set};
            continue;
        }
        if (limit->time_ns < last->from_ns)
            last->from_ns = limit->time_ns;
        last->process_count += limit->process_index != limit[-1].process_index;
    }
    free(limits);
    if (rows.count > 0)
        qsort(rows.rows, rows.count, sizeof(*rows.rows), compare_rows);
    return rows;
}

void limit_rows_finish(struct limit_rows *rows)
{
    free(rows->rows);
    *rows = (struct limit_rows){.rows = NULL};
}
