/*
 * An allocator that handlers may use and leave by siglongjmp(): cells, each claimed by one
 * compare-and-swap. No lock, no list, nothing to be left half done. Preloaded behind the tracker, so
 * that a storm of signals tests the tracker and not the C library.
 */
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    SMALL_BYTES = 1024,
    SMALL_COUNT = 1 << 14,
    BIG_BYTES = 1 << 20,
    BIG_COUNT = 1 << 7,
};

/* The kinds of cells; an address tells which it is of. */
static char small_cells[(size_t)SMALL_COUNT * SMALL_BYTES] __attribute__((aligned(4096)));
static char big_cells[(size_t)BIG_COUNT * BIG_BYTES] __attribute__((aligned(4096)));
static _Atomic uint8_t small_used[SMALL_COUNT], big_used[BIG_COUNT];

static void *claim(_Atomic uint8_t *used, size_t count, char *cells, size_t cell_bytes)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t unused = 0;

        if (atomic_load_explicit(&used[i], memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong(&used[i], &unused, 1))
            return cells + i * cell_bytes;
    }
    errno = ENOMEM;
    return NULL;
}

static size_t room_of(const void *block)
{
    const char *address = block;

    return address >= small_cells && address < small_cells + sizeof(small_cells) ? SMALL_BYTES
                                                                                 : BIG_BYTES;
}

void *malloc(size_t bytes)
{
    if (bytes <= SMALL_BYTES)
        return claim(small_used, SMALL_COUNT, small_cells, SMALL_BYTES);
    if (bytes <= BIG_BYTES)
        return claim(big_used, BIG_COUNT, big_cells, BIG_BYTES);
    errno = ENOMEM;
    return NULL;
}

void free(void *block)
{
    char *address = block;

    if (block == NULL)
        return;
    if (room_of(block) == SMALL_BYTES)
        atomic_store(&small_used[(address - small_cells) / SMALL_BYTES], 0);
    else
        atomic_store(&big_used[(address - big_cells) / BIG_BYTES], 0);
}

void *calloc(size_t count, size_t bytes)
{
    size_t all;
    void *block;

    if (__builtin_mul_overflow(count, bytes, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    block = malloc(all);
    return block == NULL ? NULL : memset(block, 0, all);
}

void *realloc(void *block, size_t bytes)
{
    void *moved;

    if (block == NULL)
        return malloc(bytes);
    if (bytes <= room_of(block))
        return block;
    moved = malloc(bytes);
    if (moved == NULL)
        return NULL;
    memcpy(moved, block, room_of(block));
    free(block);
    return moved;
}

/* Cells are aligned to their size. */
void *memalign(size_t alignment, size_t bytes)
{
    return malloc(alignment > bytes ? alignment : bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

int posix_memalign(void **ret_block, size_t alignment, size_t bytes)
{
    void *block = memalign(alignment, bytes);

    if (block == NULL)
        return ENOMEM;
    *ret_block = block;
    return 0;
}
