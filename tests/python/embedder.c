/*
 * A program that loads libpython late, starts and ends the interpreter several times, and closes the
 * library, while threads that Python does not know allocate all the time.
 *
 * Python's own threads have ended before the interpreter does: CPython's embedders crash without us
 * when they have not. Arguments: the library, "local" or "global". Needs no Python.h. Prints one line
 * of JSON.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ROUNDS = 4,
    THREADS = 2,
    PAUSE_US = 200,
};

static atomic_bool is_over;

static void allocate(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char *block = malloc(100 + i % 4000);

        if (block != NULL)
            memset(block, 1, 100);
        free(block);
    }
}

static void *stranger(void *argument)
{
    (void)argument;
    while (!is_over) {
        allocate(200);
        usleep(PAUSE_US);
    }
    return NULL;
}

/* Builtin modules only: with RTLD_LOCAL no extension module finds its symbols. */
static const char program[] = "import _thread, time\n"
                              "def deep(n):\n"
                              "    return deep(n - 1) if n else bytearray(1000)\n"
                              "kept = [deep(i % 50) for i in range(300)]\n"
                              "ended = []\n"
                              "def body(rounds):\n"
                              "    for _ in range(rounds):\n"
                              "        time.sleep(0.0005)\n"
                              "        deep(5)\n"
                              "    ended.append(rounds)\n";
static const char threads_of_python[] = "for _ in range(2):\n"
                                        "    _thread.start_new_thread(body, (20,))\n"
                                        "while len(ended) < 2:\n"
                                        "    time.sleep(0.001)\n"
                                        "time.sleep(0.01)\n";

static uint64_t probe_of(unsigned which)
{
    uint64_t (*number)(unsigned) = (uint64_t(*)(unsigned))dlsym(RTLD_DEFAULT, "probe_number");

    return number != NULL ? number(which) : 0;
}

static void run_rounds(void *library)
{
    void (*initialize)(int) = (void (*)(int))dlsym(library, "Py_InitializeEx");
    void (*finalize)(void) = (void (*)(void))dlsym(library, "Py_Finalize");
    int (*run)(const char *, void *) =
        (int (*)(const char *, void *))dlsym(library, "PyRun_SimpleStringFlags");

    for (unsigned i = 0; i < ROUNDS; i++) {
        initialize(0);
        if (run(program, NULL) != 0 || run(threads_of_python, NULL) != 0)
            exit(3);
        finalize();
        allocate(1000);
    }
}

int main(int argc, char **argv)
{
    void (*find)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "probe_find");
    pthread_t threads[THREADS];
    uint64_t was_ready;
    void *library;

    if (argc != 3 || find == NULL)
        return 2;
    find();
    was_ready = probe_of(1);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, stranger, NULL);
    library =
        dlopen(argv[1], RTLD_NOW | (strcmp(argv[2], "local") == 0 ? RTLD_LOCAL : RTLD_GLOBAL));
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    find();
    run_rounds(library);
    dlclose(library);
    allocate(1000);
    is_over = true;
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("{\"was_ready\": %d, \"ready\": %d, \"faults\": %d, \"walks\": %d, \"pushes\": %d}\n",
           (int)was_ready, (int)probe_of(1), (int)probe_of(0), (int)probe_of(5), (int)probe_of(6));
    fflush(stdout);
    _exit(0); /* daemon threads of an ended interpreter are not our subject */
}
