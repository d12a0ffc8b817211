/*
 * A capture that is being written, read along by the process that writes it.
 *
 * Its tables grow from call to call, and so does the list of its sections of events; who has used those
 * takes them out of it (capture_merge_extend()), so that it stays short. Not thread-safe. Of frames it
 * keeps nothing: no model is made of them. It reads by offsets, never through a mapping, since a file
 * that somebody cuts would end the reader with SIGBUS.
 */
#ifndef CAPTURE_FOLLOW_H
#define CAPTURE_FOLLOW_H

#include "capture/capture.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Begin with an empty capture.
 * fd: of the file; stays the caller's, open until capture_close(). file: its name, copied.
 * Context: tool.
 */
struct capture *capture_follow_open(int fd, const char *file);

/* Called with the payload of each RECORDS section, once it has been taken into the tables. */
typedef void capture_follow_records(void *user, const uint8_t *payload, size_t size_bytes);

/*
 * Begin with an empty capture that can be read only once. What comes too late to be put where it
 * belongs is told at the instant when it comes, and counted in capture->late_count. Of many samples of
 * memory pairs become one, of the higher one's bytes: it does not grow with time.
 * take_records: may be NULL. Context: tool.
 */
struct capture *capture_follow_once(int fd, const char *file, capture_follow_records *take_records,
                                    void *user);

/*
 * Take the sections that stand in the file up to an offset, at which one ends. None may be the
 * directory.
 * Returns false when something is not right; capture->damage says what.
 * Context: tool.
 */
bool capture_follow(struct capture *capture, uint64_t end_offset);

/*
 * Keep no more of the ticks before an instant than has to be. What a silence was like is asked of them:
 * once there is one, all are kept. Context: tool.
 */
void capture_follow_forget(struct capture *capture, uint64_t before_ns);

/* Return from where on the file may still be read. Context: tool. */
uint64_t capture_follow_needed(const struct capture *capture);

/* All that will be written of the tables and events has been taken: there are no bounds any more. */
void capture_follow_end(struct capture *capture);

#endif
