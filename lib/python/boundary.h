/*
 * Where the evaluation loop's own variables lie on the native stack: so a native frame is known to run
 * Python frames without a symbol, in stripped and in differently cut builds.
 */
#ifndef PYTHON_BOUNDARY_H
#define PYTHON_BOUNDARY_H

#include "python/runtime.h"
#include "python/walk.h"

#include <stdint.h>

/*
 * Tell whether a part of the calling thread's stack holds such a variable.
 * low, high: as in python_eval_of(). Context: hot path (slow paths only).
 */
enum python_eval boundary_find(const struct python_runtime *runtime, const struct python_walk *walk,
                               uintptr_t low, uintptr_t high);

#endif
