/*
 * Threads that release what others have allocated, all the time, until standard input ends. Blocks wander:
 * whoever reads the threads' events to different instants finds releases of what nobody has allocated.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    THREADS = 4,
    PLACES = 64,
};

static void *_Atomic places[PLACES];
static atomic_bool is_over;

static void *exchange(void *seed)
{
    unsigned state = (unsigned)(size_t)seed;

    while (!is_over) {
        state = state * 1664525u + 1013904223u;
        free(atomic_exchange(&places[state >> 26], malloc(16 + (state >> 20 & 63) * 8)));
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    char byte;

    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, exchange, (void *)(i + 1));
    printf("ready %ld\n", (long)getpid());
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    is_over = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
