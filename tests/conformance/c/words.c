/*
 * Programs that tell memtrack of marks, phases and pools.
 */
#include "say.h"

#include <errno.h>
#include <memtrack/memtrack.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

enum {
    ROUNDS = 300,
    BEFORE_BYTES = 2000, /* small: a larger block begins a segment by itself */
    AFTER_BYTES = 3000,
    NAMES = 6000,
    POOLS = 200,
    TICKS = 200,
};

static void marks(void)
{
    unsigned long outer, inner;

    errno = ENOTDIR;
    memtrack_mark("begin");
    outer = memtrack_phase_begin("outer");
    free(keep(malloc(3000000)));
    inner = memtrack_phase_begin("inner");
    free(keep(malloc(700001)));
    memtrack_phase_end(inner);
    free(keep(malloc(1000001)));
    memtrack_phase_end(outer);
    memtrack_mark("begin");
    memtrack_phase_end(memtrack_phase_begin("inner"));
    memtrack_phase_begin("open");
    say("errno %d", errno == ENOTDIR);
    /* Nothing happens. */
    memtrack_mark(NULL);
    memtrack_phase_end(0);
    memtrack_pool_alloc("nothing", NULL, 7);
    memtrack_pool_free("nothing", NULL);
}

static atomic_int turn;

static void *work(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        free(keep(malloc((size_t)(BEFORE_BYTES + i))));
        atomic_store(&turn, 2 * i + 1);
        while (atomic_load(&turn) != 2 * i + 2)
            ;
        free(keep(malloc((size_t)(AFTER_BYTES + i))));
    }
    return unused;
}

/* What another thread does before a mark and after it. */
static void order(void)
{
    pthread_t thread;
    char name[32];

    if (pthread_create(&thread, NULL, work, NULL) != 0)
        give_up("no thread");
    for (int i = 0; i < ROUNDS; i++) {
        while (atomic_load(&turn) != 2 * i + 1)
            ;
        snprintf(name, sizeof(name), "round %d", i);
        memtrack_mark(name);
        atomic_store(&turn, 2 * i + 2);
    }
    pthread_join(thread, NULL);
}

static void names(void)
{
    char text[3000];

    for (int twice = 0; twice < 2; twice++)
        for (int i = 0; i < NAMES; i++) {
            snprintf(text, sizeof(text), "name %d", i);
            memtrack_mark(text);
        }
    memset(text, 'x', sizeof(text));
    memcpy(text + 998, "\xf0\x9f\x90\x8d", 4); /* a character over the end of what counts */
    text[2000] = '\0';
    memtrack_mark(text);
    memtrack_mark("");
}

static void pools(void)
{
    static char memory[POOLS * 64];
    char name[32];

    for (int i = 0; i < POOLS; i++) {
        snprintf(name, sizeof(name), "pool %d", i);
        memtrack_pool_alloc(name, memory + 64 * i, 48);
    }
    for (int i = 0; i < POOLS; i += 2) {
        snprintf(name, sizeof(name), "pool %d", i);
        memtrack_pool_free(name, memory + 64 * i);
    }
}

/* A pool's block lies at the very address of the chunk that malloc gave. */
static void arena(void)
{
    char *chunk = keep(malloc(100003));

    say_address("chunk", chunk);
    memtrack_pool_alloc("arena", chunk, 40001);
    memtrack_pool_alloc("arena", chunk + 50001, 20001);
    memtrack_pool_free("arena", chunk);
    memtrack_pool_alloc("arena", chunk, 30001);
    free(chunk);
}

static void forks(void)
{
    char block[16];
    int status;
    pid_t child;

    memtrack_mark("both");
    memtrack_pool_alloc("both", block, 5);
    memtrack_phase_begin("parent");
    child = fork();
    if (child == 0) {
        memtrack_mark("child");
        memtrack_mark("both");
        memtrack_pool_alloc("child", block + 8, 6);
        memtrack_pool_alloc("both", block, 7);
        memtrack_phase_end(memtrack_phase_begin("child"));
        usleep(20000); /* between processes there is the clock alone, which ticks each ms */
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        give_up("no child");
    say("child %d", (int)child);
    memtrack_mark("end");
}

static volatile sig_atomic_t ticks;

static void tick(int number)
{
    (void)number;
    memtrack_mark("tick");
    ticks = ticks + 1;
}

static void handler(void)
{
    struct itimerspec each = {{0, 200000}, {0, 200000}};
    struct sigaction action = {.sa_handler = tick};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    timer_t timer;

    memtrack_mark("tick");
    sigaction(SIGALRM, &action, NULL);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, 0, &each, NULL) != 0)
        give_up("no timer");
    while (ticks < TICKS)
        free(keep(malloc(24)));
    timer_delete(timer);
    say("ticks %d", (int)ticks + 1);
}

static const struct say_case cases[] = {
    {"marks", marks}, {"order", order}, {"names", names},     {"pools", pools},
    {"arena", arena}, {"forks", forks}, {"handler", handler},
};

int main(int argc, char **argv)
{
    return say_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
