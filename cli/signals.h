/*
 * Signals of `run`: all are blocked and read from a descriptor, so nothing is interrupted and none
 * is missed. The program gets back what was there before.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/types.h>

struct signals {
    int fd;                        /* signalfd, not blocking */
    sigset_t mask;                 /* before */
    struct sigaction child_action; /* of SIGCHLD before: ignored, it would lose exit codes */
};

/* Block all signals and open the descriptor. Returns false with err. Context: tool. */
bool signals_take(struct signals *ret_signals, struct error *err);

/*
 * In a child that will execute the program: everything as before, but stop signals wait until
 * signals_give_back(). Context: tool.
 */
void signals_give_back_most(const struct signals *signals);

/* Everything as before. Context: tool. */
void signals_give_back(const struct signals *signals);

/*
 * Returns true when a signal that `run` got is meant for the program, which has not got it itself:
 * sent by somebody to this process. What the terminal sends goes to the whole process group.
 * program: its pid. Context: tool.
 */
bool signals_is_for_program(const struct signalfd_siginfo *signal, pid_t program);

/* Stop this process as its child was stopped; returns when it is continued. Context: tool. */
void signals_stop_self(int signal_number);

/*
 * End this process by a signal, without a core file.
 * Returns only when the signal did not end it (it is the first process of a container).
 * Context: tool.
 */
void signals_end_self(int signal_number);

#endif
