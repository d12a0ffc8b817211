/*
 * A binary heap in an array. What holds: no key is smaller than the one at (its index - 1) / 2.
 */
#include "capture/heap.h"

#include "base/memory.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

static bool is_less(struct heap_key a, struct heap_key b)
{
    return a.value < b.value || (a.value == b.value && a.id < b.id);
}

void heap_push(struct heap *heap, struct heap_key key)
{
    size_t at = heap->count;

    heap->keys = memory_grow(heap->keys, &heap->capacity, heap->count + 1, sizeof(*heap->keys));
    heap->count++;
    while (at > 0 && is_less(key, heap->keys[(at - 1) / 2])) {
        heap->keys[at] = heap->keys[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->keys[at] = key;
}

void heap_replace_top(struct heap *heap, struct heap_key key)
{
    size_t at = 0;

    assert(heap->count > 0);
    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < heap->count && is_less(heap->keys[child + 1], heap->keys[child]))
            child++;
        if (child >= heap->count || !is_less(heap->keys[child], key))
            break;
        heap->keys[at] = heap->keys[child];
        at = child;
    }
    heap->keys[at] = key;
}

void heap_pop(struct heap *heap)
{
    assert(heap->count > 0);
    heap->count--;
    if (heap->count > 0)
        heap_replace_top(heap, heap->keys[heap->count]);
}

void heap_finish(struct heap *heap)
{
    free(heap->keys);
    *heap = (struct heap){0};
}
