/*
 * Failed allocations. Runs in the tools. A program may go on after any number of them, so they are
 * summed as they come.
 */
#include "profile/failures.h"

#include "base/memory.h"

#include <stdlib.h>

static bool is_of(const void *items, uint32_t item, const void *key)
{
    const struct profile_failure *failure = (const struct profile_failure *)items + item;
    const struct profile_failure *wanted = key;

    return failure->stack == wanted->stack && failure->stream == wanted->stream;
}

void failures_add(struct failures *failures, uint32_t stack, uint32_t stream, uint64_t bytes,
                  uint64_t time_ns)
{
    struct profile_failure added = {.stack = stack, .stream = stream, .first_ns = time_ns};
    uint64_t hash = hash_index_mix(stack, stream);
    uint32_t item = hash_index_find(&failures->index, hash, is_of, failures->items, &added);
    struct profile_failure *failure;

    if (item == HASH_INDEX_NONE) {
        failures->items = memory_grow(failures->items, &failures->capacity, failures->count + 1,
                                      sizeof(*failures->items));
        item = (uint32_t)failures->count++;
        failures->items[item] = added;
        hash_index_add(&failures->index, hash, item);
    }
    failure = &failures->items[item];
    failure->count++;
    failure->last_ns = time_ns;
    if (bytes > failure->largest_bytes)
        failure->largest_bytes = bytes;
}

void failures_finish(struct failures *failures)
{
    free(failures->items);
    hash_index_finish(&failures->index);
    *failures = (struct failures){.items = NULL};
}
