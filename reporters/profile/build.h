/*
 * Inside the folder: the end of building a model, however its events have come.
 */
#ifndef PROFILE_BUILD_H
#define PROFILE_BUILD_H

#include "profile/ledger.h"
#include "profile/profile.h"
#include "profile/replay.h"

/*
 * End a replay, and make a model of what it has told its ledger. Both are used up.
 * profile: all zero bytes but for the capture. Context: tool.
 */
void build_finish(struct profile *profile, const struct profile_options *options,
                  struct replay *replay, struct ledger *ledger);

/*
 * Make a model of what a replay has told its ledger by now, and leave both as they are, to go on.
 * profile: all zero bytes but for the capture. options: of all processes. Context: tool.
 */
void build_so_far(struct profile *profile, const struct profile_options *options,
                  struct replay *replay, struct ledger *ledger);

#endif
