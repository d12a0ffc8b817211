/*
 * Reading ahead. Runs in the tools: the caller's thread takes batches out of a ring, a thread of ours
 * fills them.
 *
 * What holds: batches first .. first + full_count - 1 are full and the caller's to read, the first of
 * them is the one that it has; all others are the reader's. The lock guards the counts and flags, not
 * the batches.
 */
#include "capture/ahead.h"

#include "base/memory.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    BATCH_EVENTS = 512, /* 24 KiB: what two locks and a wake-up cost is spread over them */
    BATCH_COUNT = 16,   /* all of them stay in the second cache */
    REFILL_COUNT = 8,   /* the reader sleeps until so few are left, not a wake-up a batch */
    FEW_EVENTS = 100000,
};

struct batch {
    uint32_t count;
    struct event events[BATCH_EVENTS];
};

struct capture_ahead {
    struct capture_merge *merge;  /* the reader's while there is one */
    struct capture_damage damage; /* valid when is_ended */
    struct batch *batches;        /* BATCH_COUNT */
    size_t first, full_count;     /* of the batches */
    bool has_batch;               /* the caller has the first one */
    bool is_ended, is_given_up;
    bool has_reader;
    pthread_t reader;
    pthread_mutex_t lock;
    pthread_cond_t has_events; /* or the end */
    pthread_cond_t has_room;   /* or nobody wants more */
};

/* Wait for a batch to fill. Returns NULL when nobody wants any more. */
static struct batch *wait_for_room(struct capture_ahead *ahead)
{
    struct batch *batch = NULL;

    pthread_mutex_lock(&ahead->lock);
    if (ahead->full_count == BATCH_COUNT)
        while (ahead->full_count > REFILL_COUNT && !ahead->is_given_up)
            pthread_cond_wait(&ahead->has_room, &ahead->lock);
    if (!ahead->is_given_up)
        batch = &ahead->batches[(ahead->first + ahead->full_count) % BATCH_COUNT];
    pthread_mutex_unlock(&ahead->lock);
    return batch;
}

static void *read_ahead(void *user)
{
    struct capture_ahead *ahead = user;
    struct capture_damage damage = {.is_damaged = false};
    struct batch *batch;

    while ((batch = wait_for_room(ahead)) != NULL) {
        bool is_ended;

        batch->count = capture_merge_next(ahead->merge, batch->events, BATCH_EVENTS, &damage);
        is_ended = batch->count == 0;
        pthread_mutex_lock(&ahead->lock);
        if (is_ended)
            ahead->damage = damage;
        ahead->is_ended = is_ended;
        ahead->full_count += !is_ended;
        if (ahead->full_count <= 1)
            pthread_cond_signal(&ahead->has_events);
        pthread_mutex_unlock(&ahead->lock);
        if (is_ended)
            break;
    }
    return NULL;
}

static bool is_worth_a_thread(const struct capture *capture)
{
    cpu_set_t processors;

    return capture->event_record_count >= FEW_EVENTS &&
           sched_getaffinity(0, sizeof(processors), &processors) == 0 && CPU_COUNT(&processors) > 1;
}

/* Signals stay with the caller's thread. */
static bool start_reader(struct capture_ahead *ahead)
{
    sigset_t all, before;
    bool is_started;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    is_started = pthread_create(&ahead->reader, NULL, read_ahead, ahead) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

struct capture_ahead *capture_ahead_open(const struct capture *capture)
{
    struct capture_ahead *ahead = memory_allocate(1, sizeof(*ahead));

    ahead->merge = capture_merge_open(capture);
    ahead->batches = memory_allocate(BATCH_COUNT, sizeof(*ahead->batches));
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->has_events, NULL);
    pthread_cond_init(&ahead->has_room, NULL);
    ahead->has_reader = is_worth_a_thread(capture) && start_reader(ahead);
    return ahead;
}

/* The caller gives the batch back that it has, and gets the next one. Returns NULL at the end. */
static const struct batch *next_batch(struct capture_ahead *ahead)
{
    const struct batch *batch = NULL;

    pthread_mutex_lock(&ahead->lock);
    if (ahead->has_batch) {
        ahead->first = (ahead->first + 1) % BATCH_COUNT;
        if (--ahead->full_count == REFILL_COUNT)
            pthread_cond_signal(&ahead->has_room);
    }
    while (ahead->full_count == 0 && !ahead->is_ended)
        pthread_cond_wait(&ahead->has_events, &ahead->lock);
    ahead->has_batch = ahead->full_count > 0;
    if (ahead->has_batch)
        batch = &ahead->batches[ahead->first];
    pthread_mutex_unlock(&ahead->lock);
    return batch;
}

const struct event *capture_ahead_next(struct capture_ahead *ahead, uint32_t *ret_count,
                                       struct capture_damage *ret_damage)
{
    struct batch *own = ahead->batches;
    const struct batch *batch = own;

    if (ahead->has_reader)
        batch = next_batch(ahead);
    else
        own->count = capture_merge_next(ahead->merge, own->events, BATCH_EVENTS, &ahead->damage);
    if (batch != NULL && batch->count > 0) {
        *ret_count = batch->count;
        return batch->events;
    }
    if (ahead->damage.is_damaged)
        *ret_damage = ahead->damage;
    return NULL;
}

void capture_ahead_close(struct capture_ahead *ahead)
{
    if (ahead == NULL)
        return;
    if (ahead->has_reader) {
        pthread_mutex_lock(&ahead->lock);
        ahead->is_given_up = true;
        pthread_cond_signal(&ahead->has_room);
        pthread_mutex_unlock(&ahead->lock);
        pthread_join(ahead->reader, NULL);
    }
    pthread_mutex_destroy(&ahead->lock);
    pthread_cond_destroy(&ahead->has_events);
    pthread_cond_destroy(&ahead->has_room);
    capture_merge_close(ahead->merge);
    free(ahead->batches);
    free(ahead);
}
