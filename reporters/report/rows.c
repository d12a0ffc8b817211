/*
 * Rows by location and by stack: one entry a row of the profile, sorted by what makes them equal,
 * added up, sorted as asked. Runs in the tools.
 */
#include "report/rows.h"

#include "base/memory.h"

#include <stdlib.h>

struct order {
    const struct paths *paths;
    enum rows_sort sort;
};

static int compare_rising(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By what the group leaves in the key; the rest is 0 in all rows. */
static int compare_keys(const struct row *a, const struct row *b)
{
    int order = compare_rising(a->frame, b->frame);

    if (order == 0)
        order = compare_rising(a->allocator, b->allocator);
    if (order == 0)
        order = compare_rising(a->path, b->path);
    return order;
}

static int compare_keys_and_streams(const void *first, const void *second)
{
    const struct row *a = first, *b = second;
    int order = compare_keys(a, b);

    return order != 0 ? order : compare_rising(a->stream, b->stream);
}

static int compare_as_asked(const void *first, const void *second, void *user)
{
    const struct row *a = first, *b = second;
    const struct order *order = user;
    int result = 0;

    if (order->sort == ROWS_COUNT)
        result = compare_rising(b->cost.allocations, a->cost.allocations);
    else if (order->sort == ROWS_NAME)
        result = paths_compare_frames(order->paths, a->frame, b->frame);
    if (result == 0)
        result = compare_rising(b->cost.bytes, a->cost.bytes);
    if (result == 0)
        result = paths_compare_frames(order->paths, a->frame, b->frame);
    return result != 0 ? result : compare_keys_and_streams(a, b);
}

void paths_prepare_view(struct paths *paths, const struct profile *profile, enum profile_view view)
{
    uint32_t *stacks = memory_allocate(profile->row_count, sizeof(stacks[0]));
    size_t count = 0;

    for (uint32_t i = 0; i < profile->row_count; i++) {
        const struct profile_cost *cost = &profile->rows[i].costs[view];

        if (cost->allocations > 0 || cost->bytes > 0)
            stacks[count++] = profile->rows[i].stack;
    }
    paths_prepare(paths, stacks, count);
    free(stacks);
}

static size_t fill_rows(struct row *rows, struct paths *paths, const struct profile *profile,
                        enum profile_view view, enum rows_group group)
{
    size_t count = 0;

    paths_prepare_view(paths, profile, view);
    for (uint32_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *from = &profile->rows[i];
        const struct capture_stack *stack = &profile->capture->stacks[from->stack];
        struct row row = {.cost = from->costs[view], .stream = from->stream, .stream_count = 1};
        uint32_t path_count;

        if (row.cost.allocations == 0 && row.cost.bytes == 0)
            continue;
        row.path = paths_of_stack(paths, from->stack);
        row.frame = paths_all(paths, &path_count)[row.path].frame;
        if (group != ROWS_BY_STACK)
            row.path = 0;
        if (group != ROWS_BY_LOCATION)
            row.allocator = stack->allocator;
        rows[count++] = row;
    }
    return count;
}

/* Add up neighbours of equal key. Returns how many rows are left. */
static size_t merge_rows(struct row *rows, size_t count, enum rows_group group)
{
    size_t merged = 0;

    for (size_t i = 0; i < count; i++) {
        struct row *last = merged > 0 ? &rows[merged - 1] : NULL;
        uint32_t last_stream = i > 0 ? rows[i - 1].stream : 0;

        if (last == NULL || compare_keys(last, &rows[i]) != 0 ||
            (group == ROWS_BY_STACK && last->stream != rows[i].stream)) {
            rows[merged++] = rows[i];
            continue;
        }
        last->cost.bytes += rows[i].cost.bytes;
        last->cost.allocations += rows[i].cost.allocations;
        last->stream_count += rows[i].stream != last_stream;
    }
    return merged;
}

struct rows rows_collect(struct paths *paths, const struct profile *profile, enum profile_view view,
                         enum rows_group group, enum rows_sort sort)
{
    struct row *rows = memory_allocate(profile->row_count, sizeof(rows[0]));
    size_t count = fill_rows(rows, paths, profile, view, group);
    struct order order = {paths, sort};

    qsort(rows, count, sizeof(rows[0]), compare_keys_and_streams);
    count = merge_rows(rows, count, group);
    qsort_r(rows, count, sizeof(rows[0]), compare_as_asked, &order);
    return (struct rows){rows, count};
}

void rows_finish(struct rows *rows)
{
    free(rows->rows);
    *rows = (struct rows){.rows = NULL};
}
