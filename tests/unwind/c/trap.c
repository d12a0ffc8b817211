/*
 * Single steps: the processor stops behind each instruction of the program, and the stack is walked there.
 *
 * They begin where an allocation was compared and go on through whatever comes: the allocator, its
 * callers, the code that binds names late. What blocks all signals would end the program, as a
 * trap that is blocked does; so do the steps before it.
 */
#include "compare.h"

#include "unwind/objects.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>

#define TRAP_FLAG 0x100

static struct object own, libc, loader;

static bool lies_in(const struct object *object, uintptr_t address)
{
    return address - object->start < object->end - object->start;
}

static void stop_steps(ucontext_t *context)
{
    context->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static void handle_trap(int number, siginfo_t *info, void *context)
{
    uintptr_t pc = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    struct observer *observer;
    int error = errno;

    (void)number;
    (void)info;
    if (lies_in(&own, pc)) {
        /* Our own work is not stepped through; it begins the steps again. */
        if (is_at_work)
            stop_steps(context);
        return;
    }
    is_at_work = true;
    observer = observer_own();
    if (observer == NULL || observer->steps_left == 0) {
        stop_steps(context);
    } else {
        observer->steps_left--;
        if (lies_in(&libc, pc))
            count_one(&counts->instructions_libc);
        if (lies_in(&loader, pc))
            count_one(&counts->instructions_loader);
        compare_instruction(observer, context);
    }
    is_at_work = false;
    errno = error;
}

void trap_prepare(void)
{
    struct sigaction action = {.sa_sigaction = handle_trap, .sa_flags = SA_SIGINFO};

    if (plan.trap_each == 0)
        return;
    if (!objects_find((uintptr_t)&trap_prepare, &own) || !objects_find((uintptr_t)&setenv, &libc) ||
        !objects_find(getauxval(AT_BASE), &loader))
        abort();
    sigaction(SIGTRAP, &action, NULL);
}

static __attribute__((noinline)) void set_trap_flag(void)
{
    __asm__ volatile("pushfq; orq %0, (%%rsp); popfq" ::"i"(TRAP_FLAG) : "memory", "cc");
}

void trap_begin(struct observer *observer)
{
    if (plan.trap_each == 0)
        return;
    if (observer->steps_left == 0) {
        if (observer->count % plan.trap_each != 0)
            return;
        is_at_work = true;
        references_take_snapshot();
        is_at_work = false;
        observer->steps_left = plan.trap_length;
    }
    set_trap_flag();
}

/* End the steps of the calling thread: while the flag is set, the next instruction here does. */
static void end_steps(void)
{
    bool was_at_work = is_at_work;

    if (plan.trap_each == 0 || own.start == 0)
        return;
    is_at_work = true;
    observer_own()->steps_left = 0;
    is_at_work = was_at_work;
}

#define REAL(name_) ((__typeof__(name_) *)(uintptr_t)dlsym(RTLD_NEXT, #name_))

int pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    end_steps();
    return REAL(pthread_create)(ret_thread, attributes, start, argument);
}

int posix_spawn(pid_t *ret_process, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const *arguments,
                char *const *environment)
{
    end_steps();
    return REAL(posix_spawn)(ret_process, path, actions, attributes, arguments, environment);
}

int dlclose(void *library)
{
    end_steps();
    return REAL(dlclose)(library);
}

/* What is loaded here is not in the snapshot: steps begin behind it. */
void *dlopen(const char *path, int flags)
{
    bool was_at_work = is_at_work;
    void *library;

    end_steps();
    is_at_work = was_at_work || plan.trap_each != 0;
    library = REAL(dlopen)(path, flags);
    is_at_work = was_at_work;
    return library;
}
