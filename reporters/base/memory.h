/*
 * Memory of the tools. A tool that is out of memory says so and ends with code 4: none of its
 * callers could go on. Never used in the target.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

/* Say that there is no memory left, and end the tool. For what others allocate. Context: tool. */
_Noreturn void memory_stop(void);

/*
 * Allocate count elements, all zero bytes.
 * count, element_bytes: 0 is allowed; their product may be anything, too much ends the tool.
 * Returns memory to be given to free(), never NULL. Context: tool.
 */
void *memory_allocate(size_t count, size_t element_bytes)
    __attribute__((malloc, returns_nonnull, warn_unused_result));

/*
 * Make an array larger so that it has room for needed_count elements, at least doubling it, so that
 * appending one by one takes time in proportion to the elements. New room is not initialised.
 * array: NULL when *capacity_count is 0. capacity_count: room in elements, brought up to date.
 * Returns the array, perhaps moved. Context: tool.
 */
void *memory_grow(void *array, size_t *capacity_count, size_t needed_count, size_t element_bytes)
    __attribute__((returns_nonnull, warn_unused_result));

/* As memory_grow(), but new room is all zero bytes. Context: tool. */
void *memory_grow_zeroed(void *array, size_t *capacity_count, size_t needed_count,
                         size_t element_bytes) __attribute__((returns_nonnull, warn_unused_result));

/*
 * Copy count elements, 0 is allowed. array: may be NULL then.
 * Returns memory to be given to free(). Context: tool.
 */
void *memory_copy(const void *array, size_t count, size_t element_bytes)
    __attribute__((malloc, returns_nonnull, warn_unused_result));

/* Copy a text. Returns memory to be given to free(). Context: tool. */
char *memory_copy_text(const char *text) __attribute__((malloc, returns_nonnull));

/*
 * A pool: many small things that live and die together. All zero bytes is an empty pool.
 */
struct memory_pool {
    struct memory_chunk *newest;
    size_t used_bytes; /* of the newest chunk */
};

/*
 * Take memory from a pool, aligned for anything, all zero bytes.
 * Returns memory that lives until memory_pool_finish(). Context: tool.
 */
void *memory_pool_allocate(struct memory_pool *pool, size_t bytes)
    __attribute__((malloc, returns_nonnull));

/* Copy so many bytes and a NUL behind them into a pool. Context: tool. */
char *memory_pool_copy(struct memory_pool *pool, const char *text, size_t length_bytes)
    __attribute__((malloc, returns_nonnull));

/* Give all of a pool back; it is empty then. Context: tool. */
void memory_pool_finish(struct memory_pool *pool);

#endif
