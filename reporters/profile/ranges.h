/*
 * The mapped ranges of one process, none overlapping another, by address.
 *
 * Every operation takes time in proportion to the logarithm of the number of ranges: a program may
 * have a hundred thousand of them. Not thread-safe.
 */
#ifndef PROFILE_RANGES_H
#define PROFILE_RANGES_H

#include "profile/block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
    uint64_t start, end;
    struct block block; /* bytes = end - start; row ROW_NONE unless its class is heap */
    uint32_t stream;    /* who mapped it, index in capture.threads */
    uint32_t stack;     /* index in capture.stacks */
    uint8_t map_class;  /* enum map_class */
    bool is_counted;    /* false: of a thread that was not asked for, or inherited */
};

struct range_node;

/* All zero bytes is empty. */
struct ranges {
    struct range_node *nodes; /* node 0 stands for none */
    size_t node_capacity;
    uint32_t node_count, root, first_free;
    uint32_t random;
    size_t count;
};

/*
 * Find the lowest range that has a byte in [start, end).
 * Returns NULL when there is none. Valid until the ranges change. Context: tool.
 */
const struct range *ranges_first(const struct ranges *ranges, uint64_t start, uint64_t end);

/* Add a range that overlaps none and is not empty. Context: tool. */
void ranges_add(struct ranges *ranges, const struct range *range);

/* Remove the range that begins at start; there must be one. Context: tool. */
void ranges_remove(struct ranges *ranges, uint64_t start);

/* Give it back; it is empty then. Context: tool. */
void ranges_finish(struct ranges *ranges);

#endif
