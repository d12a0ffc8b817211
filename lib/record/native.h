/*
 * The native stack of an event: from where it is walked, and which of its frames run Python.
 */
#ifndef RECORD_NATIVE_H
#define RECORD_NATIVE_H

#include "record/context.h"
#include "unwind/unwind.h"

#include <stdbool.h>

/* Where an event's stack begins. */
struct call_site {
    const void *caller;               /* the return address of the hook */
    const struct unwind_state *state; /* the caller's; NULL: it is looked for */
};

/*
 * Walk the native stack. context: its chain is taken, and its Python stack walked if there is one.
 * Returns false when it is what it was.
 * Context: hot path.
 */
bool native_update(struct context *context, const struct call_site *site,
                   struct unwind_delta *ret_delta);

#endif
