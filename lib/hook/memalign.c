/*
 * Blocks of a given alignment.
 *
 * Runs in the program's threads. Each is muted around the real call: some allocators make one of
 * these from another. Where libc lacks one (musl: pvalloc) nobody calls it.
 */
#include "hook/real.h"
#include "record/track.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

/* Record what the real call returned; NULL with ENOMEM is a failure, others are mistakes. */
static inline __attribute__((always_inline)) void *record(void *block, size_t size_bytes,
                                                          enum allocator allocator)
{
    if (likely(block != NULL))
        track_allocated(DOMAIN_HEAP, (uintptr_t)block, size_bytes, allocator);
    else if (size_bytes != 0 && errno == ENOMEM)
        track_failed(DOMAIN_HEAP, size_bytes, allocator, __builtin_return_address(0));
    return block;
}

HOOK int posix_memalign(void **ret_block, size_t align_bytes, size_t size_bytes)
{
    struct context *context = context_mute();
    int error = real.posix_memalign(ret_block, align_bytes, size_bytes);

    context_unmute(context);
    if (likely(error == 0) && *ret_block != NULL)
        track_allocated(DOMAIN_HEAP, (uintptr_t)*ret_block, size_bytes, ALLOCATOR_POSIX_MEMALIGN);
    else if (error == ENOMEM)
        track_failed(DOMAIN_HEAP, size_bytes, ALLOCATOR_POSIX_MEMALIGN,
                     __builtin_return_address(0));
    return error;
}

HOOK void *aligned_alloc(size_t align_bytes, size_t size_bytes)
{
    struct context *context = context_mute();
    void *block = real.aligned_alloc(align_bytes, size_bytes);

    context_unmute(context);
    return record(block, size_bytes, ALLOCATOR_ALIGNED_ALLOC);
}

HOOK void *memalign(size_t align_bytes, size_t size_bytes)
{
    struct context *context = context_mute();
    void *block = real.memalign(align_bytes, size_bytes);

    context_unmute(context);
    return record(block, size_bytes, ALLOCATOR_MEMALIGN);
}

static void *not_there(void)
{
    errno = ENOMEM;
    return NULL;
}

HOOK void *valloc(size_t size_bytes)
{
    struct context *context = context_mute();
    void *block = real.valloc != NULL ? real.valloc(size_bytes) : not_there();

    context_unmute(context);
    return record(block, size_bytes, ALLOCATOR_VALLOC);
}

HOOK void *pvalloc(size_t size_bytes)
{
    struct context *context = context_mute();
    void *block = real.pvalloc != NULL ? real.pvalloc(size_bytes) : not_there();

    context_unmute(context);
    return record(block, size_bytes, ALLOCATOR_PVALLOC);
}
