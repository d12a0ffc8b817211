/*
 * Names of threads, and system call filters.
 *
 * Runs in the program's threads. Once a filter may be in force, nothing of ours makes a call that it
 * could refuse: threads spin where they would sleep. A filter is announced by its own prctl() or by
 * the one that has to come before it (PR_SET_NO_NEW_PRIVS, unless the program is root's).
 */
#include "base/syscalls.h"
#include "hook/filter.h"
#include "hook/real.h"
#include "record/life.h"
#include "record/process.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/prctl.h>

HOOK int prctl(int option, ...)
{
    unsigned long rest[4];
    va_list arguments;
    int result;

    /* As libc does: those that are not there are whatever the registers hold. */
    va_start(arguments, option);
    for (unsigned i = 0; i < 4; i++)
        rest[i] = va_arg(arguments, unsigned long);
    va_end(arguments);
    if (real.prctl == NULL)
        return real_is_missing();
    if (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP) {
        filter_remember();
        process_end_alone(); /* makes a call that may be refused later */
        sys_expect_filter(option == PR_SET_SECCOMP && rest[0] == SECCOMP_MODE_STRICT
                              ? SYS_FILTER_ALL
                              : SYS_FILTER_OTHERS);
    }
    /* SECCOMP_MODE_STRICT takes the counter away as well (linux kernel/seccomp.c). */
    if (option == PR_SET_TSC || option == PR_SET_SECCOMP)
        sys_use_coarse_clock();
    result = real.prctl(option, rest[0], rest[1], rest[2], rest[3]);
    if (result == 0 && option == PR_SET_NAME)
        life_thread_name((const char *)rest[0]);
    return result;
}

HOOK int pthread_setname_np(pthread_t thread, const char *name)
{
    int error = real.pthread_setname_np != NULL ? real.pthread_setname_np(thread, name) : ENOSYS;

    /* Another thread's number is not ours to know. */
    if (error == 0 && pthread_equal(thread, pthread_self()) != 0)
        life_thread_name(name);
    return error;
}
