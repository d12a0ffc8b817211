/*
 * Allocations that failed, by who asked for them.
 */
#ifndef PROFILE_FAILURES_H
#define PROFILE_FAILURES_H

#include "base/hash_index.h"
#include "profile/profile.h"

#include <stddef.h>
#include <stdint.h>

/* All zero bytes is its beginning. */
struct failures {
    struct profile_failure *items; /* in the order of their first one */
    size_t count, capacity;
    struct hash_index index; /* by stack and stream */
};

/*
 * Count one. stack: index in capture.stacks. stream: index in capture.threads + 1. bytes: as asked for.
 * Context: tool.
 */
void failures_add(struct failures *failures, uint32_t stack, uint32_t stream, uint64_t bytes,
                  uint64_t time_ns);

/* Give it back, but for what its owner has taken and set to NULL. Context: tool. */
void failures_finish(struct failures *failures);

#endif
