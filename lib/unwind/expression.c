/*
 * DWARF expressions on values that are a number, a register and a number, or a word behind one.
 * Runs in the program's threads, once for each address whose rules have an expression.
 */
#include "unwind/expression.h"

#include "unwind/cfi_bytes.h"

#include <stddef.h>

/* DWARF 5, section 7.7.1. */
enum {
    OP_ADDR = 0x03,
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST1S = 0x09,
    OP_CONST2U = 0x0a,
    OP_CONST2S = 0x0b,
    OP_CONST4U = 0x0c,
    OP_CONST4S = 0x0d,
    OP_CONST8U = 0x0e,
    OP_CONST8S = 0x0f,
    OP_CONSTU = 0x10,
    OP_CONSTS = 0x11,
    OP_AND = 0x1a,
    OP_MINUS = 0x1c,
    OP_MUL = 0x1e,
    OP_OR = 0x21,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_EQ = 0x29,
    OP_GE = 0x2a,
    OP_GT = 0x2b,
    OP_LE = 0x2c,
    OP_LT = 0x2d,
    OP_NE = 0x2e,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    STACK_DEPTH = 16,
};

enum value_kind {
    VALUE_NUMBER,
    VALUE_REGISTER, /* number added to it */
    VALUE_LOADED,   /* the word at register + inner, number added to it */
};

struct value {
    enum value_kind kind;
    enum expression_base base;
    int64_t inner, number;
};

struct machine {
    struct value stack[STACK_DEPTH];
    unsigned depth;
    uintptr_t address;
};

static bool push(struct machine *machine, const struct value *value)
{
    if (machine->depth == STACK_DEPTH)
        return false;
    machine->stack[machine->depth++] = *value;
    return true;
}

static bool push_number(struct machine *machine, int64_t number)
{
    return push(machine, &(struct value){.kind = VALUE_NUMBER, .number = number});
}

static bool push_register(struct machine *machine, unsigned number, int64_t offset)
{
    struct value value = {.kind = VALUE_REGISTER, .number = offset};

    if (number == CFI_STACK_POINTER)
        value.base = EXPRESSION_STACK_POINTER;
    else if (number == CFI_FRAME_POINTER)
        value.base = EXPRESSION_FRAME_POINTER;
#if defined(__x86_64__)
    else if (number == CFI_RETURN_ADDRESS) /* it stands for the address itself */
        return push_number(machine, (int64_t)machine->address + offset);
#endif
    else
        return false;
    return push(machine, &value);
}

static bool load(struct machine *machine)
{
    struct value *top;

    if (machine->depth == 0)
        return false;
    top = &machine->stack[machine->depth - 1];
    if (top->kind != VALUE_REGISTER)
        return false;
    *top = (struct value){VALUE_LOADED, top->base, top->number, 0};
    return true;
}

static int64_t of_two_numbers(uint8_t op, int64_t a, int64_t b)
{
    switch (op) {
    case OP_AND:
        return a & b;
    case OP_OR:
        return a | b;
    case OP_MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case OP_SHL:
        return b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a << b);
    case OP_EQ:
        return a == b;
    case OP_GE:
        return a >= b;
    case OP_GT:
        return a > b;
    case OP_LE:
        return a <= b;
    case OP_LT:
        return a < b;
    default:
        return a != b;
    }
}

static bool combine(struct machine *machine, uint8_t op)
{
    struct value a, b;

    if (machine->depth < 2)
        return false;
    b = machine->stack[--machine->depth];
    a = machine->stack[--machine->depth];
    if (op == OP_PLUS && a.kind == VALUE_NUMBER) {
        b.number = (int64_t)((uint64_t)b.number + (uint64_t)a.number);
        return push(machine, &b);
    }
    if (b.kind != VALUE_NUMBER || (a.kind != VALUE_NUMBER && op != OP_PLUS && op != OP_MINUS))
        return false;
    if (op == OP_PLUS)
        a.number = (int64_t)((uint64_t)a.number + (uint64_t)b.number);
    else if (op == OP_MINUS)
        a.number = (int64_t)((uint64_t)a.number - (uint64_t)b.number);
    else
        a.number = of_two_numbers(op, a.number, b.number);
    return push(machine, &a);
}

static bool run_constant(struct machine *machine, struct cfi_bytes *bytes, uint8_t op)
{
    switch (op) {
    case OP_CONST1U:
    case OP_CONST2U:
    case OP_CONST4U:
    case OP_CONST8U:
        return push_number(machine, (int64_t)cfi_fixed(bytes, (size_t)1 << (op - OP_CONST1U) / 2));
    case OP_CONST1S:
    case OP_CONST2S:
    case OP_CONST4S:
    case OP_CONST8S:
        return push_number(machine, cfi_signed(bytes, (size_t)1 << (op - OP_CONST1S) / 2));
    case OP_CONSTU:
        return push_number(machine, (int64_t)cfi_uleb(bytes));
    default:
        return push_number(machine, cfi_sleb(bytes));
    }
}

static bool run(struct machine *machine, struct cfi_bytes *bytes, uint8_t op)
{
    if (op >= OP_LIT0 && op <= OP_LIT31)
        return push_number(machine, op - OP_LIT0);
    if (op >= OP_BREG0 && op <= OP_BREG31)
        return push_register(machine, op - OP_BREG0, cfi_sleb(bytes));
    if (op >= OP_CONST1U && op <= OP_CONSTS)
        return run_constant(machine, bytes, op);
    switch (op) {
    case OP_DEREF:
        return load(machine);
    case OP_PLUS_UCONST:
        return push_number(machine, (int64_t)cfi_uleb(bytes)) && combine(machine, OP_PLUS);
    case OP_AND:
    case OP_OR:
    case OP_MUL:
    case OP_SHL:
    case OP_EQ:
    case OP_GE:
    case OP_GT:
    case OP_LE:
    case OP_LT:
    case OP_NE:
    case OP_PLUS:
    case OP_MINUS:
        return combine(machine, op);
    default:
        return false;
    }
}

bool expression_reduce(const struct cfi_expression *expression, uintptr_t address,
                       struct expression_value *ret_value)
{
    struct cfi_bytes bytes = {expression->bytes, expression->bytes + expression->count_bytes,
                              false};
    struct machine machine = {.address = address};
    const struct value *top;

    while (bytes.at < bytes.end)
        if (!run(&machine, &bytes, (uint8_t)cfi_fixed(&bytes, 1)) || bytes.is_bad)
            return false;
    if (machine.depth == 0)
        return false;
    top = &machine.stack[machine.depth - 1];
    if (top->kind == VALUE_NUMBER)
        return false;
    *ret_value =
        (struct expression_value){top->base, top->kind == VALUE_LOADED, top->inner, top->number};
    return true;
}
