/*
 * Reading one function's machine code. Start-up, or whoever looks for an interpreter.
 *
 * What holds: a byte is looked at only when all before it were as in one of the sequences, so none
 * behind the function's end is; and what is found is what the function itself would read.
 */
#include "python/attached.h"

#include "base/arch.h"

#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)

#define MATCHES(code_, ...) \
    code_matches((code_), (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* Go over these bytes, when they are next. */
static bool code_matches(const uint8_t **code, const uint8_t *bytes, size_t count_bytes)
{
    for (size_t i = 0; i < count_bytes; i++)
        if ((*code)[i] != bytes[i])
            return false;
    *code += count_bytes;
    return true;
}

static int32_t take_number(const uint8_t **code)
{
    int32_t number;

    memcpy(&number, *code, sizeof(number));
    *code += sizeof(number);
    return number;
}

/* What a number says that counts from the instruction's end. */
static const void *take_address(const uint8_t **code)
{
    int32_t number = take_number(code);

    return *code + number;
}

/* General dynamic: the address is asked for. What is asked is what the code asks. */
static intptr_t take_asked(const uint8_t **code)
{
    void *(*ask)(const void *variable);
    const void *variable, *target;
    uintptr_t address;

    if (!MATCHES(code, 0x66, 0x48, 0x8d, 0x3d)) /* data16 lea VARIABLE(%rip), %rdi */
        return 0;
    variable = take_address(code);
    if (MATCHES(code, 0x66, 0x66, 0x48, 0xe8)) /* data16 data16 rex.W call __tls_get_addr@PLT */
        target = take_address(code);
    else if (MATCHES(code, 0x66, 0x48, 0xff,
                     0x15)) /* data16 rex.W call *__tls_get_addr@GOT(%rip) */
        memcpy(&target, take_address(code), sizeof(target));
    else
        return 0;
    if (!MATCHES(code, 0x48, 0x8b, 0x00)) /* mov (%rax), %rax */
        return 0;
    memcpy(&ask, &target, sizeof(ask));
    address = (uintptr_t)ask(variable);
    return (intptr_t)(address - arch_thread_pointer());
}

/* The load itself. */
static intptr_t take_load(const uint8_t **code, bool is_initial)
{
    intptr_t distance;

    if (MATCHES(code, 0x64, 0x48, 0x8b, 0x04, 0x25)) { /* mov %fs:NUMBER, %rax */
        distance = take_number(code);
        if (distance != 0)
            return distance;
        if (!MATCHES(code, 0x48, 0x8d, 0x80)) /* lea NUMBER(%rax), %rax */
            return 0;
        distance = take_number(code);
        return MATCHES(code, 0x48, 0x8b, 0x00) ? distance : 0; /* mov (%rax), %rax */
    }
    if (MATCHES(code, 0x48, 0x8b, 0x05)) /* mov VARIABLE(%rip), %rax */
        memcpy(&distance, take_address(code), sizeof(distance));
    else if (MATCHES(code, 0x48, 0xc7, 0xc0)) /* mov $NUMBER, %rax */
        distance = take_number(code);
    else
        return is_initial ? take_asked(code) : 0;
    return MATCHES(code, 0x64, 0x48, 0x8b, 0x00) ? distance : 0; /* mov %fs:(%rax), %rax */
}

static intptr_t read_code(const uint8_t *code, bool is_initial)
{
    bool has_frame, has_room;
    intptr_t distance;

    (void)MATCHES(&code, 0xf3, 0x0f, 0x1e, 0xfa);       /* endbr64 */
    has_frame = MATCHES(&code, 0x55, 0x48, 0x89, 0xe5); /* push %rbp; mov %rsp, %rbp */
    has_room = MATCHES(&code, 0x48, 0x83, 0xec, 0x08);  /* sub $8, %rsp */
    distance = take_load(&code, is_initial);
    if (distance == 0 || (has_room && !MATCHES(&code, 0x48, 0x83, 0xc4, 0x08)) || /* add $8, %rsp */
        (has_frame && !MATCHES(&code, 0x5d)) ||                                   /* pop %rbp */
        !MATCHES(&code, 0xc3))                                                    /* ret */
        return 0;
    return distance;
}

intptr_t attached_find(void *(*function)(void), bool is_initial)
{
    const uint8_t *code;
    intptr_t distance;

    if (function == NULL)
        return 0;
    memcpy(&code, &function, sizeof(code));
    distance = read_code(code, is_initial);
    if (distance == 0 || arch_thread_word(distance) != (uintptr_t)function())
        return 0;
    return distance;
}

#else

intptr_t attached_find(void *(*function)(void), bool is_initial)
{
    (void)function;
    (void)is_initial;
    return 0;
}

#endif
