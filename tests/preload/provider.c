/*
 * An allocator to be preloaded behind ours: it calls its own malloc and free by their names, maps
 * its memory through mmap(), counts its calls, and can be left by siglongjmp() at any instant.
 *
 * Cells of one size, claimed by compare-and-swap; larger blocks are mapped.
 */
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    CELL_BYTES = 1024,
    CELL_COUNT = 1 << 14,
    HEADER_BYTES = 4096, /* in front of a mapped block: its size */
};

static atomic_uchar is_used[CELL_COUNT];
static _Atomic uintptr_t cells;
static atomic_uint count_calls;

unsigned provider_count_calls(void);

unsigned provider_count_calls(void)
{
    return count_calls;
}

static uintptr_t get_cells(void)
{
    uintptr_t start = cells;

    if (start == 0) {
        uintptr_t mine =
            (uintptr_t)mmap(NULL, (size_t)CELL_COUNT * CELL_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (atomic_compare_exchange_strong(&cells, &start, mine))
            start = mine;
    }
    return start;
}

void *malloc(size_t size_bytes)
{
    static atomic_uint hint;
    char *range;

    count_calls++;
    if (size_bytes <= CELL_BYTES) {
        unsigned first = hint;

        for (unsigned i = 0; i < CELL_COUNT; i++) {
            unsigned cell = (first + i) % CELL_COUNT;
            unsigned char used = 0;

            if (is_used[cell] == 0 && atomic_compare_exchange_strong(&is_used[cell], &used, 1)) {
                hint = cell;
                return (void *)(get_cells() + (uintptr_t)cell * CELL_BYTES);
            }
        }
    }
    if (size_bytes > PTRDIFF_MAX - HEADER_BYTES) {
        errno = ENOMEM;
        return NULL;
    }
    range = mmap(NULL, size_bytes + HEADER_BYTES, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (range == MAP_FAILED)
        return NULL;
    memcpy(range, &size_bytes, sizeof(size_bytes));
    return range + HEADER_BYTES;
}

void free(void *block)
{
    uintptr_t offset = (uintptr_t)block - cells;
    size_t size_bytes;

    count_calls++;
    if (block == NULL)
        return;
    if (offset < (uintptr_t)CELL_COUNT * CELL_BYTES) {
        is_used[offset / CELL_BYTES] = 0;
        return;
    }
    memcpy(&size_bytes, (char *)block - HEADER_BYTES, sizeof(size_bytes));
    munmap((char *)block - HEADER_BYTES, size_bytes + HEADER_BYTES);
}

/* By name: through the procedure linkage table, so whoever comes first is called. */
void *calloc(size_t count, size_t size_bytes)
{
    size_t total_bytes;
    void *block;

    if (__builtin_mul_overflow(count, size_bytes, &total_bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    block = malloc(total_bytes);
    return block != NULL ? memset(block, 0, total_bytes) : NULL;
}

void *realloc(void *old, size_t size_bytes)
{
    uintptr_t offset = (uintptr_t)old - cells;
    size_t old_bytes = CELL_BYTES;
    void *block = malloc(size_bytes);

    if (old == NULL || block == NULL)
        return block;
    if (offset >= (uintptr_t)CELL_COUNT * CELL_BYTES)
        memcpy(&old_bytes, (char *)old - HEADER_BYTES, sizeof(old_bytes));
    memcpy(block, old, old_bytes < size_bytes ? old_bytes : size_bytes);
    free(old);
    return block;
}

void *memalign(size_t align_bytes, size_t size_bytes)
{
    /* Cells lie at multiples of their size, mapped blocks behind a page. */
    return malloc(align_bytes <= CELL_BYTES ? size_bytes : CELL_BYTES + size_bytes);
}

void *aligned_alloc(size_t align_bytes, size_t size_bytes)
{
    return memalign(align_bytes, size_bytes);
}

int posix_memalign(void **ret_block, size_t align_bytes, size_t size_bytes)
{
    void *block = memalign(align_bytes, size_bytes);

    if (block == NULL)
        return ENOMEM;
    *ret_block = block;
    return 0;
}
