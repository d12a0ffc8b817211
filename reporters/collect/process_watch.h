/*
 * Watching one process that is not in the table, until it ends.
 */
#ifndef COLLECT_PROCESS_WATCH_H
#define COLLECT_PROCESS_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct process_watch {
    int pidfd; /* -1: nobody is watched */
};

/* Watch a process. Returns false when pid is 0 or it is gone already. Context: main thread. */
bool process_watch_begin(struct process_watch *watch, uint32_t pid);

/* Return whether it lives; when not, the watch ends. Context: main thread. */
bool process_watch_is_alive(struct process_watch *watch);

/* End the watch; without one nothing happens. Context: main thread. */
void process_watch_end(struct process_watch *watch);

#endif
