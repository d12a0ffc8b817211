/*
 * A crowd: stress_crowd THREADS. All of them live at once, and each allocates as long as they do.
 */
#include "storm.h"

enum {
    ROUNDS = 20,
    STACK_BYTES = 64 * 1024,
};

static pthread_barrier_t together;

static void *live(void *unused)
{
    void *volatile block = malloc(100);

    pthread_barrier_wait(&together);
    for (unsigned i = 0; i < ROUNDS; i++) {
        void *volatile other = malloc(1000 + i);

        free(other);
    }
    pthread_barrier_wait(&together);
    free(block);
    return unused;
}

int main(int argc, char **argv)
{
    unsigned count = argc == 2 ? (unsigned)atoi(argv[1]) : 0;
    pthread_t *threads = calloc(count, sizeof(*threads));
    pthread_attr_t attributes;

    if (count == 0 || threads == NULL) {
        fputs("usage: stress_crowd THREADS\n", stderr);
        return 2;
    }
    pthread_barrier_init(&together, NULL, count);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&threads[i], &attributes, live, NULL) != 0) {
            fputs("no more threads\n", stderr);
            _Exit(97);
        }
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("threads %u\n", count);
    return 0;
}
