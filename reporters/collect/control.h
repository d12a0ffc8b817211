/*
 * Whether events are recorded: begun late, paused, ended early, as the options and the user say.
 *
 * Main thread. What holds: every change of the state is in the capture, with its time and its cause.
 */
#ifndef COLLECT_CONTROL_H
#define COLLECT_CONTROL_H

#include "collect/session.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
    CONTROL_MOST_FAILURES = 16, /* to be told of at the end; the first ones */
};

struct control {
    struct session *session;
    const char *capture_path; /* the owner's */
    enum pool_state state;
    uint64_t begin_ns;    /* when recording is to begin; 0: it has, or waits for the user */
    uint64_t duration_ns; /* of the recording; 0: as long as there are programs */
    uint64_t end_ns;      /* when it is to end; 0: not known yet, or never */
    uint64_t last_ticket; /* of those who wait for a snapshot */
    uint64_t
        claimed_ns[POOL_REQUEST_COUNT];    /* when a request was first seen CLAIMED; 0: it is not */
    char *failures[CONTROL_MOST_FAILURES]; /* of what nobody waits for */
    uint32_t failure_count;
};

/*
 * Begin before the pool exists; session->start_ns is known. session, capture_path: stay the caller's.
 * delay_ns, duration_ns: 0 where there is none. Context: main thread.
 */
void control_init(struct control *control, struct session *session, const char *capture_path,
                  uint64_t delay_ns, uint64_t duration_ns);

/* Free what is kept. Context: main thread. */
void control_finish(struct control *control);

/* The pool and the pack thread are there: note the state that it has. Context: main thread. */
void control_begin(struct control *control);

/*
 * Change the state: no more than that, when it is another. Of one that has ended nothing is changed.
 * Context: main thread.
 */
void control_set(struct control *control, enum pool_state state, enum state_cause cause);

/*
 * Do what a request asks for.
 * request: as it came, request_bytes of it. peer: who asks.
 * Returns SNAPSHOT_NO_TICKET when that is the answer; else the ticket of another one that follows.
 * Context: main thread.
 */
uint64_t control_serve(struct control *control, const struct control_request *request,
                       size_t request_bytes, const struct ucred *peer,
                       struct control_answer *ret_answer);

/* Pause, though recording is to begin later by itself. Context: main thread. */
void control_pause(struct control *control, enum state_cause cause);

/* Begin a snapshot that nobody waits for. name: of the file; NULL: a number. Context: main thread. */
void control_snapshot(struct control *control, const char *name);

/* Write a mark from outside, of no process. name: copied. Context: main thread. */
void control_mark(struct control *control, const char *name);

/* Do what programs ask for (memtrack.h). Context: main thread. */
void control_hear_programs(struct control *control);

/*
 * Something that nobody waits for has failed: keep it for the end.
 * text: a sentence, copied. Context: main thread.
 */
void control_note_failure(struct control *control, const char *text);

/*
 * Take an answer to a request of before. ret_ticket: of whom it is for.
 * Returns false when there is none. Context: main thread.
 */
bool control_take_answer(struct control *control, uint64_t *ret_ticket,
                         struct control_answer *ret_answer);

/* Do what is due. Returns true when recording has ended for good. Context: main thread. */
bool control_is_over(struct control *control);

/* Return how long to wait until something is due; at most so long. Context: main thread. */
int control_wait_ms(const struct control *control, int most_ms);

#endif
