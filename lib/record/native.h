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
 * Get the state of the caller of the function that this is inlined into.
 * Returns false where it has to be looked for. Context: hot path.
 */
static inline __attribute__((always_inline)) bool native_caller(struct unwind_state *ret_state)
{
#if defined(__x86_64__)
    /* The frame pointer that was saved, and the return address above it. */
    const uintptr_t *frame = __builtin_frame_address(0);

    *ret_state = (struct unwind_state){frame[1], (uintptr_t)(frame + 2), frame[0], false};
    return true;
#else
    (void)ret_state;
    return false;
#endif
}

/*
 * Walk the native stack. context: its chain is taken, and its Python stack walked if there is one.
 * Returns false when it is what it was.
 * Context: hot path.
 */
bool native_update(struct context *context, const struct call_site *site,
                   struct unwind_delta *ret_delta);

#endif
