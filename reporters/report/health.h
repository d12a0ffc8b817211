/*
 * What a user must know before believing a report: is the capture whole, was anything lost.
 */
#ifndef REPORT_HEALTH_H
#define REPORT_HEALTH_H

#include "base/memory.h"
#include "capture/capture.h"
#include "profile/profile.h"

#include <stddef.h>

enum {
    HEALTH_MAX_WARNINGS = 32,
};

/* Sentences, each without a full stop; the pool's. */
struct health {
    const char *warnings[HEALTH_MAX_WARNINGS];
    size_t count;
};

/*
 * Collect the warnings about a capture and, unless it is NULL, about its profile.
 * Context: tool.
 */
struct health health_collect(const struct capture *capture, const struct profile *profile,
                             struct memory_pool *pool);

#endif
