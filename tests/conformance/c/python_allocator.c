/*
 * An allocator that a program gives Python: pieces of a pool, and malloc for what is larger. The same
 * functions for all three domains, as their context says.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    POOL_BYTES = 1 << 20,
    PIECE_BYTES = 64,
};

/* PyMemAllocatorEx */
struct allocator {
    void *context;
    void *(*malloc)(void *context, size_t size);
    void *(*calloc)(void *context, size_t count, size_t size);
    void *(*realloc)(void *context, void *block, size_t size);
    void (*free)(void *context, void *block);
};

static _Alignas(16) char pool[POOL_BYTES];
static size_t used;
static struct allocator before[3];
static int is_pool_on;

static int is_piece(const void *block)
{
    return (uintptr_t)block - (uintptr_t)pool < POOL_BYTES;
}

static void *allocate(void *context, size_t size)
{
    struct allocator *below = context;

    if (is_pool_on && size <= PIECE_BYTES && used + PIECE_BYTES <= POOL_BYTES)
        return pool + (used += PIECE_BYTES) - PIECE_BYTES;
    return below->malloc(below->context, size);
}

static void *allocate_clear(void *context, size_t count, size_t size)
{
    void *block = allocate(context, count * size);

    if (block != NULL)
        memset(block, 0, count * size);
    return block;
}

static void release(void *context, void *block)
{
    struct allocator *below = context;

    if (!is_piece(block))
        below->free(below->context, block);
}

static void *move(void *context, void *block, size_t size)
{
    struct allocator *below = context;
    void *other;

    if (!is_piece(block))
        return below->realloc(below->context, block, size);
    other = allocate(context, size);
    if (other != NULL)
        memcpy(other, block, size < PIECE_BYTES ? size : PIECE_BYTES);
    return other;
}

/* Put it into all three tables, over what is there. */
void replace(void (*get)(int, struct allocator *), void (*set)(int, struct allocator *));
void replace(void (*get)(int, struct allocator *), void (*set)(int, struct allocator *))
{
    is_pool_on = 1;
    for (int domain = 0; domain < 3; domain++) {
        struct allocator ours = {&before[domain], allocate, allocate_clear, move, release};

        get(domain, &before[domain]);
        set(domain, &ours);
    }
}
