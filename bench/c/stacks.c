/*
 * malloc and free from 256 stacks of depth 16, one after the other by chance: what a native stack costs.
 *
 * stacks THREADS PAIRS: so many pairs in each thread. Says how many pairs there were.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    THREADS_MAX = 64,
    PATH_SHIFT = 24, /* the upper bits are the more like chance */
};

static unsigned long pair_count;

static __attribute__((noinline)) void *allocate(unsigned path)
{
    return malloc(64 + path % 64);
}

/* A call that nothing can follow as a jump. */
#define KEEP(block_) __asm__ volatile("" : : "r"(block_) : "memory")

/* Goes on from one of two places. */
#define FORK(name_, next_)                                      \
    static __attribute__((noinline)) void *name_(unsigned path) \
    {                                                           \
        void *block;                                            \
                                                                \
        if (path % 2 != 0) {                                    \
            block = next_(path / 2);                            \
            __asm__ volatile("nop" : : "r"(block) : "memory");  \
        } else {                                                \
            block = next_(path / 2);                            \
            KEEP(block);                                        \
        }                                                       \
        return block;                                           \
    }

#define STEP(name_, next_)                                      \
    static __attribute__((noinline)) void *name_(unsigned path) \
    {                                                           \
        void *block = next_(path);                              \
                                                                \
        KEEP(block);                                            \
        return block;                                           \
    }

FORK(fork_7, allocate)
FORK(fork_6, fork_7)
FORK(fork_5, fork_6)
FORK(fork_4, fork_5)
FORK(fork_3, fork_4)
FORK(fork_2, fork_3)
FORK(fork_1, fork_2)
FORK(fork_0, fork_1)
STEP(step_4, fork_0)
STEP(step_3, step_4)
STEP(step_2, step_3)
STEP(step_1, step_2)
STEP(step_0, step_1)

static void *work(void *seed)
{
    uint32_t random = (uint32_t)(uintptr_t)seed;

    for (unsigned long i = 0; i < pair_count; i++) {
        random = random * UINT32_C(1664525) + UINT32_C(1013904223);
        free(step_0(random >> PATH_SHIFT));
    }
    return NULL;
}

int main(int argument_count, char **arguments)
{
    pthread_t threads[THREADS_MAX];
    struct timespec used;
    unsigned long thread_count;

    if (argument_count != 3)
        return 2;
    thread_count = strtoul(arguments[1], NULL, 10);
    pair_count = strtoul(arguments[2], NULL, 10);
    if (thread_count == 0 || thread_count > THREADS_MAX)
        return 2;
    for (uintptr_t i = 1; i < thread_count; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)) != 0)
            return 1;
    work((void *)1);
    for (uintptr_t i = 1; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    printf("cpu %.9f\n", (double)used.tv_sec + (double)used.tv_nsec / 1e9);
    printf("events %lu\n", thread_count * pair_count);
    return 0;
}
