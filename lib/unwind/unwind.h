/*
 * The native stack of the calling thread, as a change since the last time.
 *
 * Runs in the program's threads, inside their malloc: no lock, no system call, no memory but its own. Each
 * thread keeps what it walked last. A walk goes from frame to frame by rows.h until it meets a frame
 * that it had, and from there compares the words that the walk before read: where all are what they were,
 * so is the rest of the stack (docs/native.md has the proof).
 */
#ifndef UNWIND_UNWIND_H
#define UNWIND_UNWIND_H

#include "base/announcer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Registers, as a function finds them when the one that it called returns. */
struct unwind_state {
    uintptr_t pc, sp, fp;
    bool is_exact; /* pc is the instruction that was interrupted; else the one behind a call */
};

struct unwind_frame;

/* What of a thread's stack is known to be memory: reach.h. */
struct unwind_reach {
    uintptr_t low, high;
};

/*
 * One thread's. All zero is its beginning (a wiped context is one); lives in wiped memory. Its arrays are
 * never given back: a context is used again by the next thread.
 */
struct unwind_thread {
    struct unwind_frame *frames; /* the stack walked last, root first */
    struct unwind_frame *fresh;  /* room for the frames of a walk, innermost first */
    uint64_t *pushed;            /* room for capacity frames */
    uint32_t depth, capacity;
    struct unwind_reach reach;
    uint32_t generation; /* of the rows, at the last walk */
    struct memos *memos; /* NULL: no memory for them */
    uint32_t eager;      /* frames that the last walk found to be new: so many are not looked for */
};

/* What changed: take pop frames off, then put push frames on, outermost first. */
struct unwind_delta {
    uint32_t pop;
    uint32_t push;
    const uint64_t *pushed; /* protocol.h frames; valid until the next walk of this thread */
    uint64_t memo;          /* NATIVE_MEMO_*, and the number; 0: none. RECALL: pop and push are 0 */
};

/* Whether a frame runs the interpreter's evaluation loop. */
enum unwind_eval {
    UNWIND_EVAL_UNKNOWN,
    UNWIND_EVAL_NO,
    UNWIND_EVAL_YES,
};

/* Whom a walk asks, seldom. */
struct unwind_helper {
    struct announcer announcer;
    /* low, high: the frame's part of the stack, pc: its address. NULL: there is no interpreter. */
    enum unwind_eval (*eval_of)(void *owner, uintptr_t low, uintptr_t high, uintptr_t pc);
    void *owner;
};

/* Get ready. Returns false where native stacks cannot be walked. Context: start-up. */
bool unwind_prepare(void);

/* True once unwind_prepare() has succeeded. */
extern bool unwind_is_ready;

/*
 * Go outwards from a state until the frame whose pc this is.
 * thread: the calling one's; its stack stays as it was.
 * state: of any frame of ours; becomes that of the caller.
 * Returns false when there is no such frame within a few: state is not to be used.
 * Context: hot path.
 */
bool unwind_find_caller(struct unwind_thread *thread, struct unwind_state *state, uintptr_t pc);

/*
 * Walk, and compare with the last walk.
 * Returns false when the stack is what it was: *ret_delta is untouched.
 * Context: hot path.
 */
bool unwind_update(struct unwind_thread *thread, const struct unwind_state *from,
                   const struct unwind_helper *helper, struct unwind_delta *ret_delta);

/*
 * The caller cannot be found: a mark stands for the whole stack.
 * Returns false when it did so before: *ret_delta is untouched. Context: hot path (slow paths only).
 */
bool unwind_give_up(struct unwind_thread *thread, struct unwind_delta *ret_delta);

/*
 * Find the function, or the part of one, that an address lies in.
 * Returns false when no table tells. Context: hot path (slow paths only).
 */
bool unwind_find_function(uintptr_t address, uintptr_t *ret_start, uintptr_t *ret_end);

/*
 * Forget the stack: the next update starts from the empty one (its pop is 0: the caller records
 * DELTA_POP_ALL itself). Also after an update that was left by siglongjmp().
 * Context: hot path.
 */
void unwind_forget(struct unwind_thread *thread);

/*
 * The loader frees something: it may be what it knew of a library.
 * Context: any thread, before the memory is released.
 */
void unwind_note_free(const void *block);

/*
 * Memory is about to be unmapped, or to have another protection.
 * Context: any thread, before the real call.
 */
void unwind_note_change(uintptr_t start, size_t size_bytes);

/* Frames at which a walk could not go on, so far in this process. Context: any thread. */
uint64_t unwind_stuck_count(void);

/* Memory of tables and stacks. Context: any thread. */
uint64_t unwind_memory_bytes(void);

#endif
