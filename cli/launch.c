/*
 * Launching. Parent and child speak over a socket that execution closes: the parent sends the
 * session, the child answers only when it failed.
 */
#include "launch.h"

#include "environment.h"
#include "memtrack/protocol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SESSION_MAX_BYTES = 2 * POOL_PATH_BYTES, /* uuid, token, path */
};

/* In the child. */
static _Noreturn void wait_and_execute(int fd, const struct target *target, const char *library,
                                       const struct signals *signals)
{
    char session[SESSION_MAX_BYTES];
    char **environment;
    ssize_t length;
    int failure;

    signals_give_back_most(signals);
    do {
        length = recv(fd, session, sizeof(session) - 1, 0);
    } while (length < 0 && errno == EINTR);
    if (length <= 0)
        _exit(0);
    session[length] = '\0';
    environment = environment_of_program(library, session);
    signals_give_back(signals);
    execvpe(target->path, target->arguments, environment); /* a path: PATH is not searched */
    failure = errno;
    send(fd, &failure, sizeof(failure), MSG_NOSIGNAL);
    _exit(0);
}

bool launch_fork(const struct target *target, const char *library, const struct signals *signals,
                 struct launch *ret_launch, struct error *err)
{
    int fds[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
        error_set(err, "no socket to start the program with: %s", strerror(errno));
        return false;
    }
    pid = fork();
    if (pid == 0) {
        close(fds[0]);
        wait_and_execute(fds[1], target, library, signals);
    }
    close(fds[1]);
    if (pid < 0) {
        error_set(err, "the program's process cannot be made: %s", strerror(errno));
        close(fds[0]);
        return false;
    }
    *ret_launch = (struct launch){.pid = pid, .fd = fds[0]};
    return true;
}

int launch_go(struct launch *launch, const char *session)
{
    int failure = 0;
    ssize_t length;

    send(launch->fd, session, strlen(session), MSG_NOSIGNAL);
    do {
        length = recv(launch->fd, &failure, sizeof(failure), 0);
    } while (length < 0 && errno == EINTR);
    close(launch->fd);
    launch->fd = -1;
    if (length != sizeof(failure))
        return 0; /* executed, or killed: both are seen by whoever waits for it */
    waitpid(launch->pid, NULL, 0);
    return failure;
}

void launch_give_up(struct launch *launch)
{
    if (launch->fd < 0)
        return;
    close(launch->fd);
    launch->fd = -1;
    waitpid(launch->pid, NULL, 0);
}
