/*
 * What lib/python has besides the walker, with nothing in it: for tests that have a walker of their
 * own, which keeps lib/python's object from being linked.
 */
#ifndef UNIT_OWN_WALKER_H
#define UNIT_OWN_WALKER_H

#include "python/same.h"
#include "python/walk.h"

#include <stdbool.h>
#include <stdint.h>

struct python_at_hand python_at_hand = {.family = FRAMES_COUNT};
bool python_marks_boundaries;

enum python_eval python_eval_of(const struct python_walk *walk, uintptr_t low, uintptr_t high)
{
    (void)walk;
    (void)low;
    (void)high;
    return PYTHON_EVAL_UNKNOWN;
}

uintptr_t python_eval_function(void)
{
    return 0;
}

void python_find_runtime(void)
{
}

bool python_announce_runtime(const struct announcer *announcer)
{
    (void)announcer;
    return true;
}

uint64_t python_walks_failed(void)
{
    return 0;
}

uint64_t python_memory_bytes(void)
{
    return 0;
}

uint64_t python_names_lost(void)
{
    return 0;
}

uint64_t python_interpreters_refused(void)
{
    return 0;
}

#endif
