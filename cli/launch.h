/*
 * The program as a child: forked first, so that its pid is known, executed when all is ready.
 */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include "base/error.h"
#include "signals.h"
#include "target.h"

#include <stdbool.h>
#include <sys/types.h>

struct launch {
    pid_t pid;
    int fd; /* to the child; -1 once it has been executed or given up */
};

/*
 * Fork a child that waits to become the program.
 * library: to be preloaded. All pointers are used by the child only.
 * Returns false with err. Context: tool.
 */
bool launch_fork(const struct target *target, const char *library, const struct signals *signals,
                 struct launch *ret_launch, struct error *err);

/*
 * Let the child execute the program.
 * session: value of MEMTRACK_SESSION.
 * Returns 0, or the errno with which the program could not be executed; the child is gone then.
 * Context: tool.
 */
int launch_go(struct launch *launch, const char *session);

/* Let the child end without having executed anything. Context: tool. */
void launch_give_up(struct launch *launch);

#endif
