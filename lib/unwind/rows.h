/*
 * Rows: how to get from one frame to its caller's, for each return address that was met.
 *
 * One table for all threads, filled as addresses are met and read without a lock: an entry is one word.
 * docs/native.md has its layout and what it was measured with.
 */
#ifndef UNWIND_ROWS_H
#define UNWIND_ROWS_H

#include "base/arch.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* bits 26-28 enum row_kind, 10-25 CFA less its base, 0-9 CFA less the place of the frame pointer; in words. */
typedef uint32_t unwind_row;

/* No code lies below: what is read there is the end of a stack, or none. */
#define UNWIND_LOWEST_CODE ((uintptr_t)0x4000)

/* Below ROW_SIGNAL a row says all, and of its kind bit 0: from the frame pointer, bit 1: that was saved. */
enum row_kind {
    ROW_SP = 0, /* the CFA is counted from the stack pointer; the frame pointer is the caller's */
    ROW_FP = 1, /* from the frame pointer, which is the caller's too */
    ROW_SP_SAVED = 2, /* from the stack pointer; the caller's frame pointer was saved */
    ROW_FP_SAVED = 3, /* from the frame pointer; likewise */
    ROW_SIGNAL = 4,   /* a handler returns here: the kernel has saved all */
    ROW_END = 5,      /* the outermost frame */
    ROW_SPECIAL = 6,  /* bits 0-15: number of a struct special_row */
};

enum {
    ROW_KIND_SHIFT = 26,
    ROW_CFA_SHIFT = 10,
    ROW_CFA_MASK = 0xffff,
    ROW_SAVED_MASK = 0x3ff,
    ROW_WORD_BYTES = 8,
    ROW_NUMBER_MASK = 0xffff,
    ROW_BITS = 29,
    ROW_NOT_SAVED = 1, /* where the return address lies: there is something to be read */
    ROWS_COUNT_BITS = 15,
    ROWS_PROBES = 8, /* one cache line */
};

#define ROW_MAKE(kind, cfa, saved) \
    ((uint32_t)(kind) << ROW_KIND_SHIFT | (uint32_t)(cfa) << ROW_CFA_SHIFT | (uint32_t)(saved))

enum special_kind {
    SPECIAL_NO_TABLE = 0,  /* nothing is said of the address: the frame pointer is guessed with */
    SPECIAL_NOT_KNOWN = 1, /* it cannot be gone on from here */
    SPECIAL_FAR = 2,       /* base + inner, as usual rows, but too large for one */
    SPECIAL_LOADED = 3,    /* the word at base + inner, and outer added */
};

enum special_saved {
    SAVED_NOT = 0,
    SAVED_AT_CFA = 1, /* the frame pointer lies at CFA + saved */
    SAVED_AT_FP = 2,  /* at the frame pointer + saved */
};

/* What no row has room for. */
struct special_row {
    uint8_t kind;  /* enum special_kind */
    uint8_t where; /* enum special_saved */
    bool is_from_frame_pointer;
    int64_t inner, outer, saved; /* bytes */
};

/* An entry: bits 32-63 the key's upper bits, 29-31 the probe that found room, 0-28 the row; 0: free. */
extern _Atomic uint64_t rows_table[1 << ROWS_COUNT_BITS] __attribute__((visibility("hidden")));

/* As rows_get(), of an address that has not found the first place free. Context: hot path. */
unwind_row rows_find(uintptr_t key) __attribute__((noinline));

/* Return the row of an instruction that was interrupted. Context: hot path (slow paths only). */
unwind_row rows_interrupted(uintptr_t address) __attribute__((cold, noinline));

/* Return the row of a return address. Context: hot path. */
static inline __attribute__((always_inline)) unwind_row rows_get(uintptr_t key)
{
    size_t at = key & ((1u << ROWS_COUNT_BITS) - 1);
    uint64_t tag = (uint64_t)(key >> ROWS_COUNT_BITS) << 3;

    /* Relaxed: the word is all there is, but of special rows, which rows_special() reads. */
    uint64_t entry = atomic_load_explicit(&rows_table[at], memory_order_relaxed);

    if (likely(entry >> ROW_BITS == tag))
        return (unwind_row)entry & ((1u << ROW_BITS) - 1);
    return rows_find(key);
}

/* Return what a ROW_SPECIAL stands for. Context: hot path (slow paths only). */
const struct special_row *rows_special(unwind_row row);

/* Whether a row is that of an address that no table tells of. Context: hot path (slow paths only). */
bool rows_is_guess(unwind_row row);

/* Have the table's memory at hand: a first touch costs more than a row. Context: start-up. */
void rows_prefault(void);

/*
 * The loader frees something: if it is what it knew of an object that rows lie in, they are forgotten.
 * Rows that other threads find out meanwhile are of other objects, whose code they run.
 * Context: any thread, before the memory is released.
 */
void rows_note_free(const void *block);

/*
 * Memory is about to be unmapped, or to have another protection: code that was made there may go.
 * Context: any thread, before the real call.
 */
void rows_note_change(uintptr_t start, size_t size_bytes);

/* Grows when an object is gone: what was walked before may be of its code. Context: hot path. */
extern _Atomic uint32_t rows_generation __attribute__((visibility("hidden")));

#endif
