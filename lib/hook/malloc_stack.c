/*
 * The ways of malloc() for Python programs: one for each family of interpreters.
 *
 * Runs in the program's threads. In each the usual event, of a short stack that is what it was, is
 * recorded in line: with the family's layout as constants, and without a call.
 */
#include "hook/malloc_way.h"
#include "hook/real.h"
#include "record/track.h"

/* The same, by calls; their caller is the program. */
static __attribute__((noinline)) void *malloc_of_deep_stack(size_t size_bytes, void *block)
{
    return (void *)track_allocated_deep(DOMAIN_HEAP, (uintptr_t)block, size_bytes, ALLOCATOR_MALLOC,
                                        __builtin_return_address(0));
}

static __attribute__((noinline)) void *malloc_of_changed_stack(size_t size_bytes, void *block)
{
    return (void *)track_allocated_python(DOMAIN_HEAP, (uintptr_t)block, size_bytes,
                                          ALLOCATOR_MALLOC, __builtin_return_address(0));
}

static inline __attribute__((always_inline)) void *malloc_of_family(size_t size_bytes,
                                                                    enum frame_family family)
{
    void *block = real.malloc(size_bytes);
    enum track_attempt attempt;

    if (unlikely(block == NULL))
        return malloc_with_stack(size_bytes, NULL);
    attempt =
        track_try_short_stack(DOMAIN_HEAP, (uintptr_t)block, size_bytes, ALLOCATOR_MALLOC, family);
    if (likely(attempt == ATTEMPT_RECORDED))
        return block;
    if (attempt == ATTEMPT_NOT_SHORT)
        return malloc_of_deep_stack(size_bytes, block);
    return malloc_of_changed_stack(size_bytes, block);
}

#define WAY(family_, suffix_)                         \
    static void *malloc##suffix_(size_t size_bytes)   \
    {                                                 \
        return malloc_of_family(size_bytes, family_); \
    }

FRAME_FAMILIES(WAY)

#undef WAY

malloc_way *malloc_way_of_python(void)
{
#define ROW(family_, suffix_) [family_] = malloc##suffix_,
    static malloc_way *const ways[FRAMES_COUNT + 1] = {FRAME_FAMILIES(ROW)[FRAMES_COUNT] = NULL};
#undef ROW

    return ways[python_at_hand.family];
}
