/*
 * Memory for those who allocate before the real functions are known: the loader, mostly.
 *
 * A piece of static memory, cut from front to back, never given back. Its blocks live on in the
 * program, which frees and reallocates them like any other; so free() has to know them for ever.
 */
#ifndef HOOK_EARLY_H
#define HOOK_EARLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    EARLY_BYTES = 1 << 20, /* untouched pages cost nothing */
};

extern char early_memory[EARLY_BYTES] __attribute__((visibility("hidden")));

/* Whether a block is one of ours. Context: hot path. */
static inline bool early_owns(const void *block)
{
    return (uintptr_t)block - (uintptr_t)early_memory < EARLY_BYTES;
}

/* Return the size of such a block, as it was asked for. Context: any thread. */
size_t early_size(const void *block);

/*
 * The stand-ins. As their namesakes; once the memory is used up they find the real functions, and
 * fail with ENOMEM while that is going on.
 * Context: start-up.
 */
void *early_malloc(size_t size_bytes);
void early_free(void *block);
void *early_calloc(size_t count, size_t size_bytes);
void *early_realloc(void *block, size_t size_bytes);
void *early_memalign(size_t align_bytes, size_t size_bytes);
int early_posix_memalign(void **ret_block, size_t align_bytes, size_t size_bytes);
void *early_mmap(void *address, size_t size_bytes, int protection, int flags, int fd, off_t at);
int early_munmap(void *address, size_t size_bytes);
void *early_mremap(void *old, size_t old_bytes, size_t new_bytes, int flags, ...);
int early_mprotect(void *address, size_t size_bytes, int protection);

#endif
