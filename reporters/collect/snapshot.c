/*
 * Snapshots on their way through the collector's threads, and the thread that writes them.
 *
 * What holds: they are in one list, in the order in which they were asked for, and pass from thread to
 * thread by their stage, under the lock. What is in one belongs to the thread whose turn it is.
 */
#include "collect/snapshot.h"

#include "base/memory.h"
#include "collect/aggregate.h"
#include "collect/snapshot_file.h"
#include "collect/summary.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MOST_NUMBERS = 100000, /* tried for one name */
    NUMBER_BYTES = 24,
};

#define SUFFIX ".snapshot-"

enum stage {
    STAGE_ASKED,   /* the drain's turn */
    STAGE_DRAINED, /* the clock's */
    STAGE_TIMED,   /* the pack thread's */
    STAGE_PLACED,  /* our thread's */
    STAGE_ENDED,   /* the main thread's */
};

struct snapshot {
    struct snapshot *next;
    struct snapshots *all;
    enum stage stage;
    uint64_t number; /* 1, 2, ...: in the order of asking */
    uint64_t ticket, ended_ns, raw_bytes;
    char *path; /* as asked for, or as it was named; NULL: to be made */
    char *name; /* NULL: none */
    bool may_overwrite, is_done;
    struct records end; /* what stands behind the copy, but for the SUMMARY */
    struct sink_counts counts;
    struct capture_writer_point *point; /* NULL: the capture cannot be written, or is aggregated */
    struct error error;
};

struct snapshots {
    struct session *session;
    const char *capture_path;
    _Atomic uint64_t asked;
    pthread_mutex_t lock; /* guards the list, stages, and what follows */
    pthread_cond_t has_work;
    struct snapshot *first, **last;
    uint32_t count;
    bool is_ending;
    /* Main thread. */
    bool has_thread;
    pthread_t thread;
    /* Our thread. */
    uint32_t numbered; /* the last number in a name */
};

struct snapshots *snapshots_create(struct session *session, const char *capture_path)
{
    struct snapshots *snapshots = memory_allocate(1, sizeof(*snapshots));

    snapshots->session = session;
    snapshots->capture_path = capture_path;
    snapshots->last = &snapshots->first;
    pthread_mutex_init(&snapshots->lock, NULL);
    pthread_cond_init(&snapshots->has_work, NULL);
    return snapshots;
}

static void snapshot_free(struct snapshot *snapshot)
{
    capture_writer_point_free(snapshot->point);
    records_finish(&snapshot->end);
    free(snapshot->path);
    free(snapshot->name);
    free(snapshot);
}

/* Return the first in a stage, NULL when there is none. Under the lock. */
static struct snapshot *first_in(struct snapshots *snapshots, enum stage stage)
{
    struct snapshot *snapshot = snapshots->first;

    while (snapshot != NULL && snapshot->stage != stage)
        snapshot = snapshot->next;
    return snapshot;
}

uint64_t snapshots_asked(const struct snapshots *snapshots)
{
    /* Acquire: what was recorded before is seen behind it. */
    return snapshots == NULL ? 0 : atomic_load_explicit(&snapshots->asked, memory_order_acquire);
}

void snapshots_pass_drain(struct snapshots *snapshots, uint64_t asked,
                          const struct records *counters, const struct sink_counts *counts)
{
    struct snapshot *snapshot;

    pthread_mutex_lock(&snapshots->lock);
    while ((snapshot = first_in(snapshots, STAGE_ASKED)) != NULL && snapshot->number <= asked) {
        snapshot->counts = *counts;
        snapshot->ended_ns = session_now_ns() - snapshots->session->start_ns;
        snapshot->end.bytes = memory_allocate(counters->size_bytes + 1, 1);
        snapshot->end.size_bytes = snapshot->end.capacity_bytes = counters->size_bytes;
        snapshot->end.count = counters->count;
        if (counters->size_bytes > 0)
            memcpy(snapshot->end.bytes, counters->bytes, counters->size_bytes);
        snapshot->stage = STAGE_DRAINED;
    }
    pthread_mutex_unlock(&snapshots->lock);
    session_ring_clock(snapshots->session);
}

bool snapshots_want_clock(struct snapshots *snapshots)
{
    bool is_wanted;

    if (snapshots == NULL)
        return false;
    pthread_mutex_lock(&snapshots->lock);
    is_wanted = first_in(snapshots, STAGE_DRAINED) != NULL;
    pthread_mutex_unlock(&snapshots->lock);
    return is_wanted;
}

/* The pack thread has written all that the snapshot is of. */
static void note_place(void *user, const struct capture_writer *writer, uint64_t raw_bytes)
{
    struct snapshot *snapshot = user;
    struct snapshots *snapshots = snapshot->all;

    snapshot->raw_bytes = raw_bytes;
    if (snapshots->session->aggregate == NULL)
        snapshot->point = capture_writer_point(writer, &snapshot->error);
    pthread_mutex_lock(&snapshots->lock);
    snapshot->stage = STAGE_PLACED;
    pthread_cond_signal(&snapshots->has_work);
    pthread_mutex_unlock(&snapshots->lock);
}

void snapshots_pass_clock(struct snapshots *snapshots)
{
    struct snapshot *snapshot;

    pthread_mutex_lock(&snapshots->lock);
    while ((snapshot = first_in(snapshots, STAGE_DRAINED)) != NULL) {
        snapshot->stage = STAGE_TIMED;
        pack_put_visit(snapshots->session->pack, note_place, snapshot);
    }
    pthread_mutex_unlock(&snapshots->lock);
}

/* Whether a path is that of the capture itself, which is not to be replaced. */
static bool is_the_capture(const struct snapshot *snapshot)
{
    struct stat capture, other;
    int status = snapshot->point != NULL ? fstat(capture_writer_point_fd(snapshot->point), &capture)
                                         : stat(snapshot->all->capture_path,
                                                &capture); /* it is another file each time */

    return status == 0 && stat(snapshot->path, &other) == 0 && capture.st_dev == other.st_dev &&
           capture.st_ino == other.st_ino;
}

/* What is known to fail is said before anything is copied. */
static bool check_path(struct snapshot *snapshot)
{
    char *resolved = snapshot->may_overwrite ? realpath(snapshot->path, NULL) : NULL;
    struct stat status;

    if (resolved != NULL) { /* a link stays a link: what it leads to is replaced */
        free(snapshot->path);
        snapshot->path = resolved;
    }
    if (is_the_capture(snapshot)) {
        error_set(&snapshot->error, "%s: is the capture that is being written: give another name",
                  snapshot->path);
        return false;
    }
    if (stat(snapshot->path, &status) != 0)
        return true;
    if (!S_ISREG(status.st_mode)) {
        error_set(&snapshot->error, "%s: is not a regular file: give another name", snapshot->path);
        return false;
    }
    if (!snapshot->may_overwrite)
        error_set(&snapshot->error, "%s: is there already: give another name, or -f to replace it",
                  snapshot->path);
    return snapshot->may_overwrite;
}

/* "CAPTURE.snapshot-NUMBER", or "CAPTURE.snapshot-NAME" and, from 2 on, "-NUMBER". */
static char *make_path(const struct snapshot *snapshot, uint32_t number)
{
    const char *capture = snapshot->all->capture_path;
    const char *name = snapshot->name == NULL ? "" : snapshot->name;
    size_t size_bytes = strlen(capture) + strlen(SUFFIX) + strlen(name) + NUMBER_BYTES;
    char *path = memory_allocate(size_bytes, 1);

    if (snapshot->name == NULL)
        snprintf(path, size_bytes, "%s" SUFFIX "%u", capture, number);
    else if (number == 1)
        snprintf(path, size_bytes, "%s" SUFFIX "%s", capture, name);
    else
        snprintf(path, size_bytes, "%s" SUFFIX "%s-%u", capture, name, number);
    return path;
}

/* Give the file the first name that nothing has. */
static bool find_name(struct snapshot *snapshot, struct snapshot_file *file)
{
    struct snapshots *all = snapshot->all;
    uint32_t number = snapshot->name == NULL ? all->numbered + 1 : 1;
    bool is_taken = true;

    for (uint32_t tried = 0; tried < MOST_NUMBERS && is_taken; tried++, number++) {
        char *path = make_path(snapshot, number);

        if (snapshot_file_name(file, path, false, &is_taken, &snapshot->error)) {
            if (snapshot->name == NULL)
                all->numbered = number;
            snapshot->path = path;
            return true;
        }
        free(path);
    }
    return false;
}

/* Copy, and write the end. path: for messages. */
static bool fill_file(struct snapshot *snapshot, struct snapshot_file *file, const char *path)
{
    struct writer_section section = {.type = SECTION_RECORDS};
    struct aggregate *aggregate = snapshot->all->session->aggregate;
    struct capture_writer *writer;
    bool is_written;

    summary_write(&snapshot->end, &snapshot->counts, snapshot->raw_bytes, snapshot->ended_ns,
                  &(struct summary_end){.is_snapshot = true});
    if (aggregate != NULL)
        return aggregate_snapshot(aggregate, file->fd, path, snapshot->ended_ns, &snapshot->end,
                                  &snapshot->error);
    if (!snapshot_file_copy(file, capture_writer_point_fd(snapshot->point),
                            capture_writer_point_bytes(snapshot->point), path, &snapshot->error))
        return false;
    section.record_count = snapshot->end.count;
    section.payload = snapshot->end.bytes;
    section.payload_bytes = (uint32_t)snapshot->end.size_bytes;
    writer = capture_writer_resume(file->fd, path, snapshot->point);
    is_written = capture_writer_section(writer, &section, NULL);
    return capture_writer_close(writer, &snapshot->error) && is_written;
}

static bool make(struct snapshot *snapshot)
{
    struct snapshot_file file;
    bool is_aggregated = snapshot->all->session->aggregate != NULL;
    bool is_made, is_taken;
    char *path;

    if ((snapshot->point == NULL && !is_aggregated) ||
        (snapshot->path != NULL && !check_path(snapshot)))
        return false;
    path = snapshot->path != NULL ? memory_copy_text(snapshot->path) : make_path(snapshot, 1);
    is_made = snapshot_file_open(path, &file, &snapshot->error);
    if (is_made) {
        is_made = fill_file(snapshot, &file, path);
        if (is_made && snapshot->path == NULL)
            is_made = find_name(snapshot, &file);
        else if (is_made)
            is_made = snapshot_file_name(&file, snapshot->path, snapshot->may_overwrite, &is_taken,
                                         &snapshot->error);
        snapshot_file_close(&file);
    }
    free(path);
    return is_made;
}

static void *snapshots_run(void *argument)
{
    struct snapshots *snapshots = argument;

    (void)prctl(PR_SET_NAME, "memtrack-copy"); /* for who looks at it; no matter if not */
    pthread_mutex_lock(&snapshots->lock);
    for (;;) {
        struct snapshot *snapshot = first_in(snapshots, STAGE_PLACED);

        if (snapshot == NULL && snapshots->is_ending)
            break;
        if (snapshot == NULL) {
            pthread_cond_wait(&snapshots->has_work, &snapshots->lock);
            continue;
        }
        pthread_mutex_unlock(&snapshots->lock);
        snapshot->is_done = make(snapshot);
        pthread_mutex_lock(&snapshots->lock);
        snapshot->stage = STAGE_ENDED;
        session_wake_main(snapshots->session);
    }
    pthread_mutex_unlock(&snapshots->lock);
    return NULL;
}

/* Returns false with err when there can be no thread. */
static bool need_thread(struct snapshots *snapshots, struct error *err)
{
    int status;

    if (snapshots->has_thread)
        return true;
    status = pthread_create(&snapshots->thread, NULL, snapshots_run, snapshots);
    if (status != 0)
        error_set(err, "the collector cannot start a thread: %s", strerror(status));
    snapshots->has_thread = status == 0;
    return snapshots->has_thread;
}

bool snapshots_ask(struct snapshots *snapshots, const struct snapshot_request *request,
                   struct error *err)
{
    struct snapshot *snapshot;

    if (snapshots->count >= SNAPSHOT_MOST_AT_ONCE) {
        error_set(err, "%d snapshots are being made: try again", SNAPSHOT_MOST_AT_ONCE);
        return false;
    }
    if (!need_thread(snapshots, err))
        return false;
    snapshot = memory_allocate(1, sizeof(*snapshot));
    snapshot->all = snapshots;
    snapshot->ticket = request->ticket;
    snapshot->may_overwrite = request->may_overwrite;
    if (request->path != NULL)
        snapshot->path = memory_copy_text(request->path);
    if (request->name != NULL)
        snapshot->name = memory_copy_text(request->name);
    pthread_mutex_lock(&snapshots->lock);
    snapshot->number = atomic_load(&snapshots->asked) + 1;
    *snapshots->last = snapshot;
    snapshots->last = &snapshot->next;
    snapshots->count++;
    pthread_mutex_unlock(&snapshots->lock);
    /* Release: who counts it sees what it is of. */
    atomic_store_explicit(&snapshots->asked, snapshot->number, memory_order_release);
    pool_ring_doorbell(&snapshots->session->pool);
    return true;
}

bool snapshots_take_result(struct snapshots *snapshots, struct snapshot_result *ret_result)
{
    struct snapshot *snapshot;

    pthread_mutex_lock(&snapshots->lock);
    snapshot = snapshots->first;
    /* They end in their order. */
    if (snapshot != NULL && snapshot->stage == STAGE_ENDED) {
        snapshots->first = snapshot->next;
        if (snapshots->first == NULL)
            snapshots->last = &snapshots->first;
        snapshots->count--;
    } else {
        snapshot = NULL;
    }
    pthread_mutex_unlock(&snapshots->lock);
    if (snapshot == NULL)
        return false;
    *ret_result =
        (struct snapshot_result){.ticket = snapshot->ticket, .is_done = snapshot->is_done};
    if (snapshot->is_done) {
        ret_result->path = snapshot->path;
        snapshot->path = NULL;
    } else {
        ret_result->error = snapshot->error;
    }
    snapshot_free(snapshot);
    return true;
}

void snapshots_end(struct snapshots *snapshots)
{
    if (snapshots == NULL || !snapshots->has_thread)
        return;
    pthread_mutex_lock(&snapshots->lock);
    snapshots->is_ending = true;
    pthread_cond_signal(&snapshots->has_work);
    pthread_mutex_unlock(&snapshots->lock);
    pthread_join(snapshots->thread, NULL);
    snapshots->has_thread = false;
}

void snapshots_destroy(struct snapshots *snapshots)
{
    if (snapshots == NULL)
        return;
    while (snapshots->first != NULL) {
        struct snapshot *next = snapshots->first->next;

        snapshot_free(snapshots->first);
        snapshots->first = next;
    }
    pthread_cond_destroy(&snapshots->has_work);
    pthread_mutex_destroy(&snapshots->lock);
    free(snapshots);
}
