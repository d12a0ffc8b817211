/*
 * Memory of the tools. Runs in the tools, on any thread that owns what it asks for.
 *
 * What holds: no function here returns NULL, and no product or sum of sizes wraps around.
 */
#include "base/memory.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_BYTES = 64 << 10,
    FIRST_CAPACITY = 16,
    EXIT_NO_MEMORY = 4, /* the output could not be made */
};

struct memory_chunk {
    struct memory_chunk *older;
    size_t size_bytes; /* of bytes[] */
    alignas(max_align_t) char bytes[];
};

/* The one place below cli/ that prints: nothing that could carry a message upwards is left. */
void memory_stop(void)
{
    fputs("memtrack: out of memory: look at a part of the capture with --process or --thread\n",
          stderr);
    exit(EXIT_NO_MEMORY);
}

void *memory_allocate(size_t count, size_t element_bytes)
{
    /* calloc(0) may be NULL, which would look like a failure. */
    void *memory = calloc(count > 0 ? count : 1, element_bytes > 0 ? element_bytes : 1);

    if (memory == NULL)
        memory_stop();
    return memory;
}

void *memory_grow(void *array, size_t *capacity_count, size_t needed_count, size_t element_bytes)
{
    size_t capacity = *capacity_count, bytes;

    if (needed_count <= capacity && array != NULL)
        return array;
    if (capacity > SIZE_MAX / 2)
        memory_stop();
    capacity = capacity < FIRST_CAPACITY / 2 ? FIRST_CAPACITY : capacity * 2;
    if (capacity < needed_count)
        capacity = needed_count;
    if (__builtin_mul_overflow(capacity, element_bytes, &bytes))
        memory_stop();
    array = realloc(array, bytes);
    if (array == NULL)
        memory_stop();
    *capacity_count = capacity;
    return array;
}

void *memory_grow_zeroed(void *array, size_t *capacity_count, size_t needed_count,
                         size_t element_bytes)
{
    size_t before = array != NULL ? *capacity_count : 0;
    uint8_t *grown = memory_grow(array, capacity_count, needed_count, element_bytes);

    if (*capacity_count > before)
        memset(grown + before * element_bytes, 0, (*capacity_count - before) * element_bytes);
    return grown;
}

void *memory_copy(const void *array, size_t count, size_t element_bytes)
{
    size_t size_bytes;
    void *copy = NULL;

    if (!__builtin_mul_overflow(count, element_bytes, &size_bytes))
        copy = malloc(size_bytes > 0 ? size_bytes : 1);
    if (copy == NULL)
        memory_stop();
    if (size_bytes > 0)
        memcpy(copy, array, size_bytes);
    return copy;
}

char *memory_copy_text(const char *text)
{
    char *copy = strdup(text);

    if (copy == NULL)
        memory_stop();
    return copy;
}

static void add_chunk(struct memory_pool *pool, size_t least_bytes)
{
    size_t size_bytes = least_bytes > CHUNK_BYTES ? least_bytes : CHUNK_BYTES;
    struct memory_chunk *chunk;

    if (size_bytes > SIZE_MAX - sizeof(*chunk))
        memory_stop();
    chunk = memory_allocate(1, sizeof(*chunk) + size_bytes);
    chunk->older = pool->newest;
    chunk->size_bytes = size_bytes;
    pool->newest = chunk;
    pool->used_bytes = 0;
}

static void *take(struct memory_pool *pool, size_t bytes, size_t alignment)
{
    size_t at = (pool->used_bytes + alignment - 1) / alignment * alignment;

    if (pool->newest == NULL || at > pool->newest->size_bytes ||
        bytes > pool->newest->size_bytes - at) {
        add_chunk(pool, bytes);
        at = 0;
    }
    pool->used_bytes = at + bytes;
    return pool->newest->bytes + at;
}

void *memory_pool_allocate(struct memory_pool *pool, size_t bytes)
{
    return take(pool, bytes, alignof(max_align_t));
}

char *memory_pool_copy(struct memory_pool *pool, const char *text, size_t length_bytes)
{
    char *copy;

    if (length_bytes == SIZE_MAX)
        memory_stop();
    copy = take(pool, length_bytes + 1, 1);
    if (length_bytes > 0)
        memcpy(copy, text, length_bytes);
    copy[length_bytes] = '\0';
    return copy;
}

void memory_pool_finish(struct memory_pool *pool)
{
    struct memory_chunk *chunk = pool->newest, *older;

    for (; chunk != NULL; chunk = older) {
        older = chunk->older;
        free(chunk);
    }
    pool->newest = NULL;
    pool->used_bytes = 0;
}
