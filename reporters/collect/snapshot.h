/*
 * Snapshots: finished captures of all that was recorded up to an instant, beside the one that goes on.
 *
 * Nobody waits for one. It is asked for by the main thread; the drain then reads all rings to where they
 * are now, the clock hands over its times, the pack thread notes how far the file has come when it gets
 * to that point, and a thread of the snapshots' own copies so much and writes an end behind it. What the
 * copy holds of events after the instant is beyond its bounds (docs/format.md, SUMMARY).
 */
#ifndef COLLECT_SNAPSHOT_H
#define COLLECT_SNAPSHOT_H

#include "base/error.h"
#include "collect/records.h"
#include "collect/session.h"
#include "collect/sink.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SNAPSHOT_NO_TICKET = 0,
    SNAPSHOT_MOST_AT_ONCE = 48,
    SNAPSHOT_NAME_BYTES = 100, /* of a name that a program gives */
};

struct snapshots;

struct snapshot_request {
    const char *path; /* absolute; NULL: the capture's with a name or a number behind it */
    const char *name; /* what stands behind it; NULL: a number */
    bool may_overwrite;
    uint64_t ticket; /* who waits for it; SNAPSHOT_NO_TICKET: nobody */
};

struct snapshot_result {
    uint64_t ticket;
    bool is_done;
    char *path;         /* the caller's, when it is done */
    struct error error; /* when it is not */
};

/*
 * Make an empty list of them; no thread runs before there is one.
 * session, capture_path: stay the caller's. Context: main thread.
 */
struct snapshots *snapshots_create(struct session *session, const char *capture_path);

/*
 * Let those that are under way come to their end, and no more be asked for; their results are still to
 * be taken. The drain, the clock and the pack thread have ended. NULL is allowed. Context: main thread.
 */
void snapshots_end(struct snapshots *snapshots);

/* Give it back, after snapshots_end(). NULL is allowed. Context: main thread. */
void snapshots_destroy(struct snapshots *snapshots);

/*
 * Ask for one of what has been recorded until now; the main thread is woken when there is a result.
 * Returns false with err. Context: main thread.
 */
bool snapshots_ask(struct snapshots *snapshots, const struct snapshot_request *request,
                   struct error *err);

/* Take a result. Returns false when there is none. Context: main thread. */
bool snapshots_take_result(struct snapshots *snapshots, struct snapshot_result *ret_result);

/*
 * Return how many have been asked for, ever. What was recorded before one was counted is seen by a scan
 * that begins afterwards. NULL is allowed. Context: drain thread.
 */
uint64_t snapshots_asked(const struct snapshots *snapshots);

/*
 * All that the first so many are of is handed over, and the bounds that say so.
 * counters: records of what only the end of a capture says else. counts: so far.
 * Context: drain thread.
 */
void snapshots_pass_drain(struct snapshots *snapshots, uint64_t asked,
                          const struct records *counters, const struct sink_counts *counts);

/* Return whether the clock's times are waited for. NULL is allowed. Context: clock thread. */
bool snapshots_want_clock(struct snapshots *snapshots);

/* They are handed over. Context: clock thread. */
void snapshots_pass_clock(struct snapshots *snapshots);

#endif
