/*
 * Call frame information: where the caller's registers are, for one address.
 *
 * Reads .eh_frame as the compiler wrote it (DWARF 5, section 6.4; Linux Standard Base, "Exception
 * frames"). It lies in the memory of the object that it is about, which stays mapped while code of it is
 * on a stack. No table is believed further than its own lengths, and the object's segments, reach.
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DWARF's numbers of the registers that are followed. */
#if defined(__x86_64__)
enum {
    CFI_FRAME_POINTER = 6,
    CFI_STACK_POINTER = 7,
    CFI_RETURN_ADDRESS = 16,
};
#elif defined(__aarch64__)
enum {
    CFI_FRAME_POINTER = 29,
    CFI_STACK_POINTER = 31,
    CFI_RETURN_ADDRESS = 30,
};
#endif

/* What the caller's register was; the CFA is the stack pointer's value before the call. */
enum cfi_rule_kind {
    CFI_SAME = 0,       /* what it is now */
    CFI_UNDEFINED,      /* nothing: of the return address, the outermost frame */
    CFI_AT_OFFSET,      /* it lies at CFA + offset */
    CFI_IS_OFFSET,      /* it is CFA + offset */
    CFI_AT_EXPRESSION,  /* it lies where an expression says */
    CFI_NOT_UNDERSTOOD, /* another register, the value of an expression */
};

struct cfi_expression {
    const uint8_t *bytes;
    size_t count_bytes;
};

struct cfi_rule {
    enum cfi_rule_kind kind;
    int64_t offset;
    struct cfi_expression expression;
};

enum {
    CFI_CFA_NONE = -1,
    CFI_CFA_EXPRESSION = -2,
};

/* The rules in force at an address. */
struct cfi_row {
    int32_t cfa_register; /* DWARF's number, or one of the above */
    int64_t cfa_offset;
    struct cfi_expression cfa_expression;
    struct cfi_rule frame_pointer, stack_pointer, return_address;
};

/* A function's, or a part of one. */
struct cfi_range {
    uintptr_t start, end;
    bool is_signal_frame; /* what a signal handler returns to */
};

enum cfi_result {
    CFI_FOUND,
    CFI_NO_TABLE, /* nothing is said of this address */
    CFI_UNKNOWN,  /* something is said that is not understood */
};

enum {
    CFI_PARTS_MAX = 8, /* linkers make four; what puts programs in order afterwards, five */
};

/* The tables of an object, and where its memory may be read for them: they are not believed further. */
struct cfi_tables {
    const uint8_t *header; /* .eh_frame_hdr; NULL: it has none */
    struct {
        const uint8_t *start, *end;
    } parts[CFI_PARTS_MAX];
    unsigned count; /* of parts */
};

/*
 * Find the rules for an address.
 * tables: of the object that it lies in.
 * ret_range: set when there is a table, even one that is not understood.
 * Context: hot path (slow paths only).
 */
enum cfi_result cfi_find(const struct cfi_tables *tables, uintptr_t address,
                         struct cfi_row *ret_row, struct cfi_range *ret_range);

#endif
