/*
 * Stacks that were walked before: programs allocate from the same few places in turn. Where the stack is one of
 * them again, its words are compared instead of walked, and the reader is told its number instead of its frames.
 *
 * A memo is the inner end of a stack, from a base on; the outer part is what the thread's stack still is. What
 * holds for both sides: frames below the base of a memo have not changed since it was made.
 */
#ifndef UNWIND_MEMO_H
#define UNWIND_MEMO_H

#include "unwind/frame.h"

#include <memtrack/memo.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    MEMO_PATIENCE =
        16, /* looks in vain, less those that were not, until they cost more than they save */
    MEMO_GAIN = 3,    /* looks in vain that one that was not makes up for */
    MEMO_PAUSE = 512, /* walks until it is tried again */
};

struct memo {
    uint32_t base, depth;      /* depth 0: there is none */
    struct unwind_frame outer; /* the one below the base, as the step from the memo comes to it */
    struct unwind_frame frames[MEMO_FRAMES];
};

/* One thread's. All zero is its beginning; lives in wiped memory. */
struct memos {
    struct memo memos[MEMO_COUNT];
    uint32_t next;  /* to be written */
    int32_t score;  /* of looks; below -MEMO_PATIENCE they pause */
    uint32_t pause; /* walks that are left of it */
};

/* Whether memos are worth a look now. Context: hot path. */
static inline bool memos_are_used(struct memos *memos)
{
    if (likely(memos->pause == 0))
        return true;
    if (--memos->pause == 0)
        memos->score = 0;
    return false;
}

/* Note whether a look has found something. Context: hot path. */
static inline void memos_note(struct memos *memos, bool is_found)
{
    if (is_found) {
        memos->score += memos->score < MEMO_PATIENCE ? MEMO_GAIN : 0;
    } else if (--memos->score < -MEMO_PATIENCE) {
        memos->pause = MEMO_PAUSE;
    }
}

/* Forget all. Context: hot path. */
static inline void memos_forget(struct memos *memos)
{
    for (unsigned i = 0; i < MEMO_COUNT; i++)
        memos->memos[i].depth = 0;
}

/* Forget those that count on frames from this depth on. Context: hot path. */
static inline void memos_cut(struct memos *memos, uint32_t depth)
{
    for (unsigned i = 0; i < MEMO_COUNT; i++)
        if (memos->memos[i].base > depth)
            memos->memos[i].depth = 0;
}

/*
 * Look whether the stack is one that was.
 * next: the state that it begins with. Returns the memo, NULL when it is none. Context: hot path.
 */
const struct memo *memo_find(const struct unwind_thread *thread, const struct next_frame *next);

/* The stack is a memo's: make it the thread's. Context: hot path. */
void memo_recall(struct unwind_thread *thread, const struct memo *memo,
                 const struct next_frame *next, struct unwind_delta *ret_delta);

/*
 * Keep the thread's stack, which is new to the reader but for its first so many frames.
 * Returns what the delta says of it. Context: hot path.
 */
uint64_t memo_make(struct unwind_thread *thread, uint32_t kept);

#endif
