/*
 * Programs with a known history: what was live at the peak, what was left, what lived shortly.
 *
 * The blocks of one role come from one entry of the allocator, since without stacks that is what a
 * C program's rows are told apart by.
 */
#include "say.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    UNIT = 1 << 20,
};

static void *some(void *block)
{
    if (block == NULL)
        give_up("out of memory");
    return keep(block);
}

/* calloc: freed before the peak. malloc: at the peak. memalign: after it. */
static void case_peak(void)
{
    void *early = some(calloc(1, 10 * UNIT)), *late, *high;

    free(early);
    high = some(malloc(30 * UNIT));
    free(high);
    late = some(memalign(64, 20 * UNIT));
    free(late);
}

/* Spikes grow to the last one; what each leaves behind is live then. */
static void case_spikes(void)
{
    for (unsigned i = 1; i <= 10; i++) {
        void *spike;

        some(malloc(UNIT));
        spike = some(calloc(i, UNIT));
        free(spike);
    }
}

static void case_last(void)
{
    some(malloc(3 * UNIT));
    some(calloc(1, 5 * UNIT));
}

/* Two peaks of one height: the first counts. */
static void case_equal(void)
{
    void *block = some(malloc(9 * UNIT));

    free(block);
    block = some(calloc(9, UNIT));
    free(block);
}

static void case_leaks(void)
{
    for (unsigned i = 0; i < 100; i++) {
        void *block = some(calloc(1, 10007));

        if (i % 10 != 3)
            free(block);
    }
}

/* Released after k further allocations of the thread, for k = 0, 1, 2, 3. */
static void case_temporary(void)
{
    void *held[4];
    void *block;

    block = some(memalign(64, 4001));
    free(block);
    block = some(calloc(1, 4003));
    held[0] = some(malloc(64));
    free(block);
    block = some(valloc(4005));
    held[1] = some(malloc(64));
    held[2] = some(malloc(64));
    free(block);
    block = some(aligned_alloc(64, 4096));
    held[3] = some(malloc(64));
    some(malloc(64));
    some(malloc(64));
    free(block);
    for (unsigned i = 0; i < 4; i++)
        say_address("held", held[i]);
}

static pthread_barrier_t turn;

static void *others_allocate(void *unused)
{
    pthread_barrier_wait(&turn);
    for (unsigned i = 0; i < 100; i++)
        some(malloc(64));
    pthread_barrier_wait(&turn);
    return unused;
}

/* What another thread allocates meanwhile does not count. */
static void case_temporary_threads(void)
{
    pthread_t other;
    void *block;

    pthread_barrier_init(&turn, NULL, 2);
    if (pthread_create(&other, NULL, others_allocate, NULL) != 0)
        give_up("pthread_create");
    block = some(memalign(64, 4001));
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    free(block);
    pthread_join(other, NULL);
}

static void case_resident(void)
{
    struct timespec moment = {.tv_nsec = 300 * 1000 * 1000};
    char *block = some(malloc(64 * UNIT));

    memset(block, 1, 64 * UNIT);
    nanosleep(&moment, NULL);
    free(block);
}

static void *name_by_prctl(void *unused)
{
    prctl(PR_SET_NAME, "by-prctl");
    free(some(malloc(30001)));
    return unused;
}

static void *name_by_pthread(void *unused)
{
    pthread_setname_np(pthread_self(), "by-pthread");
    free(some(malloc(30003)));
    return unused;
}

static void *name_late(void *unused)
{
    free(some(malloc(30005)));
    pthread_setname_np(pthread_self(), "named-late");
    free(some(malloc(30007)));
    return unused;
}

static void case_thread_names(void)
{
    void *(*const bodies[])(void *) = {name_by_prctl, name_by_pthread, name_late};

    for (unsigned i = 0; i < 3; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, bodies[i], NULL) != 0)
            give_up("pthread_create");
        pthread_join(thread, NULL);
    }
}

static pthread_key_t key;

static void allocate_late(void *value)
{
    (void)value;
    some(malloc(30011));
}

static void *leave_a_value(void *unused)
{
    pthread_setspecific(key, &key);
    return unused;
}

static void case_thread_destructor(void)
{
    pthread_key_create(&key, allocate_late);
    for (unsigned i = 0; i < 5; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, leave_a_value, NULL) != 0)
            give_up("pthread_create");
        pthread_join(thread, NULL);
    }
}

static void case_nothing(void)
{
    _exit(0);
}

static const struct say_case cases[] = {
    {"peak", case_peak},
    {"spikes", case_spikes},
    {"last", case_last},
    {"equal", case_equal},
    {"leaks", case_leaks},
    {"temporary", case_temporary},
    {"temporary_threads", case_temporary_threads},
    {"resident", case_resident},
    {"thread_names", case_thread_names},
    {"thread_destructor", case_thread_destructor},
    {"nothing", case_nothing},
};

int main(int argc, char **argv)
{
    return say_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
