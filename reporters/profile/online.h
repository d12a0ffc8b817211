/*
 * The model of a capture that is being written: made while it is, by what makes that of a finished
 * one, so that the two are the same.
 *
 *     online = online_open(fd, file);
 *     while (it goes on)
 *         if (online_follow(online, written_bytes))
 *             while (online_tell(online, some) == some)
 *                 ;
 *     online_last(online, written_bytes);     all events are in the file
 *     online_tell(online, UINT64_MAX);
 *     profile = online_finish(online, written_bytes);
 *
 * Memory: live blocks, rows and stacks as in profile_build(); of time the last seconds, and each change of
 * resident memory. Not thread-safe.
 */
#ifndef PROFILE_ONLINE_H
#define PROFILE_ONLINE_H

#include "capture/follow.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct online;

/*
 * Begin. fd: the capture's, stays the caller's, open until online_close(). file: its name, copied.
 * most_bytes: of memory; beyond it the model is given up.
 * Context: tool.
 */
struct online *online_open(int fd, const char *file, uint64_t most_bytes);

/*
 * Begin with a capture that can be read only once, as what was read of its file is gone: nothing is told
 * again, and it is never given up for its memory. What comes too late to be put where it belongs counts
 * from then on, and the model says how often that was.
 * take_records: gets the records as they come; may be NULL. Context: tool.
 */
struct online *online_open_once(int fd, const char *file, capture_follow_records *take_records,
                                void *user);

/*
 * Take note of what stands in the file up to an offset, at which a section ends.
 * Returns false when there will be no model. Context: tool.
 */
bool online_follow(struct online *online, uint64_t end_offset);

/* Likewise; what comes behind it has no events. Context: tool. */
bool online_last(struct online *online, uint64_t end_offset);

/*
 * Tell the model of events that are known, up to so many of them.
 * Returns how many; less when there are no more for now. Context: tool.
 */
uint64_t online_tell(struct online *online, uint64_t most_count);

/* Return how many events have been told. Context: tool. */
uint64_t online_told(const struct online *online);

/*
 * Make the model, once all events have been told.
 * end_offset: as for online_follow(); what is last in the file but the model and the directory.
 * Returns NULL when there is none; else it uses what online has, which must outlive it.
 * Context: tool.
 */
struct profile *online_finish(struct online *online, uint64_t end_offset);

/* Return how much memory it takes, about. Context: tool. */
uint64_t online_bytes(const struct online *online);

/* Return from where on the file may still be read. Context: tool. */
uint64_t online_needed(const struct online *online);

/* Return the capture as far as it is known, its tables but frames; NULL: given up. Context: tool. */
const struct capture *online_capture(const struct online *online);

/*
 * Return up to which instant all has been told, in ns since the start; UINT64_MAX: given up. Context: tool.
 */
uint64_t online_reached_ns(const struct online *online);

/*
 * Make the model of what has been told, all that there is of it by now, and go on. What is live in it
 * counts as never released.
 * Returns NULL when there is none; else to be given to profile_destroy() before anything else is done
 * with online. Context: tool.
 */
struct profile *online_so_far(struct online *online);

/* Let it have so much memory from now on, as online_open() does. Context: tool. */
void online_limit(struct online *online, uint64_t most_bytes);

/* Give it back; NULL is allowed. Context: tool. */
void online_close(struct online *online);

#endif
