/*
 * A storm of signals: stress_signals THREADS ROUNDS JUMP.
 *
 * Threads hand blocks over while signals keep arriving. The handler allocates, hands over and
 * resizes as well, and one in JUMP (0: none) leaves by siglongjmp() for good, from wherever it was:
 * most of all from inside a hook, up to a number of times. Run it with stress_allocator.so, which bears that; the C
 * library's allocator does not.
 * Counting stops being exact where a jump cuts a call in two, so nothing is counted.
 */
#include "storm.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

enum {
    BOXES = 64,
    MOST_JUMPS = 12000, /* each may cost a block, and stress_allocator.so has 16 384 */
};

static struct storm_thread threads[STORM_MAX_THREADS];
static sigjmp_buf way_out[STORM_MAX_THREADS];
static unsigned thread_count;
static uint32_t jump_rate;
static atomic_bool is_over;
static _Atomic uint64_t handled, jumped;

static __thread unsigned my_number __attribute__((tls_model("initial-exec")));
static __thread volatile sig_atomic_t can_jump __attribute__((tls_model("initial-exec")));

static void handle(int signal_number)
{
    static struct storm_thread handler_threads[STORM_MAX_THREADS];
    struct storm_thread *mine = &handler_threads[my_number];
    int saved_errno = errno;
    uint32_t chance = storm_random(mine);
    void *block = storm_allocate(mine, 16 + (chance >> 25));

    (void)signal_number;
    storm_release(mine, storm_exchange(mine, BOXES, block));
    if (chance >> 30 == 0)
        storm_release(mine, storm_resize(mine, storm_allocate(mine, 20), 300));
    atomic_fetch_add(&handled, 1);
    errno = saved_errno;
    if (can_jump && jump_rate != 0 && (chance >> 8) % jump_rate == 0 &&
        atomic_load(&jumped) < MOST_JUMPS) {
        can_jump = 0;
        atomic_fetch_add(&jumped, 1);
        siglongjmp(way_out[my_number], 1);
    }
}

static void *run(void *thread_pointer)
{
    struct storm_thread *thread = thread_pointer;

    my_number = thread->number;
    sigsetjmp(way_out[my_number], 1);
    can_jump = 1;
    /* What is left of the rounds survives a jump in the thread's own place. */
    while (thread->rounds > 0) {
        void *block = storm_allocate(thread, 24 + (storm_random(thread) >> 26) * 8);

        storm_release(thread, storm_exchange(thread, BOXES, block));
        thread->rounds--;
    }
    can_jump = 0;
    return NULL;
}

/* With pauses: else a thread may come to nothing but handling. */
static void *send_signals(void *unused)
{
    for (unsigned i = 0; !atomic_load(&is_over); i++) {
        pthread_kill(threads[i % thread_count].handle, SIGUSR1);
        if (i % 32 == 0)
            usleep(20);
    }
    return unused;
}

/* A thread that is done handles signals still, so its handle stays good to send to. */
static void *run_and_stay(void *thread_pointer)
{
    run(thread_pointer);
    while (!atomic_load(&is_over))
        usleep(1000);
    return NULL;
}

static bool are_all_done(void)
{
    for (unsigned i = 0; i < thread_count; i++)
        if (*(volatile uint64_t *)&threads[i].rounds > 0)
            return false;
    return true;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    pthread_t sender;

    thread_count = argc == 4 ? (unsigned)atoi(argv[1]) : 0;
    if (thread_count == 0 || thread_count > STORM_MAX_THREADS) {
        fputs("usage: stress_signals THREADS ROUNDS JUMP\n", stderr);
        return 2;
    }
    jump_rate = (uint32_t)atoi(argv[3]);
    sigaction(SIGUSR1, &action, NULL);
    for (unsigned i = 0; i < thread_count; i++) {
        threads[i].number = i;
        threads[i].random = i * 77777 + 5;
        threads[i].rounds = strtoull(argv[2], NULL, 10);
        if (pthread_create(&threads[i].handle, NULL, run_and_stay, &threads[i]) != 0)
            return 97;
    }
    if (pthread_create(&sender, NULL, send_signals, NULL) != 0)
        return 97;
    while (!are_all_done())
        usleep(1000);
    atomic_store(&is_over, true);
    pthread_join(sender, NULL);
    for (unsigned i = 0; i < thread_count; i++)
        pthread_join(threads[i].handle, NULL);
    printf("handled %ju\njumped %ju\n", (uintmax_t)handled, (uintmax_t)jumped);
    return 0;
}
