/*
 * Failed allocations by location. Runs in the tools.
 */
#include "report/failures.h"

#include "base/memory.h"

#include <stdlib.h>

static int compare_rising(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_frames(const void *first, const void *second)
{
    const struct failure_row *a = first, *b = second;

    return compare_rising(a->frame, b->frame);
}

static int compare_rows(const void *first, const void *second, void *user)
{
    const struct failure_row *a = first, *b = second;
    int order = compare_rising(b->count, a->count);

    if (order == 0)
        order = compare_rising(b->largest_bytes, a->largest_bytes);
    if (order == 0)
        order = paths_compare_frames(user, a->frame, b->frame);
    return order != 0 ? order : compare_frames(a, b);
}

static void add(struct failure_row *to, const struct failure_row *from)
{
    to->count += from->count;
    if (from->largest_bytes > to->largest_bytes)
        to->largest_bytes = from->largest_bytes;
    if (from->first_ns < to->first_ns)
        to->first_ns = from->first_ns;
    if (from->last_ns > to->last_ns)
        to->last_ns = from->last_ns;
}

struct failure_rows failure_rows_collect(struct paths *paths, const struct profile *profile)
{
    struct failure_row *rows = memory_allocate(profile->failure_count, sizeof(*rows));
    uint32_t *stacks = memory_allocate(profile->failure_count, sizeof(*stacks));
    size_t count = 0;

    for (uint32_t i = 0; i < profile->failure_count; i++)
        stacks[i] = profile->failures[i].stack;
    paths_prepare(paths, stacks, profile->failure_count);
    free(stacks);
    for (uint32_t i = 0; i < profile->failure_count; i++) {
        const struct profile_failure *failure = &profile->failures[i];
        uint32_t path = paths_of_stack(paths, failure->stack), path_count;

        rows[i] = (struct failure_row){paths_all(paths, &path_count)[path].frame, failure->count,
                                       failure->largest_bytes, failure->first_ns, failure->last_ns};
    }
    if (profile->failure_count > 0)
        qsort(rows, profile->failure_count, sizeof(*rows), compare_frames);
    for (uint32_t i = 0; i < profile->failure_count; i++) {
        if (count > 0 && rows[count - 1].frame == rows[i].frame)
            add(&rows[count - 1], &rows[i]);
        else
            rows[count++] = rows[i];
    }
    if (count > 0)
        qsort_r(rows, count, sizeof(*rows), compare_rows, paths);
    return (struct failure_rows){rows, count};
}

void failure_rows_finish(struct failure_rows *rows)
{
    free(rows->rows);
    *rows = (struct failure_rows){.rows = NULL};
}
