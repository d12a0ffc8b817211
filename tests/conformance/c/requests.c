/*
 * Programs that ask memtrack to record, to pause and to make snapshots. Blocks of 1000000 bytes and more
 * say by their size when they were allocated.
 */
#include "say.h"

#include <errno.h>
#include <memtrack/memtrack.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum {
    BASE_BYTES = 1000000,
    THREADS = 4,
    ROUNDS = 300,
    MANY = 400,
};

static void *volatile kept;

static void allocate(int number)
{
    kept = malloc(BASE_BYTES + (size_t)number);
}

static void steps(void)
{
    errno = ENOTDIR;
    allocate(1);
    memtrack_snapshot("one");
    allocate(2);
    memtrack_stop();
    allocate(3);
    memtrack_stop();
    memtrack_start();
    allocate(4);
    memtrack_start();
    memtrack_snapshot("a/b\n\xc3\xa4");
    memtrack_snapshot("one");
    memtrack_snapshot(NULL);
    memtrack_snapshot("");
    say("errno %d", errno == ENOTDIR);
}

/* What has been asked for last is still heard. */
static void last(void)
{
    allocate(1);
    memtrack_snapshot("last");
    _exit(0);
}

static void pause_often(int round)
{
    if (round % 3 == 0)
        memtrack_stop();
    else
        memtrack_start();
}

static void *work(void *shared)
{
    void **place = shared;

    for (int i = 0; i < ROUNDS; i++) {
        void *block = malloc(100 + (size_t)i);

        free(__atomic_exchange_n(place, block, __ATOMIC_ACQ_REL));
        pause_often(i);
    }
    return NULL;
}

static void crowd(void)
{
    pthread_t threads[THREADS];
    void *place = NULL;

    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, &place) != 0)
            give_up("no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    memtrack_start();
    allocate(1);
}

/* A child speaks for all. */
static void forks(void)
{
    int status;
    pid_t child;

    allocate(1);
    child = fork();
    if (child == 0) {
        allocate(2);
        memtrack_stop();
        allocate(3);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        give_up("no child");
    usleep(50000); /* until the others have heard of it */
    allocate(4);
}

static void speak(int number)
{
    memtrack_stop();
    memtrack_start();
    if (number == SIGUSR1)
        memtrack_snapshot(NULL);
}

static void handler(void)
{
    struct sigaction action = {.sa_handler = speak};

    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    allocate(1);
}

static void many(void)
{
    allocate(1);
    for (int i = 0; i < MANY; i++)
        memtrack_snapshot(NULL);
}

/* Behind a filter that refuses what it does not know, nobody may be woken or waited for. */
static void filtered(void)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        give_up("no new privileges: %s", strerror(errno));
    allocate(1);
    memtrack_stop();
    usleep(200000);
    allocate(2);
    memtrack_snapshot("filtered");
}

static void wakes(void)
{
    memtrack_start();
    allocate(1);
}

/* Does what it is told, by letters. */
static void told(void)
{
    char letter, name[2] = "";

    say("pid %d", (int)getpid());
    for (int i = 1; read(STDIN_FILENO, &letter, 1) == 1; i++) {
        if (letter == '-')
            memtrack_stop();
        else if (letter == '+')
            memtrack_start();
        name[0] = letter;
        if (letter != '-' && letter != '+')
            memtrack_snapshot(name);
        allocate(i);
        say("done %d", i);
    }
}

static const struct say_case cases[] = {
    {"steps", steps},       {"last", last},       {"crowd", crowd},
    {"forks", forks},       {"handler", handler}, {"many", many},
    {"filtered", filtered}, {"wakes", wakes},     {"told", told},
};

int main(int argc, char **argv)
{
    return say_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
