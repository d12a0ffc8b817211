/*
 * Reading ahead. Runs in the tools: batches of events go through a ring. A thread of ours fills them,
 * and so does the caller's when there is none left and nobody is at it: it never waits for a thread
 * that has not got a processor.
 *
 * What holds: batches first .. first + full_count - 1 are full, and the first of them is the one that
 * the caller has; one at a time fills the next one and uses the merge. The lock guards all but them.
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
    struct capture_merge *merge;
    struct capture_damage damage;
    struct batch *batches;    /* BATCH_COUNT */
    size_t first, full_count; /* of the batches */
    bool has_batch;           /* the caller has the first one */
    bool is_filling;          /* somebody fills the next one */
    bool is_ended, is_given_up;
    bool has_reader;
    pthread_t reader;
    pthread_mutex_t lock;
    pthread_cond_t is_filled;
    pthread_cond_t has_room; /* or nobody wants more */
};

/* Fill the next batch. The lock is held before and behind, not while it is done. */
static void fill_next(struct capture_ahead *ahead)
{
    struct batch *batch = &ahead->batches[(ahead->first + ahead->full_count) % BATCH_COUNT];

    ahead->is_filling = true;
    pthread_mutex_unlock(&ahead->lock);
    batch->count = capture_merge_next(ahead->merge, batch->events, BATCH_EVENTS, &ahead->damage);
    pthread_mutex_lock(&ahead->lock);
    ahead->is_filling = false;
    if (batch->count > 0)
        ahead->full_count++;
    else
        ahead->is_ended = true;
}

static void *read_ahead(void *user)
{
    struct capture_ahead *ahead = user;
    size_t enough_count = BATCH_COUNT;

    pthread_mutex_lock(&ahead->lock);
    while (!ahead->is_ended && !ahead->is_given_up) {
        if (ahead->is_filling || ahead->full_count >= enough_count) {
            /* Once it is full it may rest until there is something worth waking up for. */
            if (ahead->full_count == BATCH_COUNT)
                enough_count = REFILL_COUNT + 1;
            pthread_cond_wait(&ahead->has_room, &ahead->lock);
            continue;
        }
        enough_count = BATCH_COUNT;
        fill_next(ahead);
        pthread_cond_signal(&ahead->is_filled);
    }
    pthread_mutex_unlock(&ahead->lock);
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
    pthread_cond_init(&ahead->is_filled, NULL);
    pthread_cond_init(&ahead->has_room, NULL);
    ahead->has_reader = is_worth_a_thread(capture) && start_reader(ahead);
    return ahead;
}

const struct event *capture_ahead_next(struct capture_ahead *ahead, uint32_t *ret_count,
                                       struct capture_damage *ret_damage)
{
    const struct event *events = NULL;

    pthread_mutex_lock(&ahead->lock);
    if (ahead->has_batch) {
        ahead->first = (ahead->first + 1) % BATCH_COUNT;
        if (--ahead->full_count == REFILL_COUNT)
            pthread_cond_signal(&ahead->has_room);
    }
    while (ahead->full_count == 0 && ahead->is_filling)
        pthread_cond_wait(&ahead->is_filled, &ahead->lock);
    if (ahead->full_count == 0 && !ahead->is_ended) {
        fill_next(ahead);
        pthread_cond_signal(&ahead->has_room);
    }
    ahead->has_batch = ahead->full_count > 0;
    if (ahead->has_batch) {
        *ret_count = ahead->batches[ahead->first].count;
        events = ahead->batches[ahead->first].events;
    } else if (ahead->damage.is_damaged) {
        *ret_damage = ahead->damage;
    }
    pthread_mutex_unlock(&ahead->lock);
    return events;
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
    pthread_cond_destroy(&ahead->is_filled);
    pthread_cond_destroy(&ahead->has_room);
    capture_merge_close(ahead->merge);
    free(ahead->batches);
    free(ahead);
}
