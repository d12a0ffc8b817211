/*
 * Inside the folder: a part of the time, from what is known without the events.
 */
#ifndef PROFILE_WINDOW_KNOWN_H
#define PROFILE_WINDOW_KNOWN_H

#include "base/error.h"

#include <stdbool.h>

struct profile;

/*
 * Make profile->window what VIEW_WINDOW shows, if what is known says it exactly: views of the whole run,
 * and the highest moment of a range where it is that of a sample.
 * Context: tool.
 */
bool window_is_known(struct profile *profile);

/*
 * Make profile->window one that the samples show exactly, near to what it is, and show it.
 * Returns false with err when they do not show such a thing. Context: tool.
 */
bool window_move_to_samples(struct profile *profile, struct error *err);

#endif
