/*
 * Memos: found, taken up, made. Runs in the program's threads.
 */
#include "unwind/memo.h"

#include <string.h>

/*
 * Whether a memo is the stack now. Its words are those that a walk would read, in the order in which it
 * would: so none is read that it would not reach.
 */
static bool is_memo(const struct unwind_thread *thread, const struct memo *memo,
                    const struct next_frame *next)
{
    const struct unwind_frame *frame = &memo->frames[memo->depth - memo->base - 1];

    if (!frame_is_at(next, frame))
        return false;
    for (; frame > memo->frames; frame--)
        if ((frame->how & FRAME_IS_BARRIER) != 0 || !frame_is_unchanged(&frame[-1]))
            return false;
    if ((frame->how & (FRAME_IS_BARRIER | FRAME_IS_MARK)) != 0)
        return false;
    return memo->base == 0 ||
           (frame_is_unchanged(&memo->outer) && frame_verify(thread->frames, memo->base) == 0 &&
            !frame_is_open(&thread->frames[0]));
}

const struct memo *memo_find(const struct unwind_thread *thread, const struct next_frame *next)
{
    for (unsigned i = 0; i < MEMO_COUNT; i++) {
        const struct memo *memo = &thread->memos->memos[i];

        if (memo->depth != 0 && is_memo(thread, memo, next))
            return memo;
    }
    return NULL;
}

void memo_recall(struct unwind_thread *thread, const struct memo *memo,
                 const struct next_frame *next, struct unwind_delta *ret_delta)
{
    memcpy(thread->frames + memo->base, memo->frames,
           (memo->depth - memo->base) * sizeof(memo->frames[0]));
    thread->depth = memo->depth;
    if (memo->base > 0)
        frame_renew(&thread->frames[memo->base - 1], memo->outer.fp, memo->outer.how);
    frame_renew(&thread->frames[memo->depth - 1], next->fp, next->how);
    memos_cut(thread->memos, memo->base);
    *ret_delta = (struct unwind_delta){
        .memo = NATIVE_MEMO_RECALL | (uint64_t)(memo - thread->memos->memos) << NATIVE_MEMO_SHIFT};
}

uint64_t memo_make(struct unwind_thread *thread, uint32_t kept)
{
    struct memos *memos = thread->memos;
    uint32_t number = memos->next++ % MEMO_COUNT, base = memo_base(thread->depth);
    struct memo *memo = &memos->memos[number];

    memos_cut(memos, kept);
    memcpy(memo->frames, thread->frames + base, (thread->depth - base) * sizeof(memo->frames[0]));
    if (base > 0)
        memo->outer = thread->frames[base - 1];
    memo->base = base;
    memo->depth = thread->depth;
    return NATIVE_MEMO_MAKE | (uint64_t)number << NATIVE_MEMO_SHIFT;
}
