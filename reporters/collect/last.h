/*
 * The flight recorder (`run --last TIME`): the capture is cut again and again, so that it holds at least
 * the last TIME and not much more than twice that.
 *
 * When it holds more, a process of its own (`memtrack cut`) writes its last part into a file without a name,
 * and copies behind it what comes meanwhile. The pack thread then copies the small rest between two sections,
 * gives the new file the name, and goes on in it (docs/architecture.md). So what has the name is a capture of
 * all that it is to hold, whoever is killed when, and nobody waits for longer than the rest takes.
 *
 * The process is told how many bytes of the capture are there, at what time to cut (ns), the capture's name
 * and how nice to be. It has the files LAST_FROM_FD and LAST_TO_FD, and says one line on LAST_RESULT_FD:
 *   done TIME FROM TO   cut at TIME (ns); FROM bytes of the capture are in the new file, which has TO
 *   failed TEXT         why not, for people
 */
#ifndef COLLECT_LAST_H
#define COLLECT_LAST_H

#include "capture/writer.h"
#include "collect/control.h"
#include "collect/session.h"

#include <stdint.h>

enum {
    LAST_FROM_FD = 3,
    LAST_TO_FD = 4,
    LAST_RESULT_FD = 5,
};

#define LAST_DONE   "done"
#define LAST_FAILED "failed"

struct last;

/*
 * Begin.
 * last_ns: to be held at least; 0: all is, and nothing will be done. writer: the pack thread's while that
 * runs; must outlive all of it, as must the others. path: of the capture, absolute.
 * Returns NULL with last_ns 0. Context: main thread.
 */
struct last *last_begin(uint64_t last_ns, struct session *session, struct control *control,
                        struct capture_writer *writer, const char *path);

/* Do what is due; never waits. NULL is allowed. Context: main thread. */
void last_look(struct last *last);

/* What to wait for with it: a descriptor that becomes readable, or -1. NULL is allowed. Context: main thread. */
int last_fd(const struct last *last);

/* End the process, if there is one; before pack_stop(). NULL is allowed. Context: main thread. */
void last_stop(struct last *last);

/* Give it back, after pack_stop(). NULL is allowed. Context: main thread. */
void last_free(struct last *last);

#endif
