/*
 * Steps through signal frames, aligned stacks, code without tables. Runs in the program's threads.
 *
 * What is read lies between the stack pointer and the limit of its stack, or where the kernel has put it.
 */
#include "unwind/step.h"

#include "unwind/epilogue.h"
#include "unwind/frame.h"
#include "unwind/reach.h"

enum {
    GUESS_BYTES_MAX = 16384, /* of a frame without a table */
};

#if defined(__x86_64__)
/* Places in the ucontext_t that a handler returns to (asm/sigcontext.h); the kernel's words for programs. */
enum {
    CONTEXT_FRAME_POINTER = 120,
    CONTEXT_STACK_POINTER = 160,
    CONTEXT_INSTRUCTION = 168,
    CONTEXT_BYTES = 176, /* up to there */
};
#endif

static enum step_result step_signal(struct unwind_reach *reach, struct unwind_state *state)
{
#if defined(__x86_64__)
    uintptr_t context = state->sp;

    if (!reach_extend(reach, state->sp, context + CONTEXT_BYTES))
        return STEP_STUCK;
    state->pc = frame_word(context + CONTEXT_INSTRUCTION);
    state->sp = frame_word(context + CONTEXT_STACK_POINTER);
    state->fp = frame_word(context + CONTEXT_FRAME_POINTER);
    state->is_exact = true;
    if (!reach_is_memory(state->sp))
        return STEP_STUCK;
    return state->pc < UNWIND_LOWEST_CODE ? STEP_END : STEP_DONE;
#else
    (void)reach;
    (void)state;
    return STEP_STUCK;
#endif
}

/* As code that keeps frame pointers has it; what else could be there fails to look like it. */
static enum step_result step_guess(struct unwind_reach *reach, struct unwind_state *state)
{
    uintptr_t fp = state->fp, pc;

    if (fp < state->sp || fp - state->sp > (uintptr_t)GUESS_BYTES_MAX ||
        fp % sizeof(uintptr_t) != 0 || !reach_extend(reach, state->sp, fp + 2 * sizeof(uintptr_t)))
        return STEP_STUCK;
    pc = frame_word(fp + sizeof(uintptr_t));
    if (pc >= UNWIND_LOWEST_CODE && !epilogue_follows_call(pc))
        return STEP_STUCK;
    state->pc = pc;
    state->sp = fp + 2 * sizeof(uintptr_t);
    state->fp = frame_word(fp);
    state->is_exact = false;
    return state->pc < UNWIND_LOWEST_CODE ? STEP_END : STEP_DONE;
}

static enum step_result step_by(const struct special_row *row, struct unwind_reach *reach,
                                struct unwind_state *state)
{
    uintptr_t base = row->is_from_frame_pointer ? state->fp : state->sp, cfa, saved;

    cfa = base + (uintptr_t)row->inner;
    if (row->kind == SPECIAL_LOADED) {
        if (!reach_has_word(reach, state->sp, cfa))
            return STEP_STUCK;
        cfa = frame_word(cfa) + (uintptr_t)row->outer;
    }
    if (cfa <= state->sp || !reach_extend(reach, state->sp, cfa))
        return STEP_STUCK;
    if (row->where != SAVED_NOT) {
        saved = (row->where == SAVED_AT_CFA ? cfa : state->fp) + (uintptr_t)row->saved;
        if (!reach_has_word(reach, state->sp, saved))
            return STEP_STUCK;
        state->fp = frame_word(saved);
    }
    state->pc = frame_word(cfa - sizeof(uintptr_t));
    state->sp = cfa;
    state->is_exact = false;
    return state->pc < UNWIND_LOWEST_CODE ? STEP_END : STEP_DONE;
}

enum step_result step_special(unwind_row row, struct unwind_reach *reach,
                              struct unwind_state *state)
{
    const struct special_row *special;

    switch (row >> ROW_KIND_SHIFT) {
    case ROW_SIGNAL:
        return step_signal(reach, state);
    case ROW_END:
        return STEP_END;
    default:
        break;
    }
    special = rows_special(row);
    if (special->kind == SPECIAL_NO_TABLE)
        return step_guess(reach, state);
    if (special->kind == SPECIAL_NOT_KNOWN)
        return STEP_STUCK;
    return step_by(special, reach, state);
}
