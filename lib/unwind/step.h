/* One step outwards, where a row does not say all. */
#ifndef UNWIND_STEP_H
#define UNWIND_STEP_H

#include "unwind/rows.h"
#include "unwind/unwind.h"

#include <stdint.h>

enum step_result {
    STEP_DONE,  /* state is the caller's */
    STEP_END,   /* there is none */
    STEP_STUCK, /* it cannot be found: state is as it was */
};

/*
 * Go one frame outwards by a row that is not a usual one.
 * reach: of its stack.
 * Context: hot path (slow paths only).
 */
enum step_result step_special(unwind_row row, struct unwind_reach *reach,
                              struct unwind_state *state) __attribute__((noinline));

#endif
