/*
 * Telling, forgetting, storing.
 *
 * What holds: the lock guards the model and the file; whoever uses them has it. The thread gives it
 * back between two steps, so nobody waits for it longer than a step and a store take. What has not been
 * told yet is never forgotten.
 */
#include "collect/aggregate.h"

#include "base/memory.h"
#include "collect/proc_files.h"
#include "collect/room.h"
#include "memtrack/format.h"
#include "profile/model.h"
#include "profile/online.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    STEP_EVENTS = 1 << 15,  /* between two looks at everything else: a millisecond */
    FORGET_BYTES = 1 << 20, /* at once */
    MOST_UNREAD_MIB = 128,  /* and at most: */
    UNREAD_PART = 32,       /* of the memory that there is; 0.1 s of 20 million events a second */
    MEMORY_PART = 4,        /* of what there is may be taken by the model, and */
    LEFT_PART = 32,         /* ... not when less than this is left */
    AGE_PART = 8,           /* of how old the recording is, until that is more */
    STORE_SHARE = 10,       /* storing takes at most 1 / so much of the time */
    QUIET_STORES = 10,      /* while nothing happens: each so many times STORE_NS */
};
#define ROOM_NS  UINT64_C(1000000000) /* between two looks how much memory there is */
#define STORE_NS UINT64_C(1000000000) /* between two stores, at most; at first: */
#define SOON_NS  UINT64_C(50000000)

struct aggregate {
    struct session *session;
    const struct capture_writer *passing;
    const char *path;
    pthread_t thread;
    bool is_running; /* main thread */
    _Atomic bool is_stopping;
    pthread_mutex_t lock;     /* guards what follows */
    pthread_cond_t has_told;  /* more than before, or all */
    pthread_cond_t is_served; /* who wanted a snapshot */
    uint64_t wanted_ns;       /* a snapshot up to there is waited for; UINT64_MAX: none is */
    struct online *online;
    struct aggregate_file *file;
    bool is_complete;     /* all has been told, and no more comes */
    struct error failure; /* once and for all when has_failed is set, by who has the lock */
    _Atomic bool has_failed;
    /* The thread's, until it has ended. */
    struct room room;
    uint64_t looked_ns, stored_ns, store_due_ns;
    uint64_t stored_told, forgotten_bytes;
    uint64_t cpu_ns; /* that it has taken in all */
};

static void take_records(void *user, const uint8_t *payload, size_t size_bytes)
{
    struct aggregate *aggregate = user;

    aggregate_file_take(aggregate->file, payload, size_bytes);
}

/* Who waits for room must see that somebody works. Relaxed: they only look whether it moves. */
static void show_life(struct aggregate *aggregate)
{
    atomic_fetch_add_explicit(&aggregate->session->pool.header->heartbeat, 1, memory_order_relaxed);
}

/* The recording is to end. Under the lock. */
static void fail(struct aggregate *aggregate, const char *why)
{
    if (atomic_load_explicit(&aggregate->has_failed, memory_order_relaxed))
        return;
    error_set(&aggregate->failure, "%s", why);
    /* Release: who sees it sees why. */
    atomic_store_explicit(&aggregate->has_failed, true, memory_order_release);
    session_wake_main(aggregate->session);
}

/* Store a model, or write it to fd when that is not -1. Under the lock. */
static bool write_model(struct aggregate *aggregate, struct profile *profile, int fd,
                        const char *path, const struct records *end, struct error *err)
{
    struct column_bytes model = {0};
    struct aggregate_content content = {
        .capture = online_capture(aggregate->online), .model = &model, .end = end};
    bool is_written;

    show_life(aggregate);
    model_write(profile, &model);
    profile_destroy(profile);
    show_life(aggregate);
    is_written = fd < 0 ? aggregate_file_store(aggregate->file, &content, err)
                        : aggregate_file_write(aggregate->file, fd, path, &content, err);
    free(model.bytes);
    show_life(aggregate);
    return is_written;
}

static bool has_no_model(const struct aggregate *aggregate, struct error *err)
{
    error_set(err, "%s: the model cannot be made: what was stored last can be read",
              aggregate->path);
    return false;
}

/* Store what there is so far. Under the lock. */
static bool store(struct aggregate *aggregate, struct error *err)
{
    struct profile *profile;

    show_life(aggregate);
    profile = online_so_far(aggregate->online);
    return profile != NULL ? write_model(aggregate, profile, -1, NULL, NULL, err)
                           : has_no_model(aggregate, err);
}

/* How long what has been stored may be old. */
static uint64_t store_ns(const struct aggregate *aggregate, uint64_t took_ns)
{
    uint64_t age_ns = session_now_ns() - aggregate->session->start_ns;
    uint64_t wait_ns = age_ns / AGE_PART;

    if (wait_ns < SOON_NS)
        wait_ns = SOON_NS;
    if (wait_ns > STORE_NS)
        wait_ns = STORE_NS;
    return wait_ns > took_ns * STORE_SHARE ? wait_ns : took_ns * STORE_SHARE;
}

/*
 * Once a second, when anything has been told; more often at first, more rarely when it takes long. What
 * cannot be stored now, on a full disk, may be later: it is said at the end.
 */
static void store_when_due(struct aggregate *aggregate)
{
    uint64_t begun_ns = session_now_ns();
    uint64_t told = online_told(aggregate->online);
    bool is_quiet =
        told == aggregate->stored_told && begun_ns - aggregate->stored_ns < QUIET_STORES * STORE_NS;

    if (begun_ns < aggregate->store_due_ns || is_quiet)
        return;
    (void)store(aggregate, NULL);
    aggregate->stored_told = told;
    aggregate->stored_ns = session_now_ns();
    aggregate->store_due_ns =
        aggregate->stored_ns + store_ns(aggregate, aggregate->stored_ns - begun_ns);
}

static void find_cgroups(struct aggregate *aggregate)
{
    char *mountinfo = proc_mountinfo();

    room_init(&aggregate->room, mountinfo);
    free(mountinfo);
}

/* Take no memory that the programs may need. */
static void look_for_room(struct aggregate *aggregate)
{
    uint64_t now_ns = session_now_ns();
    struct room_bytes bytes;

    if (now_ns - aggregate->looked_ns < ROOM_NS)
        return;
    aggregate->looked_ns = now_ns;
    bytes = room_look(&aggregate->room);
    if (bytes.left < bytes.total / LEFT_PART ||
        online_bytes(aggregate->online) > bytes.total / MEMORY_PART)
        fail(aggregate, "there was no memory left for what the events come to: record without "
                        "--aggregate, or with --sample-bytes");
}

/* Give back what will not be read any more. */
static void forget(struct aggregate *aggregate)
{
    uint64_t needed = online_needed(aggregate->online);

    if (needed - aggregate->forgotten_bytes < FORGET_BYTES)
        return;
    capture_writer_forget(aggregate->passing, needed);
    aggregate->forgotten_bytes = needed;
    pack_note_read(aggregate->session->pack, needed);
}

/* Tell some of what has been written up to an offset. Returns whether there is more. Under the lock. */
static bool step(struct aggregate *aggregate, uint64_t written_bytes)
{
    bool has_more;

    show_life(aggregate);
    if (!online_follow(aggregate->online, written_bytes)) {
        fail(aggregate, "the events could not be put in their order");
        return false;
    }
    has_more = online_tell(aggregate->online, STEP_EVENTS) == STEP_EVENTS;
    forget(aggregate);
    return has_more;
}

/* Let a snapshot be made when it can be: who only gives a lock back and takes it again keeps it. */
static void serve_snapshot(struct aggregate *aggregate)
{
    while (aggregate->wanted_ns != UINT64_MAX &&
           online_reached_ns(aggregate->online) >= aggregate->wanted_ns) {
        pthread_cond_signal(&aggregate->has_told);
        pthread_cond_wait(&aggregate->is_served, &aggregate->lock);
    }
}

static uint64_t own_cpu_ns(void)
{
    struct timespec used;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
}

static void *aggregate_run(void *argument)
{
    struct aggregate *aggregate = argument;
    uint64_t written_bytes = 0;
    bool has_more = false;

    (void)prctl(PR_SET_NAME, "memtrack-model"); /* for who looks at it; no matter if not */
    find_cgroups(aggregate);
    /* Relaxed: nothing else is said by it, and the thread is joined. */
    while (!atomic_load_explicit(&aggregate->is_stopping, memory_order_relaxed) &&
           (has_more || pack_await_written(aggregate->session->pack, &written_bytes))) {
        pthread_mutex_lock(&aggregate->lock);
        look_for_room(aggregate);
        has_more = step(aggregate, written_bytes);
        store_when_due(aggregate);
        serve_snapshot(aggregate);
        pthread_mutex_unlock(&aggregate->lock);
    }
    aggregate->cpu_ns = own_cpu_ns();
    return NULL;
}

/* How much may be written that is not read yet. */
static uint64_t most_unread(struct aggregate *aggregate)
{
    uint64_t part = room_look(&aggregate->room).total / UNREAD_PART;
    uint64_t most = (uint64_t)MOST_UNREAD_MIB << 20;

    return part < most ? part : most;
}

struct aggregate *aggregate_start(struct session *session, const struct capture_writer *passing,
                                  struct aggregate_file *file, const char *path, struct error *err)
{
    struct aggregate *aggregate = memory_allocate(1, sizeof(*aggregate));
    int status = 0;

    aggregate->session = session;
    aggregate->passing = passing;
    aggregate->file = file;
    aggregate->path = path;
    pthread_mutex_init(&aggregate->lock, NULL);
    pthread_cond_init(&aggregate->has_told, NULL);
    pthread_cond_init(&aggregate->is_served, NULL);
    aggregate->wanted_ns = UINT64_MAX;
    aggregate->online = online_open_once(capture_writer_fd(passing), path, take_records, aggregate);
    find_cgroups(aggregate);
    pack_limit_unread(session->pack, most_unread(aggregate));
    if (online_follow(aggregate->online, capture_writer_bytes(passing)) && store(aggregate, err)) {
        status = pthread_create(&aggregate->thread, NULL, aggregate_run, aggregate);
        if (status == 0) {
            aggregate->is_running = true;
            return aggregate;
        }
        error_set(err, "the collector cannot start a thread: %s", strerror(status));
    }
    aggregate_free(aggregate);
    return NULL;
}

bool aggregate_has_failed(struct aggregate *aggregate, struct error *err)
{
    /* Without the lock: the main thread has no time for a store. */
    if (aggregate == NULL || !atomic_load_explicit(&aggregate->has_failed, memory_order_acquire))
        return false;
    *err = aggregate->failure;
    return true;
}

void aggregate_stop(struct aggregate *aggregate)
{
    if (aggregate == NULL || !aggregate->is_running)
        return;
    atomic_store_explicit(&aggregate->is_stopping, true, memory_order_relaxed);
    pack_end_waiting(aggregate->session->pack);
    pthread_join(aggregate->thread, NULL);
    aggregate->is_running = false;
}

uint64_t aggregate_cpu_ns(const struct aggregate *aggregate)
{
    return aggregate->cpu_ns;
}

void aggregate_complete(struct aggregate *aggregate)
{
    pthread_mutex_lock(&aggregate->lock);
    if (online_last(aggregate->online, capture_writer_bytes(aggregate->passing)))
        online_tell(aggregate->online, UINT64_MAX);
    aggregate->is_complete = true;
    pthread_cond_signal(&aggregate->has_told);
    pthread_mutex_unlock(&aggregate->lock);
}

bool aggregate_finish(struct aggregate *aggregate, const struct records *end, struct error *err)
{
    struct profile *profile;
    bool is_stored;

    pthread_mutex_lock(&aggregate->lock);
    profile = online_finish(aggregate->online, capture_writer_bytes(aggregate->passing));
    is_stored = profile != NULL ? write_model(aggregate, profile, -1, NULL, end, err)
                                : has_no_model(aggregate, err);
    pthread_mutex_unlock(&aggregate->lock);
    return is_stored;
}

bool aggregate_snapshot(struct aggregate *aggregate, int fd, const char *path, uint64_t until_ns,
                        const struct records *end, struct error *err)
{
    struct profile *profile;
    bool is_written;

    pthread_mutex_lock(&aggregate->lock);
    aggregate->wanted_ns = until_ns;
    while (!aggregate->is_complete && online_reached_ns(aggregate->online) < until_ns)
        pthread_cond_wait(&aggregate->has_told, &aggregate->lock);
    profile = online_so_far(aggregate->online);
    is_written = profile != NULL ? write_model(aggregate, profile, fd, path, end, err)
                                 : has_no_model(aggregate, err);
    aggregate->wanted_ns = UINT64_MAX;
    pthread_cond_signal(&aggregate->is_served);
    pthread_mutex_unlock(&aggregate->lock);
    return is_written;
}

void aggregate_free(struct aggregate *aggregate)
{
    if (aggregate == NULL)
        return;
    online_close(aggregate->online);
    aggregate_file_close(aggregate->file);
    pthread_cond_destroy(&aggregate->is_served);
    pthread_cond_destroy(&aggregate->has_told);
    pthread_mutex_destroy(&aggregate->lock);
    free(aggregate);
}
