/*
 * What `run` does while the program runs: hand on signals, stop when it stops, see it end; and
 * after that, wait for the collector.
 */
#ifndef CLI_SUPERVISE_H
#define CLI_SUPERVISE_H

#include "session.h"
#include "signals.h"

#include <stdbool.h>
#include <sys/types.h>

enum {
    SUPERVISE_MOST_FAILURES = 16,
};

struct supervise {
    pid_t program;
    struct session *session;       /* the caller's */
    const struct signals *signals; /* the caller's */
    bool has_ended;                /* the program has */
    int status;                    /* of the program, as wait() gives it */
    int collector_status;          /* as wait() gives it; valid when collector_has_ended */
    bool collector_has_ended;
    char
        *failures[SUPERVISE_MOST_FAILURES]; /* what the collector could not do beside the capture */
    unsigned failure_count;                 /* live as long as this process */
    struct session_message last;            /* the collector's last ERROR, or its final word */
};

/* Return when the program has ended. Context: tool. */
void supervise_program(struct supervise *supervise);

/*
 * Tell the collector that the program has ended and wait for its answer, which is then in `last`:
 * SESSION_FINISHED, SESSION_RUNNING, SESSION_ERROR, SESSION_CLOSED, or SESSION_NOTHING when the
 * user did not want to wait. Context: tool.
 */
void supervise_collector(struct supervise *supervise);

#endif
