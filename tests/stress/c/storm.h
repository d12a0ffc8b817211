/*
 * What the storm programs share: their threads, their boxes, their counting.
 *
 * A program counts every allocation and release that it makes, and says the sums at its end; the
 * test compares them with what its capture has.
 */
#ifndef STRESS_STORM_H
#define STRESS_STORM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STORM_MAX_THREADS = 64,
    STORM_BOXES = 1024,
};

/* One thread of a storm. */
struct storm_thread {
    unsigned number;                        /* 0, 1, ... */
    uint64_t rounds;                        /* that it is to make */
    uint32_t random;                        /* state of storm_random() */
    _Atomic uint64_t allocations, releases; /* made so far; handlers count too */
    pthread_t handle;
};

typedef void storm_body(struct storm_thread *thread);

/* Blocks on their way from a thread to any other. */
static _Atomic(void *) storm_box[STORM_BOXES];

/* Return the next of a row of numbers that is the same in every run; the high bits are the good. */
static inline uint32_t storm_random(struct storm_thread *thread)
{
    thread->random = thread->random * 1664525u + 1013904223u;
    return thread->random;
}

static inline void *storm_allocate(struct storm_thread *thread, size_t bytes)
{
    void *block = malloc(bytes);

    if (block == NULL) {
        fputs("out of memory\n", stderr);
        _Exit(98);
    }
    *(volatile char *)block = 1;
    atomic_fetch_add_explicit(&thread->allocations, 1, memory_order_relaxed);
    return block;
}

static inline void storm_release(struct storm_thread *thread, void *block)
{
    if (block == NULL)
        return;
    atomic_fetch_add_explicit(&thread->releases, 1, memory_order_relaxed);
    free(block);
}

/* A realloc is a release and an allocation; of nothing, an allocation. */
static inline void *storm_resize(struct storm_thread *thread, void *block, size_t bytes)
{
    atomic_fetch_add_explicit(&thread->releases, block != NULL, memory_order_relaxed);
    atomic_fetch_add_explicit(&thread->allocations, 1, memory_order_relaxed);
    block = realloc(block, bytes);
    if (block == NULL) {
        fputs("out of memory\n", stderr);
        _Exit(98);
    }
    return block;
}

/* Put a block into a box that chance chooses among the first `count`; return what lay there. */
static inline void *storm_exchange(struct storm_thread *thread, unsigned count, void *block)
{
    return atomic_exchange(&storm_box[(storm_random(thread) >> 12) % count], block);
}

#endif
