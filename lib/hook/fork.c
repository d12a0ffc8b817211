/*
 * Forks that the handlers of pthread_atfork() do not hear of.
 *
 * Runs in the program's threads. The mark says where the child's live blocks part from its parent's;
 * before a clone that shares the memory it is one too many, which does no harm, but costs. What a
 * program forks by syscall() has no mark: its blocks are its parent's when it is first seen.
 */
#include "hook/real.h"
#include "record/life.h"

#include <sched.h>
#include <stdarg.h>
#include <unistd.h>

HOOK pid_t _Fork(void)
{
    if (real._Fork == NULL)
        return real_is_missing();
    life_fork_ahead();
    return real._Fork();
}

HOOK int clone(int (*function)(void *argument), void *stack, int flags, void *argument, ...)
{
    va_list rest;
    pid_t *parent_tid, *child_tid;
    void *tls;

    /* As libc does: those that are not there are whatever the registers hold. */
    va_start(rest, argument);
    parent_tid = va_arg(rest, pid_t *);
    tls = va_arg(rest, void *);
    child_tid = va_arg(rest, pid_t *);
    va_end(rest);
    if (real.clone == NULL)
        return real_is_missing();
    if ((flags & CLONE_VM) == 0)
        life_fork_ahead();
    return real.clone(function, stack, flags, argument, parent_tid, tls, child_tid);
}
