/*
 * A preload library of the tests' own: walks the stack at each allocation, and compares.
 *
 * Beside the unwinder stand those of others: libunwind's unw_backtrace() each time, its unw_step() and glibc's
 * backtrace() each so many times, and a walk of ours that knows nothing of the last one. Where libunwind
 * says something else, glibc's is the judge. It runs in any program; what it found lies in a
 * file that all processes share, so that none has to end well to be counted.
 */
#ifndef UNWIND_COMPARE_H
#define UNWIND_COMPARE_H

#include "unwind/unwind.h"

#include <memtrack/protocol.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    MODULES_MAX = 1 << 15,
};

/* The file of counts; tests/unwind/comparing.py has the same names in the same order. */
struct counts {
    _Atomic uint64_t walks;
    _Atomic uint64_t stacks;     /* compared */
    _Atomic uint64_t frames;     /* in them */
    _Atomic uint64_t mismatches; /* ours is wrong, or at least alone */
    _Atomic uint64_t libunwind;  /* libunwind is wrong: glibc says what we say */
    _Atomic uint64_t cached;     /* the walk that knows the last one says something else */
    _Atomic uint64_t stuck; /* ended with the mark of a walk that cannot go on; others did not */
    _Atomic uint64_t stuck_alike;  /* the same, where the others could not go on either */
    _Atomic uint64_t truncated;    /* deeper than is kept */
    _Atomic uint64_t unchecked;    /* libunwind was busy in another thread */
    _Atomic uint64_t by_steps;     /* of stacks, those compared with unw_step() too */
    _Atomic uint64_t by_glibc;     /* of stacks, those compared with glibc's too */
    _Atomic uint64_t instructions; /* stacks in the middle of code, instruction by instruction */
    _Atomic uint64_t instructions_libc; /* ... of libc, ld.so */
    _Atomic uint64_t instructions_loader;
    _Atomic uint64_t guessed;   /* they differ behind a frame that no table tells of */
    _Atomic uint64_t forgotten; /* times that the loader's freeing was told of */
    _Atomic uint64_t recalled;  /* walks that told a memo */
};

/* A stack as one of the unwinders has it, innermost first. */
struct stack {
    uintptr_t *frames;
    uint32_t count, room;
};

/* One walker of ours, and the chain that follows what it tells, root first. */
/* As the reader keeps them. */
struct followed_memo {
    uint32_t base, depth;
    uint64_t chain[MEMO_FRAMES];
};

struct follower {
    struct unwind_thread thread;
    uint64_t *chain;
    uint32_t depth;
    struct followed_memo memos[MEMO_COUNT];
};

/* A thread's. In memory that a forked child finds empty: it begins anew, as it does in earnest. */
struct observer {
    struct follower always; /* with what it knows of the last walk */
    struct follower anew;   /* without */
    struct follower steps;  /* at each instruction */
    struct stack own, other, glibc;
    uint64_t walks;      /* so far */
    uint64_t count;      /* stacks so far */
    uint32_t steps_left; /* instructions that are still to be looked at */
};

/* How it is run: from the environment, UNWIND_ and the name in capitals. */
struct plan {
    uint32_t each;        /* all are walked, each so many are compared */
    uint32_t room;        /* frames that are compared, innermost first */
    uint32_t steps_each;  /* UNWIND_STEPS: each so many stacks by unw_step() */
    uint32_t glibc_each;  /* UNWIND_GLIBC: by glibc's backtrace() */
    uint32_t libunwind;   /* 0: glibc in its place, each time */
    uint32_t trap_each;   /* after each so many stacks, instruction by instruction, */
    uint32_t trap_length; /* so many */
};

extern struct plan plan;
extern struct counts *counts; /* NULL: nothing is done */

/* Return the calling thread's; NULL where there is no memory. */
struct observer *observer_own(void);

/* Walk from a state, and compare. */
void compare_stack(struct observer *observer, const struct unwind_state *state);

/* The same from an interrupted instruction. context: a ucontext_t. */
void compare_instruction(struct observer *observer, const void *context);

/* Look libunwind up. Returns false where it is not. */
bool references_prepare(void);

/* Walk by the others, from the caller of the library. Return false where it cannot be told now. */
bool reference_backtrace(struct stack *ret_stack, uintptr_t first);
bool reference_steps(struct stack *ret_stack, uintptr_t first);
bool reference_glibc(struct stack *ret_stack, uintptr_t first);
bool reference_from(struct stack *ret_stack, const void *context);

/* Open the files of UNWIND_COUNTS. Returns false when there are none. */
bool report_prepare(void);

/* Print where two stacks differ. */
void report_mismatch(const char *what, const struct stack *own, const struct stack *other);

/* Count in a tally. */
static inline void count_one(_Atomic uint64_t *tally)
{
    atomic_fetch_add_explicit(tally, 1, memory_order_relaxed);
}

/* Get ready for single steps; begin them, if it is time; whether an address is the library's own. */
/* Note which objects there are, for reference_from(). */
void references_take_snapshot(void);

void trap_prepare(void);
void trap_begin(struct observer *observer);

/* Set while the library is at work in a thread: what it calls is not looked at. */
extern __thread bool is_at_work __attribute__((tls_model("initial-exec")));

#endif
