/*
 * Loops of malloc and free that know what they cost: bench_loops MODE THREADS ROUNDS [PAUSE_US].
 *
 * MODE tight: a block of 64 bytes and back. random: 4096 blocks of a thread, replaced in an order
 * that looks like chance. The program's first thread is one of them, so one thread is a program
 * without threads. With PAUSE_US a thread rests each 2000 rounds, so that it never has to wait
 * for whoever takes its events. Says the CPU time of an event on its threads' own clocks, start-up
 * and rests left out, and the resident memory at the end.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_THREADS = 64,
    BURST_ROUNDS = 2000,
    BLOCKS = 4096,
    EVENTS_OF_ROUND = 2,
};

struct loop {
    uint64_t rounds;
    uint32_t random;
    double cpu_ns;
    pthread_t handle;
    void *blocks[BLOCKS];
};

static struct loop loops[MAX_THREADS];
static useconds_t pause_us;
static void (*burst)(struct loop *loop, uint64_t rounds);
static pthread_barrier_t start;

static double thread_cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void burst_tight(struct loop *loop, uint64_t rounds)
{
    (void)loop;
    for (uint64_t i = 0; i < rounds; i++) {
        void *volatile block = malloc(64);

        free(block);
    }
}

static void burst_random(struct loop *loop, uint64_t rounds)
{
    for (uint64_t i = 0; i < rounds; i++) {
        void **block;

        loop->random = loop->random * 1664525u + 1013904223u;
        block = &loop->blocks[loop->random >> 20];
        free(*block);
        *block = malloc(16 + (loop->random >> 8) % 256);
        if (*block == NULL)
            _exit(98);
        *(volatile char *)*block = 1;
    }
}

static void *run(void *loop_pointer)
{
    struct loop *loop = loop_pointer;
    uint64_t step = pause_us != 0 ? BURST_ROUNDS : loop->rounds;

    pthread_barrier_wait(&start);
    for (uint64_t done = 0; done < loop->rounds; done += step) {
        double before = thread_cpu_ns();

        burst(loop, step);
        loop->cpu_ns += thread_cpu_ns() - before;
        if (pause_us != 0)
            usleep(pause_us);
    }
    return NULL;
}

static void print_memory(void)
{
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");

    while (status != NULL && fgets(line, sizeof(line), status) != NULL)
        if (strncmp(line, "Rss", 3) == 0)
            fputs(line, stdout);
    if (status != NULL)
        fclose(status);
}

int main(int argc, char **argv)
{
    unsigned thread_count = argc >= 4 ? (unsigned)atoi(argv[2]) : 0;
    double cpu_ns = 0;
    uint64_t rounds;

    if (argc >= 4 && strcmp(argv[1], "tight") == 0)
        burst = burst_tight;
    if (argc >= 4 && strcmp(argv[1], "random") == 0)
        burst = burst_random;
    if (burst == NULL || thread_count == 0 || thread_count > MAX_THREADS) {
        fputs("usage: bench_loops tight|random THREADS ROUNDS [PAUSE_US]\n", stderr);
        return 2;
    }
    rounds = strtoull(argv[3], NULL, 10);
    pause_us = argc > 4 ? (useconds_t)atoi(argv[4]) : 0;
    pthread_barrier_init(&start, NULL, thread_count);
    for (unsigned i = 0; i < thread_count; i++) {
        loops[i].rounds = rounds;
        loops[i].random = i * 7 + 1;
        if (i > 0 && pthread_create(&loops[i].handle, NULL, run, &loops[i]) != 0)
            return 97;
    }
    run(&loops[0]);
    for (unsigned i = 0; i < thread_count; i++) {
        if (i > 0)
            pthread_join(loops[i].handle, NULL);
        cpu_ns += loops[i].cpu_ns;
    }
    printf("cpu %.9f\n", cpu_ns / 1e9);
    printf("events %ju\n", (uintmax_t)(rounds * thread_count * EVENTS_OF_ROUND));
    print_memory();
    return 0;
}
