/*
 * What the collector's threads share. Each part says who writes it.
 */
#ifndef COLLECT_SESSION_H
#define COLLECT_SESSION_H

#include "collect/pack.h"
#include "collect/pool.h"
#include "collect/process.h"

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

struct session {
    struct pool pool;
    struct pack *pack;
    struct snapshots *snapshots;    /* NULL: none can be asked for */
    struct aggregate *aggregate;    /* NULL: the capture holds the events */
    struct process *processes;      /* POOL_PROCESS_COUNT; see process.h for who writes what */
    _Atomic uint32_t process_limit; /* all that were ever used are below; it only grows */
    _Atomic uint64_t forks;         /* drain: announced by processes */
    _Atomic uint64_t fork_children; /* drain: that have shown themselves */
    const struct starter *starter;  /* main: who waits for the program; NULL: nobody */
    int main_fd;                    /* an eventfd: wakes the main thread */
    uint64_t start_ns;              /* CLOCK_MONOTONIC; constant */
    bool was_silent;                /* main: there may be children that no fork was told of */
    _Atomic uint32_t clock_bell;    /* who wants the clock thread awake adds 1; a futex */
    _Atomic uint64_t
        watched_bytes; /* main: more resident bytes are to be told of; UINT64_MAX: none */
    _Atomic uint64_t exceeding_bytes; /* clock: most that were resident, of such as are told of */
    _Atomic uint32_t tick;            /* clock thread; the pool's copy is for the targets */
};

/* Wake the main thread: a process has appeared, or is drained, or a write failed. */
void session_wake_main(struct session *session);

/* Wake the clock thread: something is wanted of it. Context: any thread. */
void session_ring_clock(struct session *session);

/* A process was put in this slot. Context: any thread. */
static inline void session_use_slot(struct session *session, uint32_t slot)
{
    uint32_t limit = atomic_load_explicit(&session->process_limit, memory_order_relaxed);

    /* Release: who sees the limit sees what stands below it. */
    while (slot >= limit &&
           !atomic_compare_exchange_weak_explicit(&session->process_limit, &limit, slot + 1,
                                                  memory_order_release, memory_order_relaxed))
        ;
}

/* Return how many of the processes to look at. Context: any thread. */
static inline uint32_t session_process_limit(struct session *session)
{
    return atomic_load_explicit(&session->process_limit, memory_order_acquire);
}

/* Return CLOCK_MONOTONIC in ns. Context: any thread. */
static inline uint64_t session_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

#endif
