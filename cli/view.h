/*
 * What a report is to show: --leaks, --allocated, --temporary-allocations, --at and --range.
 */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include "base/error.h"
#include "instant.h"
#include "options.h"
#include "profile/profile.h"

#include <stdbool.h>

/* What the user has chosen; texts are argv's. */
struct view_choice {
    enum profile_view view; /* VIEW_WINDOW: of a part of the time */
    enum profile_window_kind kind;
    struct instant at; /* without a range */
    const char *range; /* as it was typed; NULL: none */
};

/*
 * Read it from the options.
 * Returns false with err when they do not go together, or name no time. Context: tool.
 */
bool view_choose(const struct option_values *values, struct view_choice *ret_choice,
                 struct error *err);

/*
 * Find the part of the time that was chosen; the choice's view is VIEW_WINDOW.
 * Returns false with err when the capture has no such time. Context: tool.
 */
bool view_find(const struct view_choice *choice, const struct profile *profile,
               struct profile_window *ret_window, struct error *err);

#endif
