/*
 * A child that sleeps until it is killed: a process to look at.
 */
#ifndef UNIT_SLEEPER_H
#define UNIT_SLEEPER_H

#include "test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Start one; it ends with the test. */
static inline pid_t start_sleeper(void)
{
    pid_t parent = getpid(), pid = fork();

    if (pid == 0) {
        sigset_t none;

        prctl(PR_SET_PDEATHSIG, SIGKILL); /* the test may fail, or have failed */
        if (getppid() != parent)
            _exit(0);
        sigemptyset(&none);
        sigsuspend(&none);
        _exit(0);
    }
    CHECK(pid > 0);
    return pid;
}

static inline void end_sleeper(pid_t pid)
{
    kill(pid, SIGKILL);
    CHECK_EQUAL(waitpid(pid, NULL, 0), pid);
}

#endif
