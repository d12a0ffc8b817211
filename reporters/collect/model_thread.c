/*
 * The model thread, and what the main thread does when it has ended.
 *
 * What holds: the model is used by one thread at a time, as it is the main thread's before the start
 * and after model_thread_stop(). What it reads has been written: the pack thread says how far.
 */
#include "collect/model_thread.h"

#include "base/memory.h"
#include "capture/model_bytes.h"
#include "collect/proc_files.h"
#include "collect/room.h"
#include "collect/session.h"
#include "profile/model.h"
#include "profile/online.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    SLICE_EVENTS = 1 << 13, /* between two looks whether it is to end: a quarter of a millisecond */
    MEMORY_PART = 8,        /* of what there is may be taken, at most, and */
    LEFT_PART = 16,         /* ... not when less than this is left */
    ENOUGH_EVENTS = 1 << 20, /* to say what one takes */
    WAIT_PART = 2,           /* of the time of recording may be worked at the end, and */
};
#define ROOM_NS     UINT64_C(1000000000) /* between two looks how much there is */
#define WAIT_MIN_NS UINT64_C(300000000)
#define WAIT_MAX_NS UINT64_C(1000000000)
#define EVENT_NS    UINT64_C(20) /* that an event takes, where it is not yet known */

struct model_thread {
    struct pack *pack;
    uint64_t from_events;
    struct online *online;
    struct room room;
    uint64_t looked_ns;
    uint64_t cpu_ns; /* taken so far; the thread's, until it has ended */
    pthread_t thread;
    bool is_running; /* main thread */
    _Atomic bool is_stopping;
};

/*
 * Run only where a processor has nothing else to do: as a mere nice thread it kept the drain from its
 * processor, and bytearray(1000) took 1.23 times the plain loop instead of 1.18. At worst it runs as the
 * others do.
 */
static void step_back(void)
{
    struct sched_param parameter = {0};

    (void)prctl(PR_SET_NAME, "memtrack-model"); /* for who looks at it; no matter if not */
    (void)sched_setscheduler(0, SCHED_IDLE, &parameter);
}

/* Relaxed: nothing else is said by it, and the thread is joined. */
static bool is_stopping(struct model_thread *model)
{
    return atomic_load_explicit(&model->is_stopping, memory_order_relaxed);
}

static void find_cgroups(struct model_thread *model)
{
    char *mountinfo = proc_mountinfo();

    room_init(&model->room, mountinfo);
    free(mountinfo);
}

/*
 * Take no memory that the programs may need: the model is given up before they have none.
 */
static void look_for_room(struct model_thread *model)
{
    uint64_t now_ns = session_now_ns();
    struct room_bytes bytes;

    if (model->looked_ns != 0 && now_ns - model->looked_ns < ROOM_NS)
        return;
    if (model->looked_ns == 0)
        find_cgroups(model);
    model->looked_ns = now_ns;
    bytes = room_look(&model->room);
    online_limit(model->online,
                 bytes.left < bytes.total / LEFT_PART ? 0 : bytes.total / MEMORY_PART);
}

static uint64_t own_cpu_ns(void)
{
    struct timespec used;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
}

static void *follow(void *argument)
{
    struct model_thread *model = argument;
    uint64_t written_bytes = 0, begun_cpu_ns = 0;

    step_back();
    while (!is_stopping(model) && pack_await_written(model->pack, &written_bytes)) {
        if (begun_cpu_ns == 0)
            begun_cpu_ns = own_cpu_ns();
        look_for_room(model);
        if (!online_follow(model->online, written_bytes))
            break;
        while (!is_stopping(model) && online_tell(model->online, SLICE_EVENTS) == SLICE_EVENTS)
            ;
    }
    if (begun_cpu_ns > 0)
        model->cpu_ns = own_cpu_ns() - begun_cpu_ns;
    return NULL;
}

static bool has_processors(void)
{
    cpu_set_t processors;

    return sched_getaffinity(0, sizeof(processors), &processors) == 0 && CPU_COUNT(&processors) > 1;
}

struct model_thread *model_thread_start(struct pack *pack, const struct capture_writer *writer,
                                        const char *file, uint64_t from_events)
{
    struct model_thread *model = memory_allocate(1, sizeof(*model));

    model->pack = pack;
    model->from_events = from_events;
    if (from_events == UINT64_MAX)
        return model;
    pack_tell_from(pack, from_events);
    model->online = online_open(capture_writer_fd(writer), file, UINT64_MAX);
    model->is_running =
        has_processors() && pthread_create(&model->thread, NULL, follow, model) == 0;
    return model;
}

void model_thread_stop(struct model_thread *model)
{
    struct sched_param parameter = {0};

    if (model == NULL || !model->is_running)
        return;
    atomic_store_explicit(&model->is_stopping, true, memory_order_relaxed);
    pack_end_waiting(model->pack);
    /* Now somebody waits for it; not all users may do this. */
    (void)pthread_setschedparam(model->thread, SCHED_OTHER, &parameter);
    pthread_join(model->thread, NULL);
    model->is_running = false;
}

static void give_up(struct model_thread *model)
{
    online_close(model->online);
    model->online = NULL;
}

/* How long it may be waited for. */
static uint64_t patience_ns(uint64_t recorded_ns)
{
    uint64_t wait_ns = recorded_ns / WAIT_PART;

    if (wait_ns < WAIT_MIN_NS)
        return WAIT_MIN_NS;
    return wait_ns < WAIT_MAX_NS ? wait_ns : WAIT_MAX_NS;
}

/* What so many more events will take, as those before have. */
static uint64_t foretold_ns(const struct model_thread *model, uint64_t event_count)
{
    uint64_t told_count = online_told(model->online);

    if (told_count < ENOUGH_EVENTS)
        return (event_count - told_count) * EVENT_NS;
    return (uint64_t)((double)(event_count - told_count) * (double)model->cpu_ns /
                      (double)told_count);
}

/* Returns false when the model is not at its end by then. */
static bool tell_rest(struct model_thread *model, const struct capture_writer *writer,
                      uint64_t wait_ns)
{
    uint64_t begun_ns = session_now_ns(), begun_cpu_ns = own_cpu_ns();

    if (!online_last(model->online, capture_writer_bytes(writer)))
        return false;
    while (online_tell(model->online, SLICE_EVENTS) == SLICE_EVENTS)
        if (own_cpu_ns() - begun_cpu_ns > wait_ns || session_now_ns() - begun_ns > WAIT_MAX_NS)
            return false;
    return true;
}

void model_thread_catch_up(struct model_thread *model, const struct capture_writer *writer,
                           uint64_t event_count, uint64_t recorded_ns)
{
    uint64_t wait_ns = patience_ns(recorded_ns), begun_cpu_ns = own_cpu_ns();

    if (model->online == NULL)
        return;
    if (event_count < model->from_events) {
        give_up(model);
        return;
    }
    look_for_room(model);
    if (foretold_ns(model, event_count) > wait_ns || !tell_rest(model, writer, wait_ns))
        give_up(model);
    model->cpu_ns += own_cpu_ns() - begun_cpu_ns;
}

uint64_t model_thread_cpu_ns(const struct model_thread *model)
{
    struct timespec used;
    clockid_t clock;

    if (model == NULL || !model->is_running)
        return model == NULL ? 0 : model->cpu_ns;
    if (pthread_getcpuclockid(model->thread, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return 0;
    return (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
}

void model_thread_store(struct model_thread *model, struct capture_writer *writer,
                        uint64_t most_bytes)
{
    struct column_bytes bytes = {0};
    struct profile *profile = NULL;

    if (model->online != NULL)
        profile = online_finish(model->online, capture_writer_bytes(writer));
    if (profile == NULL)
        return;
    model_write(profile, &bytes);
    if (bytes.size_bytes <= most_bytes)
        (void)capture_model_write(writer, bytes.bytes, bytes.size_bytes, NULL);
    free(bytes.bytes);
    profile_destroy(profile);
}

void model_thread_free(struct model_thread *model)
{
    if (model == NULL)
        return;
    online_close(model->online);
    free(model);
}
