/*
 * Instants and ranges of time, as people name them with --at and --range.
 *
 * What is typed is looked at before the capture is opened; where it lies is known when the capture's
 * end, peak and marks are.
 */
#ifndef CLI_INSTANT_H
#define CLI_INSTANT_H

#include "base/error.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>

enum instant_kind {
    INSTANT_START,
    INSTANT_TIME,  /* since the start */
    INSTANT_SHARE, /* of the capture's time */
    INSTANT_PEAK,
    INSTANT_END,
    INSTANT_MARK,
};

/* An instant that was named; the text is the caller's. */
struct instant {
    enum instant_kind kind;
    uint64_t value;   /* nanoseconds; parts per million */
    const char *text; /* all that was typed of it */
    size_t length;
    const char *mark; /* its name; it ends where the text ends */
};

/*
 * Parse "1.5s", "1m30s", "40%", "peak", "end" or "mark:NAME".
 * text: length bytes of it; must outlive the instant. option: its name, for err.
 * Context: tool.
 */
bool instant_parse(const char *option, const char *text, size_t length, struct instant *ret_instant,
                   struct error *err);

/*
 * Parse "A:B"; without A from the start, without B to the end. Names of marks may have colons in them:
 * of several places where it can be cut, one is taken at which both sides are right, and the marks
 * are there when a profile is given.
 * profile: or NULL. Context: tool.
 */
bool instant_parse_range(const char *option, const char *text, const struct profile *profile,
                         struct instant *ret_from, struct instant *ret_to, struct error *err);

/*
 * Find where an instant lies.
 * Returns false with err when there is no such mark, or the capture ends before it. Context: tool.
 */
bool instant_find(const char *option, const struct instant *instant, const struct profile *profile,
                  struct profile_bound *ret_bound, struct error *err);

#endif
