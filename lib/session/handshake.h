/*
 * Asking the collector for the pool and a place in it.
 */
#ifndef SESSION_HANDSHAKE_H
#define SESSION_HANDSHAKE_H

#include "memtrack/protocol.h"
#include "session/locator.h"

#include <stdbool.h>
#include <stdint.h>

/* What the collector gave us. */
struct handshake {
    int pool_fd; /* the caller's, close-on-exec */
    uint64_t pool_bytes;
    uint32_t process_slot;
};

/*
 * Connect to the session's socket, say who we are, get the pool's descriptor. Takes 200 ms at most.
 * locator: whose session.
 * how: what makes this process take part.
 * Returns false when there is no collector, or it does not want us. errno is left alone.
 * Context: start-up.
 */
bool handshake_ask(const struct locator *locator, enum pool_process_how how,
                   struct handshake *ret_handshake);

#endif
