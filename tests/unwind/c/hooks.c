/* The names that are interposed, and the beginning. Runs in the program's threads. */
#include "compare.h"

#include "unwind/objects.h"
#include "unwind/unwind.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/auxv.h>

enum {
    ROOM_DEFAULT = 4096,
    EACH_DEFAULT = 100,
    TRAP_LENGTH_DEFAULT = 500,
};

/* glibc's own names for its allocator. */
extern void *__libc_malloc(size_t size_bytes);
extern void *__libc_calloc(size_t count, size_t size_bytes);
extern void *__libc_realloc(void *block, size_t size_bytes);
extern void *__libc_memalign(size_t align_bytes, size_t size_bytes);
extern void __libc_free(void *block);

__thread bool is_at_work __attribute__((tls_model("initial-exec")));

static struct object loader;
static bool is_ready;

/* Compare from here. state: of the hook's caller. */
static void look(const struct unwind_state *state)
{
    struct observer *observer;
    int error = errno;

    if (!is_ready || is_at_work)
        return;
    is_at_work = true;
    observer = observer_own();
    if (observer != NULL)
        compare_stack(observer, state);
    is_at_work = false;
    errno = error;
    if (observer != NULL)
        trap_begin(observer);
}

/* In each hook: the caller's registers are known there alone. */
#define LOOK()                                                                               \
    do {                                                                                     \
        const uintptr_t *frame_ = __builtin_frame_address(0);                                \
        struct unwind_state state_ = {frame_[1], (uintptr_t)(frame_ + 2), frame_[0], false}; \
                                                                                             \
        look(&state_);                                                                       \
    } while (0)

void *malloc(size_t size_bytes)
{
    LOOK();
    return __libc_malloc(size_bytes);
}

void *calloc(size_t count, size_t size_bytes)
{
    LOOK();
    return __libc_calloc(count, size_bytes);
}

void *realloc(void *block, size_t size_bytes)
{
    LOOK();
    return __libc_realloc(block, size_bytes);
}

void *memalign(size_t align_bytes, size_t size_bytes)
{
    LOOK();
    return __libc_memalign(align_bytes, size_bytes);
}

void *aligned_alloc(size_t align_bytes, size_t size_bytes)
{
    LOOK();
    return __libc_memalign(align_bytes, size_bytes);
}

int posix_memalign(void **ret_block, size_t align_bytes, size_t size_bytes)
{
    int error = errno;
    void *block;

    LOOK();
    if (align_bytes % sizeof(void *) != 0 || (align_bytes & (align_bytes - 1)) != 0 ||
        align_bytes == 0)
        return EINVAL;
    block = __libc_memalign(align_bytes, size_bytes);
    if (block == NULL) {
        errno = error;
        return ENOMEM;
    }
    *ret_block = block;
    return 0;
}

void free(void *block)
{
    uintptr_t caller = (uintptr_t)__builtin_return_address(0);

    /* As lib/hook/malloc.c does. */
    if (is_ready && block != NULL && caller - loader.start < loader.end - loader.start) {
        unwind_note_free(block);
        count_one(&counts->forgotten);
    }
    __libc_free(block);
}

static uint32_t number_of(const char *name, uint32_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

static __attribute__((constructor)) void begin(void)
{
    plan.each = number_of("UNWIND_EACH", 1);
    plan.room = number_of("UNWIND_ROOM", ROOM_DEFAULT);
    plan.steps_each = number_of("UNWIND_STEPS", EACH_DEFAULT);
    plan.glibc_each = number_of("UNWIND_GLIBC", EACH_DEFAULT);
    plan.libunwind = number_of("UNWIND_LIBUNWIND", 1);
    plan.trap_each = number_of("UNWIND_TRAP_EACH", 0);
    plan.trap_length = number_of("UNWIND_TRAP_LENGTH", TRAP_LENGTH_DEFAULT);
    if (!report_prepare() || !unwind_prepare())
        return;
    if (!references_prepare() || !objects_find(getauxval(AT_BASE), &loader))
        abort();
    trap_prepare();
    is_ready = true;
}
