/*
 * Work in processes of its own. Runs in the tools.
 *
 * What holds: a result is taken when all of it has come. The process has
 * nothing of ours but its pipe, and ends by itself when it takes too long, asks for too much or we are gone.
 */
#include "symbol/apart.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    AT_A_TIME = 2,
    READ_BYTES = 64 << 10,
    PIPE_FD = 3,
};

#define MEMORY_BYTES (UINT64_C(32) << 30) /* of their own; files that are mapped do not count */

/* What all of them do. */
struct task {
    apart_work *work;
    void *user;
    uint32_t seconds;
};

static const uint8_t end_mark = 'E'; /* behind the bytes of a result */

/* A process at work; pid 0: none. */
struct worker {
    pid_t pid;
    int fd;
    size_t index; /* of its piece */
    uint8_t *bytes;
    size_t size_bytes, capacity;
};

static void close_from(unsigned first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0u, 0) == 0)
        return;
#endif
    for (long fd = sysconf(_SC_OPEN_MAX) - 1; fd >= (long)first; fd--)
        close((int)fd);
}

static void limit(int resource, uint64_t value)
{
    struct rlimit set = {.rlim_cur = (rlim_t)value, .rlim_max = (rlim_t)value};

    setrlimit(resource, &set); /* may be lower already, then that holds */
}

/* What a library calls at the end must not write what the parent has yet to write. */
static void leave_at_once(void)
{
    _exit(1);
}

static void close_all_but(int pipe_fd)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (pipe_fd != PIPE_FD)
        dup2(pipe_fd, PIPE_FD);
    for (int fd = 0; fd < PIPE_FD; fd++)
        dup2(null_fd, fd);
    close_from(PIPE_FD + 1);
}

static bool send_all(const uint8_t *bytes, size_t size_bytes)
{
    while (size_bytes > 0) {
        ssize_t written = write(PIPE_FD, bytes, size_bytes);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        size_bytes -= (size_t)written;
    }
    return true;
}

/* The life of a worker. */
static _Noreturn void be_worker(const struct task *task, size_t index, int pipe_fd)
{
    static const int signals[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL, SIGABRT,
                                  SIGINT,  SIGTERM, SIGPIPE, SIGXCPU};
    const uint8_t *bytes = NULL;
    size_t size_bytes = 0;
    bool is_done;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], SIG_DFL);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, task->seconds);
#ifndef __SANITIZE_ADDRESS__ /* which asks for far more, and uses little of it */
    limit(RLIMIT_DATA, MEMORY_BYTES);
#endif
    close_all_but(pipe_fd);
    if (atexit(leave_at_once) != 0)
        _exit(1);
    is_done = task->work(task->user, index, &bytes, &size_bytes) && send_all(bytes, size_bytes) &&
              send_all(&end_mark, sizeof(end_mark));
    _exit(is_done ? 0 : 1);
}

static bool start(struct worker *worker, const struct task *task, size_t index)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    *worker = (struct worker){.fd = ends[0], .index = index};
    worker->pid = fork();
    if (worker->pid == 0)
        be_worker(task, index, ends[1]);
    close(ends[1]);
    if (worker->pid > 0)
        return true;
    close(ends[0]);
    worker->pid = 0;
    return false;
}

/* The pipe has ended. How the process ended may be told to somebody else: the mark says that all came. */
static void end(struct worker *worker, struct apart_result *results)
{
    close(worker->fd);
    while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (worker->size_bytes > 0 && worker->bytes[worker->size_bytes - 1] == end_mark)
        results[worker->index] = (struct apart_result){worker->bytes, worker->size_bytes - 1};
    else
        free(worker->bytes);
    worker->pid = 0;
}

static void receive(struct worker *worker, struct apart_result *results)
{
    ssize_t count;

    worker->bytes =
        memory_grow(worker->bytes, &worker->capacity, worker->size_bytes + READ_BYTES, 1);
    count = read(worker->fd, worker->bytes + worker->size_bytes, READ_BYTES);
    if (count > 0)
        worker->size_bytes += (size_t)count;
    else if (count == 0 || errno != EINTR)
        end(worker, results);
}

/* Wait for one of those at work. */
static void wait_for_any(struct worker *workers, struct apart_result *results)
{
    struct pollfd fds[AT_A_TIME];

    for (size_t i = 0; i < AT_A_TIME; i++)
        fds[i] = (struct pollfd){.fd = workers[i].pid > 0 ? workers[i].fd : -1, .events = POLLIN};
    if (poll(fds, AT_A_TIME, -1) < 0)
        return; /* a signal */
    for (size_t i = 0; i < AT_A_TIME; i++)
        if (fds[i].revents != 0)
            receive(&workers[i], results);
}

void apart_run(apart_work *work, void *user, size_t count, uint32_t seconds,
               struct apart_result *results)
{
    struct task task = {work, user, seconds};
    struct worker workers[AT_A_TIME] = {0};
    size_t next = 0, busy;

    for (size_t i = 0; i < count; i++)
        results[i] = (struct apart_result){NULL, 0};
    do {
        busy = 0;
        for (size_t i = 0; i < AT_A_TIME; i++) {
            /* A piece that cannot be begun is not known; the next one may. */
            while (workers[i].pid == 0 && next < count)
                start(&workers[i], &task, next++);
            busy += workers[i].pid > 0;
        }
        if (busy > 0)
            wait_for_any(workers, results);
    } while (busy > 0 || next < count);
}
