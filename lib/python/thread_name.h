/*
 * The names that programs give to threads of threading.Thread, which are in Python's objects alone up to
 * 3.13. (Later versions tell them to the system, and so to us.)
 *
 * A thread's outermost frame is Thread._bootstrap(self): it has the object, whose `_name` is a str in its
 * dict. Frame, object and type are alive as long as the frame is; the dict and what is in it may be
 * changed by others when the thread does not hold the GIL, so these are read through base/peek.h.
 */
#ifndef PYTHON_THREAD_NAME_H
#define PYTHON_THREAD_NAME_H

#include "base/announcer.h"
#include "python/layout.h"

#include <stdint.h>

/*
 * Announce the calling thread's name (BLOB_NAME) when a frame is that of Thread._bootstrap and has one.
 * frame, code: of the outermost frame of the thread; alive. Where anything is not as it is known to be,
 * there is no name.
 * Context: hot path (slow paths only).
 */
void thread_name_announce(const struct python_layout *layout, uintptr_t frame, uintptr_t code,
                          const struct announcer *announcer);

#endif
