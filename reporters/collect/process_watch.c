/*
 * A pidfd and nothing else. Main thread.
 */
#include "collect/process_watch.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

bool process_watch_begin(struct process_watch *watch, uint32_t pid)
{
    process_watch_end(watch);
    if (pid == 0)
        return false;
    watch->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    return process_watch_is_alive(watch);
}

bool process_watch_is_alive(struct process_watch *watch)
{
    struct pollfd end = {.fd = watch->pidfd, .events = POLLIN};

    if (watch->pidfd < 0)
        return false;
    if (poll(&end, 1, 0) == 0)
        return true;
    process_watch_end(watch);
    return false;
}

void process_watch_end(struct process_watch *watch)
{
    if (watch->pidfd >= 0)
        close(watch->pidfd);
    watch->pidfd = -1;
}
