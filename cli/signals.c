/*
 * Signals of `run`. It stands in the program's process group, as a shell's child does, so the
 * terminal's signals reach both; those sent to `run` alone are handed on.
 */
#include "signals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    ANCESTORS_MAX = 64,
};

bool signals_take(struct signals *ret_signals, struct error *err)
{
    struct sigaction normal = {.sa_handler = SIG_DFL};
    struct signals signals;
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &signals.mask);
    sigaction(SIGCHLD, &normal, &signals.child_action);
    signals.fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals.fd < 0) {
        error_set(err, "signals cannot be read: %s", strerror(errno));
        signals_give_back(&signals);
        return false;
    }
    *ret_signals = signals;
    return true;
}

void signals_give_back_most(const struct signals *signals)
{
    sigset_t mask = signals->mask;

    sigaction(SIGCHLD, &signals->child_action, NULL);
    sigaddset(&mask, SIGTSTP);
    sigaddset(&mask, SIGTTIN);
    sigaddset(&mask, SIGTTOU);
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

void signals_give_back(const struct signals *signals)
{
    sigaction(SIGCHLD, &signals->child_action, NULL);
    sigprocmask(SIG_SETMASK, &signals->mask, NULL);
}

/* Return the parent of a process; 0 when there is none or it is gone. */
static pid_t parent_of(pid_t pid)
{
    char path[64], line[1024];
    const char *behind_name;
    pid_t parent = 0;
    size_t length;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    file = fopen(path, "re");
    if (file == NULL)
        return 0;
    length = fread(line, 1, sizeof(line) - 1, file);
    fclose(file);
    line[length] = '\0';
    behind_name = strrchr(line, ')'); /* pid (name) state parent: the name may be anything */
    if (behind_name != NULL && strlen(behind_name) > 4)
        parent = (pid_t)strtol(behind_name + 4, NULL, 10);
    return parent;
}

static bool is_descendant(pid_t pid, pid_t ancestor)
{
    for (unsigned i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        if (pid == ancestor)
            return true;
        pid = parent_of(pid);
    }
    return false;
}

bool signals_is_for_program(const struct signalfd_siginfo *signal, pid_t program)
{
    switch (signal->ssi_signo) {
    case SIGCHLD:
    case SIGPIPE: /* of our own messages */
        return false;
    }
    if (signal->ssi_code == SI_KERNEL) {
        /* A timer set before this process image began; a hang-up that only the leader is told of. */
        return signal->ssi_signo == SIGALRM ||
               (signal->ssi_signo == SIGHUP && getsid(0) == getpid());
    }
    if (signal->ssi_code > 0)
        return false; /* about this process itself: limits of CPU time, file size, ... */
    /* `kill 0` inside the program reaches it and us: once is enough. */
    return signal->ssi_pid == 0 || !is_descendant((pid_t)signal->ssi_pid, program);
}

void signals_stop_self(int signal_number)
{
    struct sigaction normal = {.sa_handler = SIG_DFL}, before;
    sigset_t one, pending;

    /* Continued already: to stop now would be to sleep for good. */
    if (sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1)
        return;
    sigemptyset(&one);
    sigaddset(&one, signal_number);
    if (signal_number != SIGSTOP)
        sigaction(signal_number, &normal, &before);
    kill(getpid(), signal_number);
    sigprocmask(SIG_UNBLOCK, &one, NULL); /* it stops here, and goes on here */
    sigprocmask(SIG_BLOCK, &one, NULL);
    if (signal_number != SIGSTOP)
        sigaction(signal_number, &before, NULL);
}

void signals_end_self(int signal_number)
{
    static const struct rlimit no_core = {0, 0};
    struct sigaction normal = {.sa_handler = SIG_DFL};
    sigset_t one;

    /* The program has left its core file, if it was to; both, since a core pipe ignores the limit. */
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_DUMPABLE, 0);
    sigemptyset(&one);
    sigaddset(&one, signal_number);
    sigaction(signal_number, &normal, NULL);
    kill(getpid(), signal_number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
}
