/*
 * A library for Python programs (ctypes): calls that Python itself would not make.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

void *foreign_open(const char *path);
int foreign_thread(void (*callback)(void), size_t bytes);
void foreign_call(void (*callback)(void), size_t bytes);

/* dlopen() while nobody holds the interpreter's lock: ctypes gives it up around the call. */
void *foreign_open(const char *path)
{
    return dlopen(path, RTLD_NOW);
}

struct thread_start {
    void (*callback)(void);
    size_t bytes;
};

static void *thread_body(void *start_pointer)
{
    const struct thread_start *start = start_pointer;
    void *volatile block = malloc(start->bytes);

    start->callback();
    free(block);
    block = malloc(start->bytes + 2);
    free(block);
    return NULL;
}

/*
 * Start a thread that Python has not made: it allocates, calls Python, and allocates again.
 * Returns 0 once the thread has ended.
 */
int foreign_thread(void (*callback)(void), size_t bytes)
{
    struct thread_start start = {callback, bytes};
    pthread_t thread;

    if (pthread_create(&thread, NULL, thread_body, &start) != 0)
        return 1;
    return pthread_join(thread, NULL);
}

/* C between Python and Python. */
void foreign_call(void (*callback)(void), size_t bytes)
{
    void *volatile block = malloc(bytes);

    free(block);
    callback();
}
