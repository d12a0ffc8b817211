/*
 * The events of a capture, told to the ledger as what they mean.
 *
 * It knows what is live in each process: blocks by address, ranges, what a forked child began with.
 * It pairs a release with what follows it in its thread: the result of a realloc, or UNDO.
 */
#ifndef PROFILE_REPLAY_H
#define PROFILE_REPLAY_H

#include "capture/merge.h"
#include "profile/ledger.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct replay;
struct failures;
struct marks;
struct pools;

/* ledger: of the same capture, stays the caller's and must outlive it. Context: tool. */
struct replay *replay_open(const struct capture *capture, const struct profile_options *options,
                           struct ledger *ledger);

/*
 * The capture has grown, as has the ledger.
 * Returns false when something has come that should have been known before events that were told:
 * what was made of them is of no use then. Context: tool.
 */
bool replay_extend(struct replay *replay);

/*
 * Return whether all that was told could be told rightly: an event of an instant that is forgotten
 * (capture_follow_forget()) could not. Context: tool.
 */
bool replay_is_right(const struct replay *replay);

/* Return how many bytes the blocks that are live take. Context: tool. */
size_t replay_block_bytes(const struct replay *replay);

/* Tell the next events. Context: tool. */
void replay_events(struct replay *replay, const struct event *events, uint32_t count);

/*
 * Let processes go that ended before an instant. No event that is told later may be of an earlier one.
 * Context: tool.
 */
void replay_end_processes(struct replay *replay, uint64_t time_ns);

/* Take note of a place between two events; its ordinals are to be given to free(). Context: tool. */
struct birth_bound replay_birth_bound(const struct replay *replay);

/*
 * Call for all that is live, and counted in a row.
 * see: is given the user's pointer and a block that is valid only in it. Context: tool.
 */
void replay_each_live(const struct replay *replay,
                      void (*see)(void *user, const struct block *block, bool is_range),
                      void *user);

/*
 * There are no more events: what waits takes place. What is live stays until replay_end() is called.
 * end_ns: as there. Context: tool.
 */
void replay_end_time(struct replay *replay, uint64_t end_ns);

/*
 * Let time go on to a tick, up to which all events have been told: processes that have ended by then
 * are gone. Context: tool.
 */
void replay_reach(struct replay *replay, uint32_t tick);

/*
 * Tell a copy of the ledger (ledger_copy()) what replay_end() would tell now, and change nothing: a
 * release that waits for what follows it has not taken place. Context: tool.
 */
void replay_end_copy(const struct replay *replay, struct ledger *copy);

/*
 * There are no more: what is live now was never released.
 * end_ns: the last instant of the time axis. Context: tool.
 */
void replay_end(struct replay *replay, uint64_t end_ns);

/* What failed, what programs said, and the sums of pools; to be taken after replay_end(). Context: tool. */
struct failures *replay_failures(struct replay *replay);
struct marks *replay_marks(struct replay *replay);
struct pools *replay_pools(struct replay *replay);

/* Give it back; NULL is allowed. Context: tool. */
void replay_close(struct replay *replay);

#endif
