/*
 * What the samples of a profile say beyond their numbers: how fast the heap grows, what each process
 * had of it.
 */
#ifndef REPORT_GROWTH_H
#define REPORT_GROWTH_H

#include "profile/profile.h"

#include <stdint.h>

/*
 * Return by how many bytes a second the heap grows from an instant on: the slope of the line that is
 * nearest to the samples by least squares. 0 when they are too few for one. What is gone because the
 * programs have ended is no sample. Context: tool.
 */
int64_t growth_per_second(const struct profile *profile, uint64_t from_ns);

/*
 * Return the live bytes of each process at each sample: process * sample_count + sample.
 * profile: with intervals. Returns memory to be freed. Context: tool.
 */
uint64_t *growth_of_processes(const struct profile *profile);

#endif
