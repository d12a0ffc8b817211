/*
 * Cutting the capture while it is written.
 *
 * What holds: at any time either the main thread has all of this, or, from handing over to `is_switched`,
 * the pack thread has next, output, begun_bytes and what it writes into; the stage says which. Until the new file has
 * the name the old one is the capture, and lacks nothing: whatever fails, it is gone on with, and cut later.
 */
#include "collect/last.h"

#include "base/memory.h"
#include "collect/capture_name.h"
#include "collect/snapshot_file.h"
#include "collect/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LEAST_BYTES = 1 << 16, /* that have come since the last time: fewer are not worth a cut */
    FD_PATH_BYTES = 40,
    NUMBER_BYTES = 24,
    BEHIND_PARTS = 3, /* times what is to be held: then the cut is as urgent as the program */
};

/* The program comes first. Not of SCHED_IDLE: a cut must come to its end on a busy machine too. */
static const char nice_usual[] = "10", nice_behind[] = "0";

#define LEAST_NS UINT64_C(1000000000) /* between two cuts */

enum stage {
    STAGE_WAITING,   /* for more to be held */
    STAGE_CUTTING,   /* in the other process */
    STAGE_SWITCHING, /* the pack thread's turn, until is_switched */
};

struct last {
    uint64_t last_ns;
    struct session *session;
    struct control *control;
    struct capture_writer *writer;
    char *path; /* of the file itself: a link stays a link */
    enum stage stage;
    uint64_t begun_ns; /* what the capture holds begins there, since the start */
    uint64_t due_ns;   /* likewise: not before */
    uint64_t begun_bytes;
    pid_t cutter;
    int result_fd; /* -1: none */
    char result[sizeof(struct error)];
    size_t result_bytes;
    struct snapshot_file output;
    uint64_t from_bytes, cut_ns;
    struct capture_writer *next; /* of the output; of the file before when it is switched */
    bool has_next_name;          /* pack thread, until is_switched */
    struct error error;          /* likewise, when it has not */
    _Atomic bool is_switched;
    bool has_failed; /* and it has been told */
};

static uint64_t now_ns(const struct last *last)
{
    return session_now_ns() - last->session->start_ns;
}

static uint64_t interval_ns(const struct last *last)
{
    return last->last_ns > LEAST_NS ? last->last_ns : LEAST_NS;
}

struct last *last_begin(uint64_t last_ns, struct session *session, struct control *control,
                        struct capture_writer *writer, const char *path)
{
    struct last *last;

    if (last_ns == 0)
        return NULL;
    last = memory_allocate(1, sizeof(*last));
    last->last_ns = last_ns;
    last->session = session;
    last->control = control;
    last->writer = writer;
    last->path = realpath(path, NULL);
    if (last->path == NULL)
        last->path = memory_copy_text(path);
    last->result_fd = -1;
    last->output.fd = -1;
    last->due_ns = last_ns + interval_ns(last);
    return last;
}

/* Try again later. What has failed is told once. */
static void fail(struct last *last, const char *text)
{
    struct error whole;

    snapshot_file_close(&last->output);
    last->stage = STAGE_WAITING;
    last->due_ns = now_ns(last) + interval_ns(last);
    if (last->has_failed)
        return;
    last->has_failed = true;
    error_set(&whole, "--last: %s: the capture holds more", text);
    control_note_failure(last->control, whole.text);
}

/* A description of its own: the capture's lock is not the other process's. */
static int reopen(int fd)
{
    char path[FD_PATH_BYTES];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static int spawn(struct last *last, int from_fd, int result_fd, char *const *arguments)
{
    const int fds[] = {from_fd, last->output.fd, result_fd};
    const int wanted[] = {LAST_FROM_FD, LAST_TO_FD, LAST_RESULT_FD};
    posix_spawn_file_actions_t actions;
    int status;

    posix_spawn_file_actions_init(&actions);
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        posix_spawn_file_actions_adddup2(&actions, fds[i], wanted[i]);
    status = spawn_program("/proc/self/exe", arguments, environ, &actions, &last->cutter);
    posix_spawn_file_actions_destroy(&actions);
    return status;
}

/* Have a number above those that the process is to have, or one could take another's place. */
static int lift(int fd)
{
    int lifted = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LAST_RESULT_FD + 1);

    if (fd >= 0)
        close(fd);
    return lifted;
}

/* Start the process. Returns 0 or an errno. */
static int start_cutter(struct last *last, uint64_t size_bytes)
{
    char size[NUMBER_BYTES], time[NUMBER_BYTES], nice[NUMBER_BYTES];
    bool is_behind = last->cut_ns > last->begun_ns + (BEHIND_PARTS - 1) * interval_ns(last);
    char *arguments[] = {(char[]){"memtrack"}, (char[]){"cut"}, size, time, last->path, nice, NULL};
    int pipes[2] = {-1, -1}, from_fd = lift(reopen(capture_writer_fd(last->writer)));
    int status = from_fd < 0 || pipe2(pipes, O_CLOEXEC) < 0 ? errno : 0;

    snprintf(size, sizeof(size), "%" PRIu64, size_bytes);
    snprintf(time, sizeof(time), "%" PRIu64, last->cut_ns);
    snprintf(nice, sizeof(nice), "%s", is_behind ? nice_behind : nice_usual);
    if (status == 0) {
        pipes[1] = lift(pipes[1]);
        last->output.fd = lift(last->output.fd);
        status =
            pipes[1] < 0 || last->output.fd < 0 ? errno : spawn(last, from_fd, pipes[1], arguments);
    }
    if (from_fd >= 0)
        close(from_fd);
    if (pipes[1] >= 0)
        close(pipes[1]);
    if (status != 0 && pipes[0] >= 0)
        close(pipes[0]);
    if (status == 0)
        last->result_fd = pipes[0];
    return status;
}

static void begin_cut(struct last *last)
{
    uint64_t size_bytes = pack_file_bytes(last->session->pack);
    uint64_t time_ns = now_ns(last);
    struct error err;
    int status;

    if (time_ns < last->due_ns || size_bytes < last->begun_bytes + LEAST_BYTES)
        return;
    if (!snapshot_file_open(last->path, &last->output, &err)) {
        fail(last, err.text);
        return;
    }
    last->cut_ns = time_ns - last->last_ns;
    status = start_cutter(last, size_bytes);
    if (status != 0) {
        fail(last, strerror(status));
        return;
    }
    fcntl(last->result_fd, F_SETFL, O_NONBLOCK);
    last->result_bytes = 0;
    last->stage = STAGE_CUTTING;
}

/* Take up what the process says. Returns true when it says no more. */
static bool hear(struct last *last)
{
    for (;;) {
        char *at = last->result + last->result_bytes;
        size_t room = sizeof(last->result) - 1 - last->result_bytes;
        ssize_t count = read(last->result_fd, at, room);

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN)
            return false;
        if (count <= 0)
            return true;
        last->result_bytes += (size_t)count;
    }
}

/* The pack thread's part, between two sections. */
static void switch_file(void *user, const struct capture_writer *writer, uint64_t raw_bytes)
{
    struct last *last = user;
    int old_fd = capture_writer_fd(writer), fd = -1;

    (void)raw_bytes;
    last->has_next_name =
        capture_writer_append_from(last->next, writer, last->from_bytes, &last->error) &&
        capture_name_take(last->path, old_fd, &last->output, &fd, &last->error);
    if (fd >= 0)
        close(fd); /* the writer has its own, of the same description */
    if (last->has_next_name) {
        capture_writer_exchange(last->writer, last->next);
        last->begun_bytes = capture_writer_bytes(last->writer);
    }
    /* Release: who sees it may have all of it. */
    atomic_store_explicit(&last->is_switched, true, memory_order_release);
    session_wake_main(last->session);
}

/* Returns false with err. */
static bool begin_switch(struct last *last, struct error *err)
{
    uint64_t to_bytes;
    int fd;

    if (sscanf(last->result, LAST_DONE " %" SCNu64 " %" SCNu64 " %" SCNu64, &last->cut_ns,
               &last->from_bytes, &to_bytes) != 3) {
        error_set(err, "%s",
                  strncmp(last->result, LAST_FAILED " ", strlen(LAST_FAILED " ")) == 0
                      ? last->result + strlen(LAST_FAILED " ")
                      : "the process that cuts the capture was killed");
        return false;
    }
    fd = fcntl(last->output.fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        error_set(err, "%s", strerror(errno));
        return false;
    }
    last->next = capture_writer_go_on(fd, last->path, to_bytes, err);
    if (last->next == NULL) {
        close(fd);
        return false;
    }
    atomic_store_explicit(&last->is_switched, false, memory_order_relaxed);
    last->stage = STAGE_SWITCHING;
    pack_put_visit(last->session->pack, switch_file, last);
    return true;
}

static void reap(struct last *last)
{
    close(last->result_fd);
    last->result_fd = -1;
    while (waitpid(last->cutter, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void end_cut(struct last *last)
{
    struct error err;

    if (!hear(last))
        return;
    reap(last);
    last->result[last->result_bytes] = '\0';
    last->result[strcspn(last->result, "\n")] = '\0';
    if (!begin_switch(last, &err))
        fail(last, err.text);
}

static void *abandon(void *writer)
{
    capture_writer_abandon(writer);
    return NULL;
}

/*
 * Close a file that has no name any more. The kernel then gives its blocks back: a fifth of a second
 * was seen for some hundred megabytes, so nobody waits for it.
 */
static void close_apart(struct capture_writer *writer)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, abandon, writer) == 0)
        pthread_detach(thread);
    else
        capture_writer_abandon(writer);
}

static void end_switch(struct last *last)
{
    if (!atomic_load_explicit(&last->is_switched, memory_order_acquire))
        return;
    close_apart(last->next);
    last->next = NULL;
    if (!last->has_next_name) {
        fail(last, last->error.text);
        return;
    }
    snapshot_file_close(&last->output);
    last->stage = STAGE_WAITING;
    last->begun_ns = last->cut_ns;
    last->due_ns = last->begun_ns + last->last_ns + interval_ns(last);
}

void last_look(struct last *last)
{
    if (last == NULL)
        return;
    switch (last->stage) {
    case STAGE_WAITING:
        begin_cut(last);
        break;
    case STAGE_CUTTING:
        end_cut(last);
        break;
    case STAGE_SWITCHING:
        end_switch(last);
        break;
    }
}

int last_fd(const struct last *last)
{
    return last == NULL ? -1 : last->result_fd;
}

void last_stop(struct last *last)
{
    if (last == NULL || last->stage != STAGE_CUTTING)
        return;
    kill(last->cutter, SIGKILL);
    reap(last);
    last->stage = STAGE_WAITING;
}

void last_free(struct last *last)
{
    if (last == NULL)
        return;
    last_stop(last);
    if (last->next != NULL)
        capture_writer_abandon(last->next);
    snapshot_file_close(&last->output);
    free(last->path);
    free(last);
}
