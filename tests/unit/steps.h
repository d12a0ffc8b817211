/*
 * Stopping a scene at each of its instructions, one after the other, and letting a signal arrive
 * there. A race's window is met for certain, not by luck.
 *
 * A scene runs in a child. It marks the part that is stepped with steps_begin() and steps_end(), has
 * a handler for SIGUSR1, and checks afterwards what came of it. It is run again for every step, so
 * what it does has to be short.
 */
#ifndef UNIT_STEPS_H
#define UNIT_STEPS_H

#include "test.h"

#include <signal.h>
#include <sys/ptrace.h>

enum {
    STEPS_LIMIT = 100000,
    STEPS_LEAST = 20, /* fewer: what was to be stepped was not */
};

/* Ends the child when it is not traced. */
static inline void steps_begin(void)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(1);
    raise(SIGSTOP);
}

static inline void steps_end(void)
{
    raise(SIGSTOP);
}

/*
 * Run the scene in a child and let the signal arrive after a number of steps.
 * Returns true when the child had reached the end of the part before that.
 */
static inline bool steps_run(void (*scene)(void), unsigned step_count)
{
    bool is_past_end = false;
    int status;
    pid_t child = fork();

    CHECK(child >= 0);
    if (child == 0) {
        scene();
        fflush(stdout);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
    for (unsigned i = 0; i < step_count && !is_past_end; i++) {
        CHECK(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0);
        CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
        is_past_end = WSTOPSIG(status) == SIGSTOP;
    }
    CHECK(ptrace(PTRACE_CONT, child, NULL, (void *)(intptr_t)SIGUSR1) == 0);
    CHECK(waitpid(child, &status, 0) == child);
    while (WIFSTOPPED(status)) {
        CHECK(ptrace(PTRACE_CONT, child, NULL, NULL) == 0);
        CHECK(waitpid(child, &status, 0) == child);
    }
    test_case("signal after %u instructions", step_count);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return is_past_end;
}

/* Run the scene with the signal at every instruction of the part. */
static inline void steps_run_all(void (*scene)(void))
{
    unsigned step_count = 0;

    while (!steps_run(scene, step_count)) {
        step_count++;
        CHECK(step_count < STEPS_LIMIT);
    }
    CHECK(step_count > STEPS_LEAST);
}

#endif
