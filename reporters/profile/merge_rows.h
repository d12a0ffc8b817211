/*
 * Rows of one stack and thread put together that were apart because their blocks were picked at
 * different levels (docs/sampling.md). Runs in the tools.
 */
#ifndef PROFILE_MERGE_ROWS_H
#define PROFILE_MERGE_ROWS_H

#include "profile/profile.h"

/*
 * Make one row of those whose stacks differ in nothing but their level: it has the place and the stack
 * of the first. Intervals follow. Does nothing where there are no levels.
 * Context: tool.
 */
void merge_rows_of_levels(struct profile *profile);

#endif
