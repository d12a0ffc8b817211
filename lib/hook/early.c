/*
 * The stand-ins for the real functions.
 *
 * Run before our constructor, mostly in the loader's single thread, and while the real functions
 * are being looked up. Each block is preceded by its size. Nothing is recorded of them.
 */
#include "hook/early.h"

#include "base/syscalls.h"
#include "hook/real.h"
#include "record/sample_set.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum {
    EARLY_ALIGN_BYTES = 16,
};

char early_memory[EARLY_BYTES] __attribute__((aligned(4096)));
static atomic_size_t used_bytes;

size_t early_size(const void *block)
{
    size_t size_bytes;

    memcpy(&size_bytes, (const char *)block - sizeof(size_bytes), sizeof(size_bytes));
    return size_bytes;
}

/* NULL: used up. */
static void *cut(size_t align_bytes, size_t size_bytes)
{
    /* Relaxed: the counter only deals out ranges. */
    size_t used = atomic_load_explicit(&used_bytes, memory_order_relaxed);
    size_t start;

    if (align_bytes < EARLY_ALIGN_BYTES)
        align_bytes = EARLY_ALIGN_BYTES;
    if (align_bytes > EARLY_BYTES)
        return NULL;
    do {
        start = (used + sizeof(size_bytes) + align_bytes - 1) & ~(align_bytes - 1);
        /* A block of no bytes has an address of its own too. */
        if (start >= EARLY_BYTES || size_bytes >= EARLY_BYTES - start)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&used_bytes, &used, start + size_bytes + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    memcpy(early_memory + start - sizeof(size_bytes), &size_bytes, sizeof(size_bytes));
    /* free() looks there first. */
    sample_set_doubt((uintptr_t)early_memory + start);
    return early_memory + start;
}

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

/* Whether the real functions are there now. */
static bool has_real_functions(void)
{
    real_resolve();
    return real.malloc != early_malloc;
}

void *early_memalign(size_t align_bytes, size_t size_bytes)
{
    void *block = cut(align_bytes, size_bytes);

    if (block != NULL)
        return block;
    return has_real_functions() ? real.memalign(align_bytes, size_bytes) : no_memory();
}

void *early_malloc(size_t size_bytes)
{
    void *block = cut(EARLY_ALIGN_BYTES, size_bytes);

    if (block != NULL)
        return block;
    return has_real_functions() ? real.malloc(size_bytes) : no_memory();
}

void early_free(void *block)
{
    (void)block; /* there are no others yet: free() has seen to ours */
}

void *early_calloc(size_t count, size_t size_bytes)
{
    size_t total_bytes;
    void *block;

    if (__builtin_mul_overflow(count, size_bytes, &total_bytes))
        return no_memory();
    block = cut(EARLY_ALIGN_BYTES, total_bytes);
    if (block != NULL)
        return block; /* static memory that is used once is zero */
    return has_real_functions() ? real.calloc(count, size_bytes) : no_memory();
}

void *early_realloc(void *block, size_t size_bytes)
{
    void *larger = early_malloc(size_bytes);

    if (block != NULL && larger != NULL) {
        size_t old_bytes = early_size(block);

        memcpy(larger, block, old_bytes < size_bytes ? old_bytes : size_bytes);
    }
    return larger;
}

int early_posix_memalign(void **ret_block, size_t align_bytes, size_t size_bytes)
{
    void *block = early_memalign(align_bytes, size_bytes);

    if (block == NULL)
        return ENOMEM;
    *ret_block = block;
    return 0;
}

/* Return what libc would for a system call's result. */
static long result_of(long result)
{
    if (!sys_failed(result))
        return result;
    errno = (int)-result;
    return -1;
}

void *early_mmap(void *address, size_t size_bytes, int protection, int flags, int fd, off_t at)
{
    return (void *)result_of(
        sys_call(SYS_mmap, (long)address, (long)size_bytes, protection, flags, fd, at));
}

int early_munmap(void *address, size_t size_bytes)
{
    return (int)result_of(sys_call(SYS_munmap, (long)address, (long)size_bytes, 0, 0, 0, 0));
}

void *early_mremap(void *old, size_t old_bytes, size_t new_bytes, int flags, ...)
{
    long new_address = 0;

    if ((flags & MREMAP_FIXED) != 0) {
        va_list arguments;

        va_start(arguments, flags);
        new_address = (long)va_arg(arguments, void *);
        va_end(arguments);
    }
    return (void *)result_of(
        sys_call(SYS_mremap, (long)old, (long)old_bytes, (long)new_bytes, flags, new_address, 0));
}

int early_mprotect(void *address, size_t size_bytes, int protection)
{
    return (int)result_of(
        sys_call(SYS_mprotect, (long)address, (long)size_bytes, protection, 0, 0, 0));
}
