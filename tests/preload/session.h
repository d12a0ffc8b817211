/*
 * Running a program with the tracker preloaded, with a test in the collector's place.
 */
#ifndef PRELOAD_SESSION_H
#define PRELOAD_SESSION_H

#include "pool.h"

/* How a program is to be run. Zero and NULL are the usual. */
struct session_options {
    uint64_t pool_options;
    uint32_t ring_count;        /* 0: 16 */
    bool refuses;               /* the handshake is answered with HANDSHAKE_REFUSED */
    bool is_silent;             /* no answer at all */
    bool has_no_socket;         /* nobody listens */
    bool lets_rings_fill;       /* nothing is drained before the end */
    bool is_stopped;            /* no tick and no heartbeat either */
    const char *preload_more;   /* another library, after ours */
    const char *preload_before; /* another library, before ours */
    const char *variable;       /* "NAME=value", added to the environment */
    int output_fd;              /* where stdout goes; 0: as the test's */
    void (*in_child)(void);     /* called before exec */
};

/* What came of it. */
struct session_result {
    int status; /* as of waitpid() */
    unsigned count_hellos;
    struct handshake_hello hello; /* the last one */
    struct test_pool pool;        /* drained; ends with test_pool_finish() */
};

/*
 * Run a program until it and all that have the pool mapped have ended.
 * arguments: its own, the path first, NULL last.
 * Ends the test when it cannot, and when the program runs for more than a minute.
 */
void session_run(const struct session_options *options, char *const *arguments,
                 struct session_result *ret_result);

/* The same for tests/preload/tracked.c: scene is what it is to do. */
void session_run_scene(const struct session_options *options, const char *scene,
                       struct session_result *ret_result);

/* Return a cursor at the beginning of the stream of a process's first thread. */
struct pool_cursor session_main_stream(const struct session_result *result, uint32_t process);

#endif
