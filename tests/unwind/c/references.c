/*
 * The unwinders of others.
 *
 * libunwind is loaded apart, with names that nobody else sees: a library that depends on it has the
 * program's exceptions go through it. It holds a lock of its own while it asks the loader, which may hold
 * its own and allocate; so one thread at a time, and who finds it busy for long does without.
 */
#define UNW_LOCAL_ONLY
#include "compare.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <libunwind.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <ucontext.h>

#define TEXT_OF(name_)  #name_
#define TEXT_TO(name_)  TEXT_OF(name_)
#define LOOK_UP(name_)  ((void *)(uintptr_t)dlsym(library, TEXT_TO(name_)))
#define OWN_FRAMES_MAX  8
#define SNAPSHOT_MAX    512
#define PATIENCE_YIELDS 2000

static struct {
    int (*backtrace)(void **, int);
    int (*get_context)(unw_context_t *);
    int (*begin)(unw_cursor_t *, unw_context_t *, int);
    int (*step)(unw_cursor_t *);
    int (*get)(unw_cursor_t *, unw_regnum_t, unw_word_t *);
} library_of;

static atomic_flag is_busy = ATOMIC_FLAG_INIT;

static bool enter(void)
{
    for (unsigned i = 0; i < PATIENCE_YIELDS; i++) {
        if (!atomic_flag_test_and_set(&is_busy))
            return true;
        sched_yield();
    }
    return false;
}

static void leave(void)
{
    atomic_flag_clear(&is_busy);
}

/* A child must not be made while another thread has libunwind's own lock. */
static void before_fork(void)
{
    while (!enter())
        ;
}

bool references_prepare(void)
{
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    void *frames[4];

    if (library == NULL)
        return false;
    library_of.backtrace = (int (*)(void **, int))LOOK_UP(unw_backtrace);
    library_of.get_context = (int (*)(unw_context_t *))LOOK_UP(unw_tdep_getcontext);
    library_of.begin = (int (*)(unw_cursor_t *, unw_context_t *, int))LOOK_UP(unw_init_local2);
    library_of.step = (int (*)(unw_cursor_t *))LOOK_UP(unw_step);
    library_of.get = (int (*)(unw_cursor_t *, unw_regnum_t, unw_word_t *))LOOK_UP(unw_get_reg);
    if (library_of.backtrace == NULL || library_of.begin == NULL || library_of.step == NULL ||
        library_of.get == NULL || library_of.get_context == NULL)
        return false;
    /* What they get ready at their first use, they get here. */
    library_of.backtrace(frames, 4);
    backtrace(frames, 4);
    return pthread_atfork(before_fork, leave, leave) == 0;
}

/* Of a stack that begins in this library: take its own frames off. Returns false where it is not the one. */
static bool cut_own(struct stack *stack, uintptr_t first)
{
    uint32_t own = 0;

    while (own < stack->count && own < OWN_FRAMES_MAX && stack->frames[own] != first)
        own++;
    if (own == stack->count || own == OWN_FRAMES_MAX)
        own = 0;
    stack->count -= own;
    memmove(stack->frames, stack->frames + own, stack->count * sizeof(*stack->frames));
    while (stack->count > 0 && stack->frames[stack->count - 1] == 0)
        stack->count--;
    return true;
}

bool reference_glibc(struct stack *ret_stack, uintptr_t first)
{
    ret_stack->count = (uint32_t)backtrace((void **)ret_stack->frames, (int)ret_stack->room);
    return cut_own(ret_stack, first);
}

bool reference_backtrace(struct stack *ret_stack, uintptr_t first)
{
    if (plan.libunwind == 0)
        return reference_glibc(ret_stack, first);
    if (!enter())
        return false;
    ret_stack->count =
        (uint32_t)library_of.backtrace((void **)ret_stack->frames, (int)ret_stack->room);
    leave();
    return cut_own(ret_stack, first);
}

static void step_on(struct stack *stack, unw_cursor_t *cursor)
{
    while (stack->count < stack->room && library_of.step(cursor) > 0) {
        unw_word_t pc;

        library_of.get(cursor, UNW_REG_IP, &pc);
        stack->frames[stack->count++] = pc;
    }
}

bool reference_steps(struct stack *ret_stack, uintptr_t first)
{
    unw_context_t context;
    unw_cursor_t cursor;

    if (plan.libunwind == 0 || !enter())
        return false;
    library_of.get_context(&context);
    library_of.begin(&cursor, &context, 0);
    ret_stack->count = 0;
    step_on(ret_stack, &cursor);
    leave();
    return cut_own(ret_stack, first);
}

/* What the loader said when the steps began: it may be in the middle of taking its lock now. */
static struct dl_phdr_info snapshot[SNAPSHOT_MAX];
static unsigned snapshot_count;
static __thread bool uses_snapshot __attribute__((tls_model("initial-exec")));

static int take_one(struct dl_phdr_info *info, size_t size_bytes, void *unused)
{
    (void)size_bytes;
    (void)unused;
    if (snapshot_count < SNAPSHOT_MAX)
        snapshot[snapshot_count++] = *info;
    return 0;
}

void references_take_snapshot(void)
{
    snapshot_count = 0;
    dl_iterate_phdr(take_one, NULL);
}

int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
    static int (*real)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    int result = 0;

    if (!uses_snapshot) {
        if (real == NULL)
            real = (__typeof__(real))(uintptr_t)dlsym(RTLD_NEXT, "dl_iterate_phdr");
        return real(callback, data);
    }
    for (unsigned i = 0; i < snapshot_count && result == 0; i++)
        result = callback(&snapshot[i], sizeof(snapshot[i]), data);
    return result;
}

bool reference_from(struct stack *ret_stack, const void *context)
{
    unw_context_t copy;
    unw_cursor_t cursor;
    const ucontext_t *from = context;

    memcpy(&copy, context, sizeof(copy));
    if (!enter())
        return false;
    uses_snapshot = true;
    library_of.begin(&cursor, &copy, UNW_INIT_SIGNAL_FRAME);
    ret_stack->frames[0] = (uintptr_t)from->uc_mcontext.gregs[REG_RIP];
    ret_stack->count = 1;
    step_on(ret_stack, &cursor);
    uses_snapshot = false;
    leave();
    while (ret_stack->count > 0 && ret_stack->frames[ret_stack->count - 1] == 0)
        ret_stack->count--;
    return true;
}
