/*
 * The functions of memtrack.h: what programs call that know of us.
 *
 * Runs in the program's threads. Nothing here is on the way of malloc: a pool's block is recorded as
 * any other, in an address space of its own.
 */
#define MEMTRACK_NO_MACROS

#include "memtrack/memtrack.h"

#include "hook/real.h"
#include "record/mark.h"
#include "record/process.h"
#include "record/request.h"
#include "record/track.h"

HOOK void memtrack_mark(const char *name)
{
    if (name != NULL)
        mark_record(MARK_INSTANT, name, 0, __builtin_return_address(0));
}

HOOK unsigned long memtrack_phase_begin(const char *name)
{
    uint64_t phase = name != NULL ? mark_next_phase() : 0;

    if (phase != 0)
        mark_record(MARK_PHASE_BEGIN, name, phase, __builtin_return_address(0));
    return phase;
}

HOOK void memtrack_phase_end(unsigned long phase)
{
    if (phase != 0)
        mark_record(MARK_PHASE_END, NULL, phase, __builtin_return_address(0));
}

HOOK void memtrack_pool_alloc(const char *pool, const void *address, size_t size_bytes)
{
    const void *caller = __builtin_return_address(0);
    enum allocator allocator;

    if (pool == NULL || address == NULL || context_is_silent())
        return;
    allocator = mark_pool_allocator(pool, caller);
    if (size_bytes > BLOCK_BYTES_MASK)
        size_bytes = BLOCK_BYTES_MASK;
    track_allocated(DOMAIN_POOL, (uintptr_t)address, size_bytes, allocator);
}

HOOK void memtrack_pool_free(const char *pool, const void *address)
{
    if (pool == NULL || address == NULL || context_is_silent())
        return;
    track_released(DOMAIN_POOL, (uintptr_t)address,
                   mark_pool_allocator(pool, __builtin_return_address(0)));
}

HOOK void memtrack_start(void)
{
    request_make(REQUEST_START, NULL);
}

HOOK void memtrack_stop(void)
{
    request_make(REQUEST_STOP, NULL);
}

HOOK void memtrack_snapshot(const char *name)
{
    request_make(REQUEST_SNAPSHOT, name);
}
