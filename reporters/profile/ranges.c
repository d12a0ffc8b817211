/*
 * Mapped ranges in a treap: a search tree by address that is a heap by random priorities, which
 * keeps it as shallow as if the ranges had come in random order. Runs in the tools.
 *
 * The priorities come from a generator with a fixed seed: the same events make the same tree.
 */
#include "profile/ranges.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

struct range_node {
    struct range range;
    uint32_t left, right; /* 0: none; left: the next free node of a free one */
    uint32_t priority;
};

const struct range *ranges_first(const struct ranges *ranges, uint64_t start, uint64_t end)
{
    const struct range *found = NULL;
    uint32_t at = ranges->root;

    /* They do not overlap, so the order of their ends is that of their starts. */
    while (at != 0) {
        const struct range_node *node = &ranges->nodes[at];

        if (node->range.end > start) {
            found = &node->range;
            at = node->left;
        } else {
            at = node->right;
        }
    }
    return found != NULL && start < end && found->start < end ? found : NULL;
}

static uint32_t next_random(struct ranges *ranges)
{
    uint32_t x = ranges->random != 0 ? ranges->random : UINT32_C(2463534242);

    x ^= x << 13; /* xorshift, full period */
    x ^= x >> 17;
    x ^= x << 5;
    return ranges->random = x;
}

static uint32_t take_node(struct ranges *ranges)
{
    uint32_t node = ranges->first_free;

    if (node != 0) {
        ranges->first_free = ranges->nodes[node].left;
        return node;
    }
    if (ranges->node_count == 0)
        ranges->node_count = 1;
    ranges->nodes = memory_grow(ranges->nodes, &ranges->node_capacity,
                                (size_t)ranges->node_count + 1, sizeof(*ranges->nodes));
    return ranges->node_count++;
}

/* Cut a tree in two: what begins below start, and the rest. */
static void split(struct ranges *ranges, uint32_t tree, uint64_t start, uint32_t *ret_below,
                  uint32_t *ret_rest)
{
    uint32_t *below = ret_below, *rest = ret_rest;

    while (tree != 0) {
        struct range_node *node = &ranges->nodes[tree];

        if (node->range.start < start) {
            *below = tree;
            below = &node->right;
            tree = node->right;
        } else {
            *rest = tree;
            rest = &node->left;
            tree = node->left;
        }
    }
    *below = *rest = 0;
}

/* Make one tree of two, all of the first below all of the second. */
static uint32_t join(struct ranges *ranges, uint32_t low, uint32_t high)
{
    uint32_t tree = 0, *link = &tree;

    while (low != 0 && high != 0) {
        struct range_node *a = &ranges->nodes[low], *b = &ranges->nodes[high];

        if (a->priority >= b->priority) {
            *link = low;
            link = &a->right;
            low = a->right;
        } else {
            *link = high;
            link = &b->left;
            high = b->left;
        }
    }
    *link = low != 0 ? low : high;
    return tree;
}

void ranges_add(struct ranges *ranges, const struct range *range)
{
    uint32_t added = take_node(ranges);
    struct range_node *node = &ranges->nodes[added];
    uint32_t *link = &ranges->root;

    assert(range->start < range->end);
    assert(ranges_first(ranges, range->start, range->end) == NULL);
    node->range = *range;
    node->priority = next_random(ranges);
    while (*link != 0 && ranges->nodes[*link].priority >= node->priority)
        link = ranges->nodes[*link].range.start < range->start ? &ranges->nodes[*link].right
                                                               : &ranges->nodes[*link].left;
    split(ranges, *link, range->start, &node->left, &node->right);
    *link = added;
    ranges->count++;
}

void ranges_remove(struct ranges *ranges, uint64_t start)
{
    uint32_t *link = &ranges->root;
    uint32_t removed;

    while (*link != 0 && ranges->nodes[*link].range.start != start)
        link = ranges->nodes[*link].range.start < start ? &ranges->nodes[*link].right
                                                        : &ranges->nodes[*link].left;
    removed = *link;
    assert(removed != 0);
    *link = join(ranges, ranges->nodes[removed].left, ranges->nodes[removed].right);
    ranges->nodes[removed].left = ranges->first_free;
    ranges->first_free = removed;
    ranges->count--;
}

void ranges_finish(struct ranges *ranges)
{
    free(ranges->nodes);
    *ranges = (struct ranges){0};
}
