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

/* Let it have so much memory from now on, as online_open() does. Context: tool. */
void online_limit(struct online *online, uint64_t most_bytes);

/* Give it back; NULL is allowed. Context: tool. */
void online_close(struct online *online);

#endif
