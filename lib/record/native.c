/*
 * Native stacks of events. Runs in the program's threads, inside their malloc.
 */
#include "record/native.h"

#include "base/arch.h"
#include "record/blob.h"
#include "record/process.h"

/* Up to 3.9 a frame is the interpreter's by its code alone: each activation runs one Python frame. */
static enum unwind_eval eval_of_code(uintptr_t pc)
{
    uintptr_t function = python_eval_function(), start, end;

    if (function == 0 || !unwind_find_function(function, &start, &end))
        return UNWIND_EVAL_UNKNOWN;
    return pc > start && pc <= end ? UNWIND_EVAL_YES : UNWIND_EVAL_NO;
}

static enum unwind_eval eval_of(void *owner, uintptr_t low, uintptr_t high, uintptr_t pc)
{
    const struct context *context = owner;

    switch (python_eval_of(&context->walk, low, high)) {
    case PYTHON_EVAL_YES:
        return UNWIND_EVAL_YES;
    case PYTHON_EVAL_NO:
        return UNWIND_EVAL_NO;
    default:
        return eval_of_code(pc);
    }
}

bool native_update(struct context *context, const struct call_site *site,
                   struct unwind_delta *ret_delta)
{
    struct unwind_helper helper = {.announcer = {blob_write, context}, .owner = context};
    struct unwind_state state;

    if ((process.wanted_mode & PROCESS_WALKS_PYTHON) != 0)
        helper.eval_of = eval_of;
    if (likely(site->state != NULL))
        return unwind_update(&context->unwind, site->state, &helper, ret_delta);
    arch_registers(&state.pc, &state.sp, &state.fp);
    state.pc++; /* as if it were behind a call: rows are kept of those */
    state.is_exact = false;
    if (!unwind_find_caller(&context->unwind, &state, (uintptr_t)site->caller))
        return unwind_give_up(&context->unwind, ret_delta);
    return unwind_update(&context->unwind, &state, &helper, ret_delta);
}
