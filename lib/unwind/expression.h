/*
 * Expressions of call frame information, reduced to what a row of the table can say.
 *
 * What compilers and assemblers write: a register and an offset (linkers, for PLT entries: with a term of
 * the address itself), or the word at such a place and an offset (gcc, where a function aligns its stack).
 */
#ifndef UNWIND_EXPRESSION_H
#define UNWIND_EXPRESSION_H

#include "unwind/cfi.h"

#include <stdbool.h>
#include <stdint.h>

/* Where a value is counted from. */
enum expression_base {
    EXPRESSION_STACK_POINTER,
    EXPRESSION_FRAME_POINTER,
};

struct expression_value {
    enum expression_base base;
    bool is_loaded;       /* the word at base + inner, and outer added; else base + outer */
    int64_t inner, outer; /* bytes */
};

/*
 * Reduce an expression.
 * address: the instruction that it is asked for.
 * Returns false when it is more than can be said.
 * Context: hot path (slow paths only).
 */
bool expression_reduce(const struct cfi_expression *expression, uintptr_t address,
                       struct expression_value *ret_value);

#endif
