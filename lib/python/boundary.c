/*
 * Boundaries of evaluation, innermost first: addresses rise along the stack. Runs in the program's threads.
 *
 * 3.12 and later: a frame of the interpreter's own at the outer end of each group (owner: the C stack).
 * 3.10, 3.11: a _PyCFrame of each activation, linked (Include/cpython/pystate.h). Up to 3.9 there is nothing.
 */
#include "python/boundary.h"

#include "python/chain_frame.h"

enum {
    CFRAME_MINOR_FIRST = 10,
    CFRAMES_MAX = 1 << 16, /* a chain that has no end is none */
    /* PyThreadState.cframe of 3.10 and _PyCFrame.previous; 3.11 has state_frame and another struct. */
    STATE_CFRAME_3_10 = 48,
    CFRAME_PREVIOUS_3_10 = 8,
    CFRAME_PREVIOUS_3_11 = 16,
};

/* What one boundary says. Returns UNKNOWN as long as it is further in. */
static enum python_eval look_at(uintptr_t address, uintptr_t low, uintptr_t high)
{
    if (address < low)
        return PYTHON_EVAL_UNKNOWN;
    return address < high ? PYTHON_EVAL_YES : PYTHON_EVAL_NO;
}

static enum python_eval find_cframe(const struct python_runtime *runtime, uintptr_t state,
                                    uintptr_t low, uintptr_t high)
{
    bool is_first = runtime->layout.minor == CFRAME_MINOR_FIRST;
    unsigned previous = is_first ? CFRAME_PREVIOUS_3_10 : CFRAME_PREVIOUS_3_11;
    uintptr_t frame =
        load_word(state, is_first ? STATE_CFRAME_3_10 : runtime->layout.frame.state_frame);
    enum python_eval eval = PYTHON_EVAL_UNKNOWN;

    for (unsigned i = 0; i < CFRAMES_MAX && frame != 0 && eval == PYTHON_EVAL_UNKNOWN; i++) {
        uintptr_t outer = load_word(frame, previous);

        /* The outermost is a member of the thread state, of no activation. */
        if (outer == 0)
            break;
        eval = look_at(frame, low, high);
        frame = outer;
    }
    return eval;
}

static enum python_eval find_frame(const struct python_walk *walk, uintptr_t low, uintptr_t high)
{
    enum python_eval eval = PYTHON_EVAL_UNKNOWN;

    for (uint32_t i = walk->depth; i-- > 0 && eval == PYTHON_EVAL_UNKNOWN;)
        if (walk->frames[i].code_id == CHAIN_BOUNDARY)
            eval = look_at(walk->frames[i].frame, low, high);
    return eval;
}

enum python_eval boundary_find(const struct python_runtime *runtime, const struct python_walk *walk,
                               uintptr_t low, uintptr_t high)
{
    if (walk->depth == 0 || walk->thread_state == 0)
        return PYTHON_EVAL_UNKNOWN;
    if (runtime->layout.frame.owner != 0)
        return find_frame(walk, low, high);
    if (runtime->layout.minor >= CFRAME_MINOR_FIRST)
        return find_cframe(runtime, walk->thread_state, low, high);
    return PYTHON_EVAL_UNKNOWN;
}
