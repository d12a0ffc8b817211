/*
 * From the options that say what is shown to a view of the profile.
 */
#include "view.h"

#include <string.h>

static const char at_name[] = "at";
static const char range_name[] = "range";

/* --range, and what else is said of it. */
static bool choose_range(const struct option_values *values, struct view_choice *choice,
                         struct error *err)
{
    const char *at = values->values[OPTION_AT];
    struct instant from, to;

    choice->range = values->values[OPTION_RANGE];
    if (!instant_parse_range(range_name, choice->range, NULL, &from, &to, err))
        return false;
    if (at != NULL && strcmp(at, "peak") != 0 && strcmp(at, "end") != 0) {
        error_set(err, "--at=%s: use peak or end together with --range", at);
        return false;
    }
    choice->kind = WINDOW_ALLOCATED;
    if (at != NULL)
        choice->kind = strcmp(at, "peak") == 0 ? WINDOW_PEAK : WINDOW_LIVE;
    else if (choice->view == VIEW_LEAKS)
        choice->kind = WINDOW_LEAKS;
    else if (choice->view == VIEW_TEMPORARY)
        choice->kind = WINDOW_TEMPORARY;
    choice->view = VIEW_WINDOW;
    return true;
}

static bool choose_instant(const struct option_values *values, struct view_choice *choice,
                           struct error *err)
{
    const char *at = values->values[OPTION_AT];

    if (!instant_parse(at_name, at, strlen(at), &choice->at, err))
        return false;
    if (choice->at.kind == INSTANT_PEAK)
        return true; /* the view that is shown anyway */
    if (choice->at.kind == INSTANT_END) {
        choice->view = VIEW_LEAKS; /* what programs had when they ended, not after it */
        return true;
    }
    choice->view = VIEW_WINDOW;
    choice->kind = WINDOW_LIVE;
    return true;
}

bool view_choose(const struct option_values *values, struct view_choice *ret_choice,
                 struct error *err)
{
    struct view_choice choice = {.view = VIEW_PEAK};
    unsigned count = values->is_set[OPTION_AT];

    if (values->is_set[OPTION_LEAKS] && ++count)
        choice.view = VIEW_LEAKS;
    if (values->is_set[OPTION_ALLOCATED] && ++count)
        choice.view = VIEW_ALLOCATED;
    if (values->is_set[OPTION_TEMPORARY] && ++count)
        choice.view = VIEW_TEMPORARY;
    if (count > 1) {
        error_set(err, "--leaks, --allocated, --temporary-allocations and --at: use one of them");
        return false;
    }
    if ((values->is_set[OPTION_RANGE] && !choose_range(values, &choice, err)) ||
        (!values->is_set[OPTION_RANGE] && values->is_set[OPTION_AT] &&
         !choose_instant(values, &choice, err)))
        return false;
    *ret_choice = choice;
    return true;
}

static bool find_range(const struct view_choice *choice, const struct profile *profile,
                       struct profile_window *window, struct error *err)
{
    struct instant from, to;

    if (!instant_parse_range(range_name, choice->range, profile, &from, &to, err))
        return false;
    /* What lies behind the end is nothing: a range may reach beyond it. */
    if (to.kind == INSTANT_TIME && to.value > profile->end_ns)
        to.kind = INSTANT_END;
    if (!instant_find(range_name, &from, profile, &window->from, err) ||
        !instant_find(range_name, &to, profile, &window->to, err))
        return false;
    if (window->from.time_ns > window->to.time_ns ||
        (window->from.mark != 0 && window->to.mark != 0 && window->from.mark > window->to.mark)) {
        error_set(err, "--range=%s: its end is before its beginning", choice->range);
        return false;
    }
    return true;
}

bool view_find(const struct view_choice *choice, const struct profile *profile,
               struct profile_window *ret_window, struct error *err)
{
    struct profile_window window = {.kind = choice->kind};

    if (choice->range != NULL ? !find_range(choice, profile, &window, err)
                              : !instant_find(at_name, &choice->at, profile, &window.to, err))
        return false;
    if (choice->range != NULL && window.kind == WINDOW_LIVE && window.to.is_end)
        window.kind = WINDOW_LEAKS; /* likewise */
    *ret_window = window;
    return true;
}
