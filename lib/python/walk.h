/*
 * The Python stack of the calling thread, as a change since the last time.
 *
 * Runs in the program's threads, inside their malloc. The thread stands still there, so its own
 * chain of frames does too: no GIL is needed, and of Python's nothing is called but functions that
 * return a word of its own. Each thread keeps the chain that it walked last; a walk compares it from
 * the top and gives back only what changed. docs/architecture.md: "Stacks".
 *
 * Names of code objects that have not been seen are announced through the announcer before a frame
 * that uses them is given back.
 */
#ifndef PYTHON_WALK_H
#define PYTHON_WALK_H

#include "base/announcer.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One thread's. All zero is its beginning (a wiped context is one); lives in wiped memory. Its
 * arrays are never given back: a context is used again by the next thread.
 */
struct python_walk {
    struct python_walk_frame *frames; /* the chain walked last, root first */
    uint32_t depth;                   /* frames of it, boundaries included */
    uint32_t shown_depth;             /* frames of it that were given out */
    uint32_t capacity;
    uint32_t generation;       /* of the code objects' names, at the last walk */
    uint32_t short_generation; /* the same, when the chain is short and whole; else never one */
    uint64_t *pushed;          /* room for capacity frames */
    uintptr_t thread_state;    /* whose chain it is, when it last changed; 0: not known */
    uintptr_t thread;          /* pthread_self() then */
    /* Chunks of frames: the first frame of one of them cannot have returned (chain_trust.h). */
    uintptr_t root_chunk; /* of root_state, as first seen */
    uintptr_t root_state;
    bool has_stacks; /* more than one of a thread state: nothing is known of their chunks */
    uintptr_t floor_chunk;
    uint64_t floor_unmaps; /* python_unmaps when it was found */
    uint32_t floor_index;  /* in frames; 0: there is none */
    /* 3.15: what the interpreter's watermark was set to (chain_trust.h). */
    uintptr_t watermark_sequence;
    uint32_t watermark_index; /* in frames; 0: none is set */
    uint32_t unverified;      /* frames that may be looked at beyond the limit, saved up by walks */
    bool is_truncated;        /* frames is only the inner end: SPECIAL_TRUNCATED stands below */
};

/* What changed: take pop frames off the chain, then put push frames on, outermost first. */
struct python_delta {
    uint32_t pop; /* DELTA_POP_ALL: all of them */
    uint32_t push;
    const uint64_t *pushed; /* protocol.h frames; valid until the next walk of this thread */
    bool has_moved;         /* all that it says is: the innermost frame is elsewhere in its code */
};

/* True once an interpreter of known layout has been found: else there is nothing to walk. */
extern bool python_is_ready;

/* How often this process has given pages back: a chunk of frames may have been among them. */
extern _Atomic uint64_t python_unmaps __attribute__((visibility("hidden")));

/* Threads may have several stacks of frames with one state. Never taken back. */
extern _Atomic bool python_has_stacks __attribute__((visibility("hidden")));

/*
 * Note that pages are about to be unmapped.
 * Context: any thread, before the real call.
 */
static inline void python_note_unmap(void)
{
    /* Relaxed: whoever goes on with a thread state of ours holds the GIL, which orders it. */
    atomic_fetch_add_explicit(&python_unmaps, 1, memory_order_relaxed);
}

/*
 * Look for an interpreter among the loaded libraries, once it is there. Cheap when there is none.
 * Safe to repeat; the first success stays.
 * Context: start-up, or any thread outside the loader's lock.
 */
void python_find_runtime(void);

/* As python_walk_if_same(), for one layout of frames; in python_same that of the interpreter. */
typedef const struct python_walk *python_same_function(const struct python_walk *walk);

/* Hidden, as is all of ours: said here the compiler addresses it without a table between. */
extern python_same_function *_Atomic python_same __attribute__((visibility("hidden")));

/*
 * Returns the walk when it is easily seen that the stack is what it was at the last one; else NULL, and
 * python_walk_update() has to tell.
 * Context: hot path.
 */
static inline const struct python_walk *python_walk_if_same(const struct python_walk *walk)
{
    return atomic_load_explicit(&python_same, memory_order_acquire)(walk);
}

/*
 * Walk, and compare with the last walk.
 * Returns false when the stack is what it was: *ret_delta is untouched.
 * A thread that Python does not know, or a finalising interpreter, has the empty stack.
 * Context: hot path.
 */
bool python_walk_update(struct python_walk *walk, const struct announcer *announcer,
                        struct python_delta *ret_delta);

/*
 * Forget the chain: the next update starts from the empty one (its pop is 0: the caller records
 * DELTA_POP_ALL itself). Also after an update that was left by siglongjmp().
 * Context: hot path.
 */
void python_walk_forget(struct python_walk *walk);

/* Native stacks are walked too: an activation without frames gets SPECIAL_NO_FRAME. Set at the start. */
extern bool python_marks_boundaries __attribute__((visibility("hidden")));

/* Whether a native frame runs the evaluation loop. */
enum python_eval {
    PYTHON_EVAL_UNKNOWN,
    PYTHON_EVAL_NO,
    PYTHON_EVAL_YES,
};

/*
 * Tell of a native frame of the calling thread, by the walk that was made last.
 * low, high: the part of the stack that is the frame's own.
 * Context: hot path (slow paths only).
 */
enum python_eval python_eval_of(const struct python_walk *walk, uintptr_t low, uintptr_t high);

/*
 * Return the evaluation loop's function where nothing but its code tells its frames (up to 3.9), else 0.
 * Context: hot path (slow paths only).
 */
uintptr_t python_eval_function(void);

/*
 * Announce which interpreter this is (BLOB_PYTHON), if there is one.
 * Returns false when there is none, or when it could not be recorded.
 * Context: hot path.
 */
bool python_announce_runtime(const struct announcer *announcer);

/*
 * Walks cut short for want of memory, names lost, and interpreters found that cannot be followed,
 * so far in this process. Context: any thread.
 */
uint64_t python_walks_failed(void);
uint64_t python_names_lost(void);
uint64_t python_interpreters_refused(void);

/* Memory mapped for chains and names. Context: any thread. */
uint64_t python_memory_bytes(void);

#endif
