/*
 * malloc, free and those that can be made of them.
 *
 * Runs in the program's threads. Each hook makes the real call and records; what the real call
 * returned, errno too, is what the program gets. malloc and free are the hot path: the usual event
 * is recorded in line, without a call.
 */
#include "hook/early.h"
#include "hook/malloc_way.h"
#include "hook/real.h"
#include "record/passed.h"
#include "record/track.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* C23; not in the headers of glibc 2.36. */
HOOK void free_sized(void *block, size_t size_bytes);
HOOK void free_aligned_sized(void *block, size_t align_bytes, size_t size_bytes);

/* Whether a block is nobody's business: none, or one of before the beginning. */
static inline bool is_untracked(const void *block)
{
    return unlikely(block == NULL) || unlikely(early_owns(block));
}

static __attribute__((cold, noinline)) void *malloc_failed(size_t size_bytes, const void *caller)
{
    if (size_bytes != 0)
        track_failed(DOMAIN_HEAP, size_bytes, ALLOCATOR_MALLOC, caller);
    return NULL;
}

/* Where there are no stacks to walk. */
static void *malloc_plain(size_t size_bytes)
{
    void *block = real.malloc(size_bytes);

    if (unlikely(block == NULL))
        return malloc_failed(size_bytes, __builtin_return_address(0));
    return (void *)track_allocated_plain(DOMAIN_HEAP, (uintptr_t)block, size_bytes,
                                         ALLOCATOR_MALLOC);
}

/* Of its own: a caller that is asked for in several places is asked for early, and kept in a register. */
void *malloc_with_stack(size_t size_bytes, void *block)
{
    if (unlikely(block == NULL))
        return malloc_failed(size_bytes, __builtin_return_address(0));
    return (void *)track_allocated_stack(DOMAIN_HEAP, (uintptr_t)block, size_bytes,
                                         ALLOCATOR_MALLOC, __builtin_return_address(0));
}

/* With stacks, or where small blocks are left out. */
static void *malloc_with_mode(size_t size_bytes)
{
    void *block = real.malloc(size_bytes);

    if (likely(block != NULL) &&
        likely(track_try_same_stack(DOMAIN_HEAP, (uintptr_t)block, size_bytes, ALLOCATOR_MALLOC)))
        return block;
    return malloc_with_stack(size_bytes, block);
}

/* With native stacks. */
static void *malloc_native(size_t size_bytes)
{
    void *block = real.malloc(size_bytes);

    if (unlikely(block == NULL))
        return malloc_failed(size_bytes, __builtin_return_address(0));
    return (void *)track_allocated_from_here(DOMAIN_HEAP, (uintptr_t)block, size_bytes,
                                             ALLOCATOR_MALLOC);
}

static __attribute__((cold, noinline)) void *malloc_picked(size_t size_bytes, const void *caller)
{
    void *block = real.malloc(size_bytes);

    if (unlikely(block == NULL))
        return malloc_failed(size_bytes, caller);
    return (void *)track_allocated_picked(DOMAIN_HEAP, (uintptr_t)block, size_bytes,
                                          ALLOCATOR_MALLOC, caller);
}

/* Of a sample: nearly every block is passed over, which is found out first: that keeps least. */
static void *malloc_sampled(size_t size_bytes)
{
    void *block;

    if (unlikely(!sample_passes(&context_own->sample, size_bytes)))
        return malloc_picked(size_bytes, __builtin_return_address(0));
    block = real.malloc(size_bytes);
    return likely(block != NULL) ? block : malloc_failed(size_bytes, __builtin_return_address(0));
}

/* The same where the sample began in the midst of the recording. */
static void *malloc_degraded(size_t size_bytes)
{
    void *block;

    if (unlikely(!sample_passes(&context_own->sample, size_bytes)))
        return malloc_picked(size_bytes, __builtin_return_address(0));
    block = real.malloc(size_bytes);
    if (unlikely(block == NULL))
        return malloc_failed(size_bytes, __builtin_return_address(0));
    passed_put(DOMAIN_HEAP, (uintptr_t)block);
    return block;
}

/*
 * A thread that goes the plain way once more walks no stack, and has told the reader of none yet. Release
 * and acquire: with the way it sees what is known of the interpreter.
 */
static malloc_way *_Atomic current_malloc = malloc_plain;

void hook_follow_mode(void)
{
    unsigned mode = process.wanted_mode;
    malloc_way *way = mode == 0 ? malloc_plain : malloc_with_mode;

    /* Each release is looked at: for the sample's sake, or whose it is. */
    if ((mode & (PROCESS_SAMPLES | PROCESS_WALKS_NATIVE)) != 0)
        __atomic_store_n(&process.apart_bytes, SIZE_MAX, __ATOMIC_RELAXED);
    if ((mode & PROCESS_SAMPLES) != 0) {
        way = (mode & PROCESS_DEGRADES) != 0 ? malloc_degraded : malloc_sampled;
    } else if ((mode & PROCESS_WALKS_NATIVE) != 0) {
        way = malloc_native;
    } else if (mode == PROCESS_WALKS_PYTHON && malloc_way_of_python() != NULL) {
        way = malloc_way_of_python();
    }
    atomic_store_explicit(&current_malloc, way, memory_order_release);
}

HOOK void *malloc(size_t size_bytes)
{
    return atomic_load_explicit(&current_malloc, memory_order_acquire)(size_bytes);
}

/* gcc misses the attributes that stdlib.h gives malloc; this is only its address. */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmissing-attributes"
#endif
__typeof__(hook_malloc) hook_malloc __attribute__((alias("malloc")));

static __attribute__((noinline)) void free_slow(void *block, const void *caller)
{
    if (!context_is_silent())
        track_released_slow(DOMAIN_HEAP, (uintptr_t)block, ALLOCATOR_FREE, caller);
    real.free(block);
}

/* A block of before the beginning, or any one of a program that is sampled. */
static inline __attribute__((always_inline)) void free_of_sample(void *block, const void *caller)
{
    if ((process.wanted_mode & PROCESS_DEGRADES) != 0) {
        if (passed_take(DOMAIN_HEAP, (uintptr_t)block))
            real.free(block);
        else if (!early_owns(block))
            free_slow(block, caller);
    } else if (likely(!sample_set_may_have((uintptr_t)block))) {
        real.free(block);
    } else if (!early_owns(block)) {
        free_slow(block, caller);
    }
}

/*
 * Any one of a program with native stacks: what the loader frees may be what it knew of a library that it
 * has unmapped. It does so before it can map another one there, and holds its lock.
 */
static __attribute__((noinline)) void free_with_unwinder(void *block, const void *caller)
{
    if (unlikely(process_is_loader(caller)))
        unwind_note_free(block);
    if (unlikely((process.wanted_mode & PROCESS_SAMPLES) != 0))
        free_of_sample(block, caller);
    else if (unlikely(early_owns(block)))
        return;
    else if (likely(track_try_release(DOMAIN_HEAP, (uintptr_t)block, ALLOCATOR_FREE)))
        real.free(block);
    else
        free_slow(block, caller);
}

static __attribute__((noinline)) void free_apart(void *block, const void *caller)
{
    if (unlikely((process.wanted_mode & PROCESS_WALKS_NATIVE) != 0))
        free_with_unwinder(block, caller);
    else
        free_of_sample(block, caller);
}

HOOK void free(void *block)
{
    if (unlikely(block == NULL))
        return;
    if (unlikely((uintptr_t)block - process.apart_start < process.apart_bytes))
        free_apart(block, __builtin_return_address(0));
    else if (likely(track_try_release(DOMAIN_HEAP, (uintptr_t)block, ALLOCATOR_FREE)))
        real.free(block);
    else
        free_slow(block, __builtin_return_address(0));
}

HOOK void free_sized(void *block, size_t size_bytes)
{
    if (is_untracked(block))
        return;
    track_released(DOMAIN_HEAP, (uintptr_t)block, ALLOCATOR_FREE_SIZED);
    if (real.free_sized != NULL) {
        struct context *context = context_mute();

        real.free_sized(block, size_bytes);
        context_unmute(context);
    } else {
        real.free(block);
    }
}

HOOK void free_aligned_sized(void *block, size_t align_bytes, size_t size_bytes)
{
    if (is_untracked(block))
        return;
    track_released(DOMAIN_HEAP, (uintptr_t)block, ALLOCATOR_FREE_ALIGNED_SIZED);
    if (real.free_aligned_sized != NULL) {
        struct context *context = context_mute();

        real.free_aligned_sized(block, align_bytes, size_bytes);
        context_unmute(context);
    } else {
        real.free(block);
    }
}

HOOK void *calloc(size_t count, size_t size_bytes)
{
    struct context *context = context_mute();
    void *block = real.calloc(count, size_bytes);

    context_unmute(context);
    if (likely(block != NULL)) {
        track_allocated(DOMAIN_HEAP, (uintptr_t)block, count * size_bytes, ALLOCATOR_CALLOC);
    } else if (count != 0 && size_bytes != 0) {
        size_t total_bytes;

        if (__builtin_mul_overflow(count, size_bytes, &total_bytes))
            total_bytes = SIZE_MAX;
        track_failed(DOMAIN_HEAP, total_bytes, ALLOCATOR_CALLOC, __builtin_return_address(0));
    }
    return block;
}

/* Move a block of before the beginning into the real allocator. NULL: out of memory. */
static void *adopt_early(void *block, size_t size_bytes)
{
    size_t old_bytes = early_size(block);
    void *moved = real.malloc(size_bytes);

    if (moved != NULL)
        memcpy(moved, block, old_bytes < size_bytes ? old_bytes : size_bytes);
    return moved;
}

/* The real call, muted: some allocators call their own malloc and free in it. */
static inline void *real_realloc(void *old, size_t size_bytes)
{
    struct context *context = context_mute();
    void *block = real.realloc(old, size_bytes);

    context_unmute(context);
    return block;
}

/*
 * realloc to no bytes: a release that returns NULL, or a new block, or a failure that leaves the old
 * one alone. Only errno tells the first and the last apart, so it is cleared before the call, and
 * left as it was when there is nothing to say.
 */
static __attribute__((cold, noinline)) void *realloc_to_nothing(void *old, enum allocator allocator,
                                                                const void *caller)
{
    int errno_before = errno, error;
    uintptr_t released = 0;
    void *block;

    if (old != NULL)
        released = track_released(DOMAIN_HEAP, (uintptr_t)old, allocator);
    errno = 0;
    block = real_realloc(old, 0);
    error = errno;
    if (error == 0)
        errno = errno_before;
    if (block != NULL)
        track_allocated(DOMAIN_HEAP, (uintptr_t)block, 0, allocator);
    else if (error == ENOMEM && released != 0)
        track_undone(DOMAIN_HEAP, released, 0, allocator, caller);
    return block;
}

static inline __attribute__((always_inline)) void *reallocate(void *old, size_t size_bytes,
                                                              enum allocator allocator)
{
    bool is_early = early_owns(old);
    uintptr_t released = 0;
    void *block;

    if (unlikely(size_bytes == 0) && !is_early)
        return realloc_to_nothing(old, allocator, __builtin_return_address(0));
    if (likely(old != NULL) && likely(!is_early))
        released = track_released(DOMAIN_HEAP, (uintptr_t)old, allocator);
    block = unlikely(is_early) ? adopt_early(old, size_bytes) : real_realloc(old, size_bytes);
    if (likely(block != NULL)) {
        track_allocated(DOMAIN_HEAP, (uintptr_t)block, size_bytes, allocator);
    } else {
        if (released != 0)
            track_undone(DOMAIN_HEAP, released, 0, allocator, __builtin_return_address(0));
        track_failed(DOMAIN_HEAP, size_bytes, allocator, __builtin_return_address(0));
    }
    return block;
}

HOOK void *realloc(void *old, size_t size_bytes)
{
    return reallocate(old, size_bytes, ALLOCATOR_REALLOC);
}

HOOK void *reallocarray(void *old, size_t count, size_t size_bytes)
{
    size_t total_bytes;

    if (__builtin_mul_overflow(count, size_bytes, &total_bytes)) {
        track_failed(DOMAIN_HEAP, SIZE_MAX, ALLOCATOR_REALLOCARRAY, __builtin_return_address(0));
        errno = ENOMEM;
        return NULL;
    }
    /* No need of the real one: what it adds to realloc() is the check above. */
    return reallocate(old, total_bytes, ALLOCATOR_REALLOCARRAY);
}
