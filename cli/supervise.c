/*
 * Supervision: one loop over two descriptors, signals and the collector's socket. It uses no CPU
 * while nothing happens.
 */
#include "supervise.h"

#include "base/memory.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CONTINUE_GRACE_MS = 20, /* for the program to be continued by the signal that continued us */
};

/* Take what wait() has. Children that are not ours are reaped as well: we may be a container's init. */
static void reap(struct supervise *supervise)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid == supervise->session->collector) {
            supervise->collector_status = status;
            supervise->collector_has_ended = WIFEXITED(status) || WIFSIGNALED(status);
        } else if (pid == supervise->program && WIFSTOPPED(status)) {
            signals_stop_self(WSTOPSIG(status));
        } else if (pid == supervise->program) {
            supervise->status = status;
            supervise->has_ended = true;
        }
    }
}

/* Return the letter of a process's state; '\0' when it is gone. */
static char process_state(pid_t pid)
{
    char path[64], line[512];
    const char *behind_name;
    char state = '\0';
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    file = fopen(path, "re");
    if (file == NULL)
        return '\0';
    line[fread(line, 1, sizeof(line) - 1, file)] = '\0';
    fclose(file);
    behind_name = strrchr(line, ')');
    if (behind_name != NULL && behind_name[1] == ' ')
        state = behind_name[2];
    return state;
}

/* A shell continues the whole process group: then the program has had the signal already. */
static bool needs_continue(pid_t program)
{
    if (process_state(program) != 'T')
        return false;
    poll(NULL, 0, CONTINUE_GRACE_MS);
    return process_state(program) == 'T';
}

static void hand_on(const struct supervise *supervise, const struct signalfd_siginfo *signal)
{
    int number = (int)signal->ssi_signo;

    if (!signals_is_for_program(signal, supervise->program))
        return;
    if (number == SIGCONT && !needs_continue(supervise->program))
        return;
    if (signal->ssi_code == SI_QUEUE)
        sigqueue(supervise->program, number,
                 (union sigval){.sival_ptr = (void *)(uintptr_t)signal->ssi_ptr});
    else
        kill(supervise->program, number);
}

/* Read one signal. Returns its number, 0 when there is none. */
static int next_signal(const struct signals *signals, struct signalfd_siginfo *ret_signal)
{
    return read(signals->fd, ret_signal, sizeof(*ret_signal)) == sizeof(*ret_signal)
               ? (int)ret_signal->ssi_signo
               : 0;
}

static void wait_for_any(const struct supervise *supervise)
{
    struct pollfd fds[] = {
        {.fd = supervise->signals->fd, .events = POLLIN},
        {.fd = supervise->session->fd, .events = POLLIN}, /* -1 once it is closed: ignored */
    };

    poll(fds, 2, -1);
}

/* Take the collector's messages. Returns true when it has said its final word. */
static bool listen(struct supervise *supervise)
{
    for (;;) {
        struct session_message message;

        session_receive(supervise->session, &message);
        switch (message.word) {
        case SESSION_NOTHING:
            return false;
        case SESSION_READY:
            break;
        case SESSION_FAILED:
            if (supervise->failure_count < SUPERVISE_MOST_FAILURES)
                supervise->failures[supervise->failure_count++] = memory_copy_text(message.text);
            break;
        case SESSION_ERROR: /* it may still end the capture properly */
            supervise->last = message;
            break;
        case SESSION_CLOSED:
            if (supervise->last.word != SESSION_ERROR && supervise->last.word != SESSION_FINISHED)
                supervise->last = message;
            return true;
        case SESSION_FINISHED:
        case SESSION_RUNNING:
            supervise->last = message;
            return true;
        }
    }
}

void supervise_program(struct supervise *supervise)
{
    struct signalfd_siginfo signal;

    for (;;) {
        while (next_signal(supervise->signals, &signal) != 0)
            hand_on(supervise, &signal);
        reap(supervise); /* not only on SIGCHLD: one stands for many */
        if (supervise->has_ended)
            return;
        if (supervise->session->fd >= 0)
            listen(supervise);
        wait_for_any(supervise);
    }
}

/* Whether the user has had enough of waiting. */
static bool is_impatient(const struct supervise *supervise)
{
    struct signalfd_siginfo signal;
    int number;

    while ((number = next_signal(supervise->signals, &signal)) != 0) {
        if (number == SIGINT || number == SIGQUIT || number == SIGTERM || number == SIGHUP)
            return true;
    }
    return false;
}

void supervise_collector(struct supervise *supervise)
{
    struct signalfd_siginfo signal;

    /* What came with the program's end, Ctrl-C say, was meant for the program. */
    while (next_signal(supervise->signals, &signal) != 0)
        continue;
    session_send(supervise->session, "ended %d", supervise->status);
    while (!listen(supervise)) {
        wait_for_any(supervise);
        if (is_impatient(supervise)) {
            supervise->last.word = SESSION_NOTHING;
            return;
        }
    }
    reap(supervise);
}
