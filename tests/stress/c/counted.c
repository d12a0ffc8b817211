/*
 * Counts what it does where its killer can read it: stress_counted FILE THREADS ROUNDS [PAUSE_US].
 *
 * Thread i keeps two numbers in line i of FILE (64 bytes): its id, and how many blocks it has been
 * given. A round's block has 5000 + (round modulo 4096) bytes, so a capture that has the right number of
 * events and the right sum of bytes has the right events. With PAUSE_US it rests each 64 rounds.
 */
#include "storm.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    FILE_BYTES = 4096,
};

struct counted_line {
    _Atomic uint64_t tid;
    _Atomic uint64_t rounds;
    uint64_t unused[6];
};

static struct counted_line *lines;
static useconds_t pause_us;

static void *run(void *thread_pointer)
{
    struct storm_thread *thread = thread_pointer;
    struct counted_line *line = &lines[thread->number];

    atomic_store(&line->tid, (uint64_t)syscall(SYS_gettid));
    for (uint64_t i = 0; i < thread->rounds; i++) {
        void *volatile block = malloc(5000 + i % 4096);

        /* Release: the count never shows an event before its record is complete. */
        atomic_store_explicit(&line->rounds, i + 1, memory_order_release);
        free(block);
        if (pause_us != 0 && i % 64 == 0)
            usleep(pause_us);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct storm_thread threads[STORM_MAX_THREADS];
    unsigned thread_count = argc >= 4 ? (unsigned)atoi(argv[2]) : 0;
    int fd = argc >= 4 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;

    if (thread_count == 0 || thread_count > STORM_MAX_THREADS || fd < 0 ||
        ftruncate(fd, FILE_BYTES) != 0) {
        fputs("usage: stress_counted FILE THREADS ROUNDS [PAUSE_US]\n", stderr);
        return 2;
    }
    pause_us = argc > 4 ? (useconds_t)atoi(argv[4]) : 0;
    lines = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (lines == MAP_FAILED)
        return 98;
    for (unsigned i = 0; i < thread_count; i++) {
        threads[i].number = i;
        threads[i].rounds = strtoull(argv[3], NULL, 10);
        if (pthread_create(&threads[i].handle, NULL, run, &threads[i]) != 0)
            return 97;
    }
    for (unsigned i = 0; i < thread_count; i++)
        pthread_join(threads[i].handle, NULL);
    return 0;
}
