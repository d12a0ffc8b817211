/*
 * Rows of a view: costs added up by function, by location or by stack, in the asked order.
 */
#ifndef REPORT_ROWS_H
#define REPORT_ROWS_H

#include "profile/profile.h"
#include "report/paths.h"

#include <stddef.h>
#include <stdint.h>

struct tree;

/* As enum render_sort, which this folder does not know. Ties: bytes, then name. */
enum rows_sort {
    ROWS_TOTAL = 0,
    ROWS_OWN = 1,
    ROWS_COUNT = 2,
    ROWS_NAME = 3,
};

/* What is the same in all that a row stands for. */
enum rows_group {
    ROWS_BY_LOCATION = 0,           /* innermost frame */
    ROWS_BY_LOCATION_ALLOCATOR = 1, /* and allocator */
    ROWS_BY_STACK = 2,              /* path, allocator and thread */
};

struct row {
    uint32_t path;         /* by stack; otherwise any of those that end in frame */
    uint32_t frame;        /* innermost */
    uint32_t stream;       /* by stack; otherwise the first, capture.threads index + 1 */
    uint32_t stream_count; /* different ones */
    uint8_t allocator;     /* but for by location: enum allocator */
    struct profile_cost cost;
};

struct rows {
    struct row *rows;
    size_t count;
};

/* Say that the stacks with a part in a view will be asked for: paths_prepare(). Context: tool. */
void paths_prepare_view(struct paths *paths, const struct profile *profile, enum profile_view view);

/*
 * Collect the rows that have a part in the view.
 * Context: tool.
 */
struct rows rows_collect(struct paths *paths, const struct profile *profile, enum profile_view view,
                         enum rows_group group, enum rows_sort sort);

/* Give its memory back. Context: tool. */
void rows_finish(struct rows *rows);

/* A function: frames of equal name, file and first line. */
struct function_row {
    uint32_t frame;            /* any of them */
    struct profile_cost total; /* stacks it is in, each once */
    struct profile_cost own;   /* stacks it is the innermost frame of */
};

struct function_rows {
    struct function_row *rows;
    size_t count;
};

/*
 * Collect the functions of a tree, which is not inverted.
 * Context: tool.
 */
struct function_rows function_rows_collect(const struct paths *paths, const struct tree *tree,
                                           enum rows_sort sort);

/* Give its memory back. Context: tool. */
void function_rows_finish(struct function_rows *rows);

#endif
