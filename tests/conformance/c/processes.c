/*
 * Ways to begin and to end a process, with allocations on both sides of them.
 */
#include "say.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>

extern char **environ;

/* exec wants words that it could change. */
static char word_true[] = "true", word_program[] = "processes", word_image[] = "image";
static char *const true_arguments[] = {word_true, NULL};
static char *const image_arguments[] = {word_program, word_image, NULL};

static void *some(size_t bytes)
{
    void *block = keep(malloc(bytes));

    if (block == NULL)
        give_up("out of memory");
    return block;
}

static void wait_for(pid_t child, int expected)
{
    int status = 0;

    if (child < 0 || waitpid(child, &status, 0) != child)
        give_up("no child");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != expected)
        give_up("child ended with status %#x", (unsigned)status);
}

/* The child gives back a block of the parent's, and allocates its own. */
static void case_fork(void)
{
    void *inherited = some(50021);
    pid_t child = fork();

    if (child == 0) {
        free(inherited);
        for (unsigned i = 0; i < 10; i++)
            some(50023);
        _exit(7);
    }
    say("child %d", (int)child);
    wait_for(child, 7);
    free(inherited);
}

/* vfork and posix_spawn: the child borrows the parent's memory until it executes. */
static void case_borrowed(void)
{
    pid_t child;

    for (unsigned i = 0; i < 20; i++) {
        child = vfork();
        if (child == 0) {
            execv("/bin/true", true_arguments);
            _exit(9);
        }
        wait_for(child, 0);
        some(50031);
        if (posix_spawn(&child, "/bin/true", NULL, NULL, true_arguments, environ) != 0)
            give_up("posix_spawn");
        wait_for(child, 0);
        some(50033);
    }
}

/* Run this program again in the same process: once as usual, then with an empty environment. */
static void case_exec(void)
{
    some(50041);
    execv("/proc/self/exe", image_arguments);
    give_up("execv");
}

static void case_exec_bare(void)
{
    char *const nothing[] = {NULL};

    some(50041);
    execve("/proc/self/exe", image_arguments, nothing);
    give_up("execve");
}

static void case_image(void)
{
    some(50043);
    say("image");
}

static void case_exec_fails(void)
{
    some(50041);
    if (execv("/nonexistent/program", image_arguments) == 0)
        give_up("execv");
    some(50045);
}

static atomic_bool is_over;

static void *allocate_all_the_time(void *unused)
{
    while (!atomic_load(&is_over)) {
        void *blocks[64];

        for (unsigned i = 0; i < 64; i++)
            blocks[i] = some(16 + 40 * i);
        for (unsigned i = 0; i < 64; i++)
            free(blocks[i]);
    }
    return unused;
}

/* Forks while another thread is inside the allocator. FORKS of them, else 1000. */
static void case_fork_storm(void)
{
    const char *text = getenv("FORKS");
    unsigned count = text != NULL ? (unsigned)atoi(text) : 1000;
    pthread_t thread;

    if (pthread_create(&thread, NULL, allocate_all_the_time, NULL) != 0)
        give_up("pthread_create");
    for (unsigned i = 0; i < count; i++) {
        pid_t child = fork();

        if (child == 0) {
            free(some(50051));
            _exit(0);
        }
        wait_for(child, 0);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    say("forks %u", count);
}

static void allocate_before_the_end(void)
{
    for (unsigned i = 0; i < 1000; i++) {
        void *block = some(50061 + i);

        if (i % 2 == 0)
            free(block);
    }
}

static void case_exit(void)
{
    allocate_before_the_end();
    exit(5);
}

static void case_quick_end(void)
{
    allocate_before_the_end();
    _exit(6);
}

static void case_kill(void)
{
    allocate_before_the_end();
    kill(getpid(), SIGKILL);
    give_up("alive");
}

static void case_segv(void)
{
    volatile char *volatile nowhere = NULL;

    allocate_before_the_end();
    *nowhere = 1;
}

static void case_abort(void)
{
    allocate_before_the_end();
    abort();
}

static const struct say_case cases[] = {
    {"fork", case_fork},
    {"borrowed", case_borrowed},
    {"exec", case_exec},
    {"exec_bare", case_exec_bare},
    {"image", case_image},
    {"exec_fails", case_exec_fails},
    {"fork_storm", case_fork_storm},
    {"exit", case_exit},
    {"quick_end", case_quick_end},
    {"kill", case_kill},
    {"segv", case_segv},
    {"abort", case_abort},
};

int main(int argc, char **argv)
{
    return say_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
