/*
 * Names of native frames, stored in the capture at its end: so a report elsewhere, or when the program has been
 * built again, shows them too.
 */
#ifndef COLLECT_SYMBOLS_H
#define COLLECT_SYMBOLS_H

#include "collect/sink.h"
#include "symbol/stored.h"

#include <stdint.h>

/*
 * Find the names of all native frames that were met, and give their records away. It takes seconds at most.
 * sink: nobody adds to it any more. realtime_ns: of the session's start. ended_ns: since then. put: as of
 * stored_write().
 * Context: main thread, when no other is left.
 */
void symbols_store(const struct sink *sink, uint64_t realtime_ns, uint64_t ended_ns,
                   stored_put *put, void *user);

#endif
