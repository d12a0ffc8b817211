/*
 * A heap of numbered things: the smallest (value, id) is on top. Runs in the tools.
 */
#ifndef CAPTURE_HEAP_H
#define CAPTURE_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct heap_key {
    uint64_t value;
    uint32_t id; /* decides between equal values */
};

/* All zero bytes is an empty heap. */
struct heap {
    struct heap_key *keys;
    size_t count, capacity;
};

/* Return the smallest; there must be one. Context: tool. */
static inline struct heap_key heap_top(const struct heap *heap)
{
    return heap->keys[0];
}

/* Add a key. Context: tool. */
void heap_push(struct heap *heap, struct heap_key key);

/* Take the smallest away; there must be one. Context: tool. */
void heap_pop(struct heap *heap);

/* Put a key in the place of the smallest; cheap when it is the smallest again. Context: tool. */
void heap_replace_top(struct heap *heap, struct heap_key key);

/* Give it back; it is empty then. Context: tool. */
void heap_finish(struct heap *heap);

#endif
