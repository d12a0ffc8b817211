/*
 * Storms of events: stress_events MODE THREADS ROUNDS [BOXES].
 *
 * hand: blocks go round between the threads; whoever gets one releases or resizes it. realloc:
 * resizing, with hand-over. pairs: each thread for itself, at once given back. random: each thread
 * for itself, blocks live long. churn: threads come and go (ROUNDS of them). forks: children that
 * release what they inherited, and children of children. second: children in each of which a second
 * thread begins while the first one is at work, and they hand blocks over.
 * Few boxes bring the same addresses back soon, which is what can go wrong.
 */
#include "storm.h"

#include <sys/wait.h>
#include <unistd.h>

enum {
    SECOND_ROUNDS = 3000,
    CHURN_AT_ONCE = 8,
    RANDOM_BLOCKS = 4096,
};

static unsigned box_count = 64;
static pthread_barrier_t start;
static storm_body *body;

static void hand(struct storm_thread *thread)
{
    for (uint64_t i = 0; i < thread->rounds; i++) {
        uint32_t chance = storm_random(thread);
        void *block = storm_allocate(thread, 24 + (chance >> 28) * 16);

        block = storm_exchange(thread, box_count, block);
        if (block != NULL && chance % 4096 < 1024) {
            block = storm_resize(thread, block, 24 + (storm_random(thread) >> 27) * 40);
            block = storm_exchange(thread, box_count, block);
        }
        storm_release(thread, block);
    }
}

static void resize(struct storm_thread *thread)
{
    void *blocks[64] = {NULL};

    for (uint64_t i = 0; i < thread->rounds; i++) {
        uint32_t chance = storm_random(thread);
        void **block = &blocks[chance >> 26];

        *block = storm_resize(thread, *block, 1 + (storm_random(thread) >> (18 + chance % 8)));
        if ((chance >> 8) % 16 == 0)
            *block = storm_exchange(thread, box_count, *block);
    }
    for (unsigned i = 0; i < 64; i++)
        storm_release(thread, blocks[i]);
}

static void pairs(struct storm_thread *thread)
{
    for (uint64_t i = 0; i < thread->rounds; i++)
        storm_release(thread, storm_allocate(thread, 64));
}

static void at_random(struct storm_thread *thread)
{
    static void *blocks[STORM_MAX_THREADS][RANDOM_BLOCKS];
    void **mine = blocks[thread->number];

    for (uint64_t i = 0; i < thread->rounds; i++) {
        uint32_t chance = storm_random(thread);
        void **block = &mine[chance >> 20];

        storm_release(thread, *block);
        *block = storm_allocate(thread, 16 + (chance >> 8) % 256);
    }
    for (unsigned i = 0; i < RANDOM_BLOCKS; i++)
        storm_release(thread, mine[i]);
}

static void *live_shortly(void *thread_pointer)
{
    struct storm_thread *thread = thread_pointer;
    void *block = storm_allocate(thread, 100);

    for (unsigned i = 0; i < 20; i++)
        storm_release(thread, storm_allocate(thread, 30 + i));
    storm_release(thread, storm_exchange(thread, box_count, block));
    return NULL;
}

static void churn(struct storm_thread *thread)
{
    for (uint64_t i = 0; i < thread->rounds; i += CHURN_AT_ONCE) {
        struct storm_thread short_lived[CHURN_AT_ONCE];

        memset(short_lived, 0, sizeof(short_lived));
        for (unsigned k = 0; k < CHURN_AT_ONCE; k++) {
            short_lived[k].random = (uint32_t)(i + k) * 7919 + thread->number;
            if (pthread_create(&short_lived[k].handle, NULL, live_shortly, &short_lived[k]) != 0)
                _Exit(97);
        }
        for (unsigned k = 0; k < CHURN_AT_ONCE; k++) {
            pthread_join(short_lived[k].handle, NULL);
            thread->allocations += short_lived[k].allocations;
            thread->releases += short_lived[k].releases;
        }
    }
}

/*
 * A child's life; it does not return. What it does is not counted in the parent. has_child: it has
 * one of its own, which releases what came from two processes up.
 */
static void run_child(struct storm_thread *thread, void *inherited, void *other, bool has_child)
{
    int status = 0;
    pid_t child = 1;

    storm_release(thread, inherited);
    for (unsigned i = 0; i < 50; i++)
        storm_release(thread, storm_allocate(thread, 64 + i));
    if (has_child)
        child = fork();
    if (child == 0) {
        storm_release(thread, storm_allocate(thread, 33));
        storm_release(thread, other);
        _exit(0);
    }
    if (child < 0 || (has_child && (waitpid(child, &status, 0) != child || status != 0)))
        _exit(1);
    _exit(0);
}

static void forks(struct storm_thread *thread)
{
    for (uint64_t i = 0; i < thread->rounds; i++) {
        void *first = storm_allocate(thread, 100), *second = storm_allocate(thread, 200);
        int status = 0;
        pid_t child = fork();

        if (child == 0)
            run_child(thread, first, second, i % 8 == 0);
        storm_release(thread, first);
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            _Exit(96);
        storm_release(thread, second);
        for (unsigned k = 0; thread->number > 0 && k < 1000; k++)
            storm_release(thread, storm_allocate(thread, k));
    }
}

static void *hand_in_thread(void *thread_pointer)
{
    hand(thread_pointer);
    return NULL;
}

/* A child's life, as for run_child(). */
static void run_two_threads(struct storm_thread *thread)
{
    struct storm_thread second = {.random = thread->random * 7919 + 1, .rounds = SECOND_ROUNDS};

    thread->rounds = SECOND_ROUNDS;
    hand(thread); /* alone */
    if (pthread_create(&second.handle, NULL, hand_in_thread, &second) != 0)
        _exit(1);
    hand(thread);
    pthread_join(second.handle, NULL);
    _exit(0);
}

static void second(struct storm_thread *thread)
{
    for (uint64_t i = 0; i < thread->rounds; i++) {
        int status = 0;
        pid_t child;

        storm_random(thread);
        child = fork();
        if (child == 0)
            run_two_threads(thread);
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            _Exit(96);
    }
}

static const struct {
    const char *name;
    storm_body *body;
} modes[] = {
    {"hand", hand},   {"realloc", resize}, {"pairs", pairs},   {"random", at_random},
    {"churn", churn}, {"forks", forks},    {"second", second},
};

static void *run(void *thread_pointer)
{
    pthread_barrier_wait(&start);
    body(thread_pointer);
    return NULL;
}

static void run_threads(struct storm_thread *threads, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&threads[i].handle, NULL, run, &threads[i]) != 0)
            _Exit(97);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i].handle, NULL);
}

int main(int argc, char **argv)
{
    static struct storm_thread threads[STORM_MAX_THREADS], rest;
    unsigned thread_count = argc >= 4 ? (unsigned)atoi(argv[2]) : 0;

    for (unsigned i = 0; argc >= 4 && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(modes[i].name, argv[1]) == 0)
            body = modes[i].body;
    if (argc > 4)
        box_count = (unsigned)atoi(argv[4]);
    if (body == NULL || thread_count == 0 || thread_count > STORM_MAX_THREADS || box_count == 0 ||
        box_count > STORM_BOXES) {
        fputs("usage: stress_events MODE THREADS ROUNDS [BOXES]\n", stderr);
        return 2;
    }
    pthread_barrier_init(&start, NULL, thread_count);
    for (unsigned i = 0; i < thread_count; i++) {
        threads[i].number = i;
        threads[i].rounds = strtoull(argv[3], NULL, 10);
        threads[i].random = i * 77777 + 13;
    }
    run_threads(threads, thread_count);
    for (unsigned i = 0; i < STORM_BOXES; i++)
        storm_release(&rest, storm_box[i]);
    for (unsigned i = 0; i < thread_count; i++) {
        rest.allocations += threads[i].allocations;
        rest.releases += threads[i].releases;
    }
    printf("allocations %ju\nreleases %ju\n", (uintmax_t)rest.allocations,
           (uintmax_t)rest.releases);
    return 0;
}
