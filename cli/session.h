/*
 * `run`'s side of a session: makes its identity, starts the collector, speaks with it
 * (reporters/collect/collect.h says in which words).
 */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "base/error.h"
#include "memtrack/protocol.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    /* Two numbers as hexadecimal digits with a colon between them, and a NUL. */
    SESSION_IDENTITY_BYTES = 2 * UUID_BYTES + 1 + 2 * TOKEN_BYTES + 1,
    SESSION_MESSAGE_BYTES = 8192,
};

struct session {
    pid_t collector;
    int fd; /* to the collector; -1 when it has gone */
    char identity[SESSION_IDENTITY_BYTES];
};

struct session_request {
    const char *output; /* absolute */
    bool may_overwrite;
    uint64_t pool_options; /* enum pool_option */
    bool has_no_symbols;   /* names of native frames are not stored at the end */
    uint64_t min_size;     /* smaller blocks are not recorded */
    const char *index;     /* as --index has it; NULL: not given */
    uint64_t sample_bytes; /* mean between two picks of a sample; 0: all are recorded */
    /* Of the capture and of time, as the user wrote them; NULL: any. */
    const char *max_file, *max_overhead;
    uint64_t last_ns;          /* of the end is kept at least; 0: all is */
    bool is_aggregated;        /* the events are not kept */
    bool is_dormant;           /* nothing is recorded until somebody asks for it */
    uint64_t delay_ns;         /* before recording begins; 0: none */
    uint64_t duration_ns;      /* of the recording; 0: as long as there are programs */
    const char *const *exceed; /* values of --on-exceed, which have been understood */
    unsigned exceed_count;
    bool has_commands;      /* among them: what they write goes where our errors go */
    char *const *arguments; /* of the program, NULL-terminated */
};

enum session_word {
    SESSION_NOTHING, /* no message is waiting */
    SESSION_READY,
    SESSION_ERROR,
    SESSION_FINISHED,
    SESSION_RUNNING,
    SESSION_FAILED, /* something that the user wanted beside the capture */
    SESSION_CLOSED, /* the collector is gone; nothing more will come */
};

struct session_message {
    enum session_word word;
    char text[SESSION_MESSAGE_BYTES]; /* of ERROR, FINISHED, FAILED; RUNNING: the number */
};

/*
 * Start the collector. It gets nothing of this process but the socket.
 * Returns false with err. Context: tool.
 */
bool session_start(const struct session_request *request, struct session *ret_session,
                   struct error *err);

/*
 * Wait until targets may come.
 * given_up_fd: when this one hangs up meanwhile, so does the wait.
 * Returns false with err: the collector could not start, or was not to. Context: tool.
 */
bool session_wait_ready(struct session *session, int given_up_fd, struct error *err);

/* Return the value of MEMTRACK_SESSION. Memory to be given to free(). Context: tool. */
char *session_variable(const struct session *session, const char *output)
    __attribute__((returns_nonnull));

/* Send a line of text; a collector that has gone is no failure. Context: tool. */
void session_send(const struct session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Take a message if there is one; closes the socket at its end. Context: tool. */
void session_receive(struct session *session, struct session_message *ret_message);

/* Close the socket: the collector goes on without a starter. Context: tool. */
void session_close(struct session *session);

#endif
