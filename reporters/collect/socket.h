/*
 * The door: where programs ask for the pool, and users for control (memtrack/protocol.h).
 */
#ifndef COLLECT_SOCKET_H
#define COLLECT_SOCKET_H

#include "base/error.h"
#include "collect/control.h"
#include "collect/session.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SOCKET_MAX_GUESTS = 64, /* connections that have not said anything yet */
};

struct socket_guest {
    int fd; /* -1: free */
    uint64_t since_ns;
    uint64_t ticket; /* of the answer it waits for, SNAPSHOT_NO_TICKET: it has not said anything */
};

struct socket_door {
    int fd; /* -1: closed */
    uint8_t token[TOKEN_BYTES];
    bool is_over;            /* the session has ended: say so */
    struct control *control; /* the collector's; NULL: nobody is served */
    struct socket_guest guests[SOCKET_MAX_GUESTS];
};

/*
 * Listen on the abstract socket of a session.
 * door: the caller's, given back by socket_close(). Context: main thread.
 */
bool socket_open(struct socket_door *door, const uint8_t uuid[UUID_BYTES],
                 const uint8_t token[TOKEN_BYTES], struct error *err);

/* Close it and send guests away. A door of all zero bytes but fd -1 is allowed. */
void socket_close(struct socket_door *door);

/*
 * Fill in what to wait for.
 * ret_polls: room for SOCKET_MAX_GUESTS + 1. Returns how many were used. Context: main thread.
 */
size_t socket_polls(const struct socket_door *door, struct pollfd *ret_polls);

/* Answer those who wait for what has come to its end. Never waits. Context: main thread. */
void socket_answer(struct socket_door *door);

/* Let in, answer and send away whoever is there. Never waits. Context: main thread. */
void socket_serve(struct socket_door *door, struct session *session);

#endif
