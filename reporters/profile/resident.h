/*
 * Resident memory over time: the samples of all processes put together.
 */
#ifndef PROFILE_RESIDENT_H
#define PROFILE_RESIDENT_H

#include "profile/profile.h"
#include "profile/timeline.h"

/*
 * Fill in resident memory: of each sample of the timeline the most that all processes together had
 * in its bucket, and the peaks of processes and of all. A process has what it had when last looked
 * at, until it ends.
 * process_number: only this process; 0: all.
 * processes: capture.process_count, peak_rss_bytes is set. Context: tool.
 */
void resident_fill(const struct capture *capture, uint32_t process_number,
                   struct timeline *timeline, struct profile_owner *processes,
                   uint64_t *ret_peak_bytes);

#endif
