/*
 * Reach: how far outwards a stack may be read.
 *
 * Tables may lie, and what they count from may be garbage: a walk reads what they say only where it is known
 * to be memory. The first thread's stack is so up to its end. Of all others it is asked, page by page
 * and once: a coroutine's stack has nothing behind its end.
 */
#ifndef UNWIND_REACH_H
#define UNWIND_REACH_H

#include "base/arch.h"
#include "unwind/unwind.h"

#include <stdbool.h>
#include <stdint.h>

/* Find out what the first thread's stack may grow to. Context: start-up. */
void reach_prepare(void);

/* As reach_limit(), of a place that was not walked from before. Context: hot path (slow paths only). */
uintptr_t reach_find(struct unwind_reach *reach, uintptr_t sp, bool is_exact)
    __attribute__((noinline));

/*
 * Return up to where the stack that an address lies on is known to be memory.
 * is_exact: there is a word at the address; else only below it.
 * Context: hot path.
 */
static inline uintptr_t reach_limit(struct unwind_reach *reach, uintptr_t sp, bool is_exact)
{
    if (likely(sp - reach->low < reach->high - reach->low))
        return reach->high;
    return reach_find(reach, sp, is_exact);
}

/* Whether a frame may end there: all words below it can be read. Context: hot path (slow paths only). */
bool reach_extend(struct unwind_reach *reach, uintptr_t sp, uintptr_t end);

/*
 * Whether a word can be read: of the stack, or of what a leaf function has right below it.
 * Context: hot path (slow paths only).
 */
bool reach_has_word(struct unwind_reach *reach, uintptr_t sp, uintptr_t address);

/* Whether there is memory at an address that nobody vouches for. Context: hot path (slow paths only). */
bool reach_is_memory(uintptr_t address);

#endif
