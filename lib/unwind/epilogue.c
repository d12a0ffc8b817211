/*
 * Epilogues of x86-64. Runs in the program's threads, once for each return address.
 *
 * The address may be anything: it was read from a stack by rules that may have been guessed. So the kernel
 * reads for us, and says no where nothing is mapped; where no call may be made, nothing is read.
 */
#include "unwind/epilogue.h"

#include "base/syscalls.h"

#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum {
    CODE_BYTES = 32,
    CALL_BYTES = 7, /* the longest that is looked for */
    CALLS_COUNT = 1024,
    OFFSET_MAX = 1 << 16, /* of a frame that such code has */
};

#if defined(__x86_64__)

struct decoder {
    uint8_t code[CODE_BYTES + 8]; /* zeros behind what could be read */
    size_t at;
    int64_t offset; /* what the stack pointer has been moved by */
    int64_t
        saved; /* where the frame pointer was taken from, by the stack pointer of before; -1: nowhere */
    bool is_from_frame; /* counted from the frame pointer from now on */
};

/* Addresses that are known to stand behind a call. Relaxed: each says only itself. */
static _Atomic uintptr_t calls[CALLS_COUNT];

static bool read_bytes(uintptr_t address, uint8_t *ret_bytes, size_t count)
{
    uint32_t process = sys_makes_no_calls() ? 0 : sys_process_id();
    struct iovec here = {ret_bytes, count}, there = {(void *)address, count};

    return process != 0 &&
           !sys_failed(sys_call(SYS_process_vm_readv, process, (long)&here, 1, (long)&there, 1, 0));
}

static bool read_code(uintptr_t address, uint8_t *ret_code)
{
    size_t left_of_page = 4096 - address % 4096;

    /* What is mapped may end with the page. */
    return read_bytes(address, ret_code, CODE_BYTES) ||
           (left_of_page < CODE_BYTES && read_bytes(address, ret_code, left_of_page));
}

/* Whether a call ends behind these bytes: by a distance, or through a register or memory (ff /2). */
static bool is_call(const uint8_t *code)
{
    const uint8_t *end = code + CALL_BYTES;

    if (end[-5] == 0xe8)
        return true;
    for (unsigned length = 2; length <= CALL_BYTES; length++)
        if (end[-(int)length] == 0xff && (end[1 - (int)length] & 0x38) == 0x10)
            return true;
    return false;
}

bool epilogue_follows_call(uintptr_t address)
{
    _Atomic uintptr_t *known = &calls[address % CALLS_COUNT];
    uint8_t code[CALL_BYTES] = {0};

    if (atomic_load_explicit(known, memory_order_relaxed) == address)
        return true;
    if (!read_bytes(address - CALL_BYTES, code, CALL_BYTES) || !is_call(code))
        return false;
    atomic_store_explicit(known, address, memory_order_relaxed);
    return true;
}

void epilogue_forget(void)
{
    for (size_t i = 0; i < CALLS_COUNT; i++)
        atomic_store_explicit(&calls[i], 0, memory_order_relaxed);
}

static int64_t signed32(const uint8_t *bytes)
{
    int32_t value;

    memcpy(&value, bytes, sizeof(value));
    return value;
}

static void pop(struct decoder *decoder, bool is_frame_pointer)
{
    if (is_frame_pointer)
        decoder->saved = decoder->offset;
    decoder->offset += 8;
}

/* Take one instruction. Returns false when it is none of an epilogue's. */
static bool decode(struct decoder *decoder)
{
    const uint8_t *code = decoder->code + decoder->at;

    if (code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xc4) { /* add $imm8, %rsp */
        decoder->offset += (int8_t)code[3];
        decoder->at += 4;
    } else if (code[0] == 0x48 && code[1] == 0x81 && code[2] == 0xc4) { /* add $imm32, %rsp */
        decoder->offset += signed32(code + 3);
        decoder->at += 7;
    } else if (code[0] >= 0x58 && code[0] <= 0x5f && code[0] != 0x5c) { /* pop, but not of %rsp */
        pop(decoder, code[0] == 0x5d);
        decoder->at += 1;
    } else if (code[0] == 0x41 && code[1] >= 0x58 && code[1] <= 0x5f) { /* pop %r8 to %r15 */
        pop(decoder, false);
        decoder->at += 2;
    } else if (code[0] == 0xc9 && decoder->saved < 0) { /* leave */
        decoder->is_from_frame = true;
        decoder->offset = 0;
        pop(decoder, true);
        decoder->at += 1;
    } else if (code[0] == 0x48 && code[1] == 0x89 && code[2] == 0xec && decoder->saved < 0) {
        decoder->is_from_frame = true; /* mov %rbp, %rsp */
        decoder->offset = 0;
        decoder->at += 3;
    } else {
        return false;
    }
    return decoder->offset >= 0 && decoder->offset < OFFSET_MAX;
}

static bool is_return(const uint8_t *code)
{
    return code[0] == 0xc3 || code[0] == 0xc2 || (code[0] == 0xf3 && code[1] == 0xc3);
}

bool epilogue_read(uintptr_t address, unwind_row *ret_row)
{
    struct decoder decoder = {.saved = -1};
    int64_t cfa;

    if (!read_code(address, decoder.code))
        return false;
    while (!is_return(decoder.code + decoder.at))
        if (decoder.at >= CODE_BYTES - 8 || !decode(&decoder))
            return false;
    cfa = decoder.offset + ROW_WORD_BYTES;
    if (cfa % ROW_WORD_BYTES != 0 || cfa / ROW_WORD_BYTES > ROW_CFA_MASK)
        return false;
    if (decoder.saved >= 0)
        *ret_row = ROW_MAKE(decoder.is_from_frame ? ROW_FP_SAVED : ROW_SP_SAVED,
                            cfa / ROW_WORD_BYTES, (cfa - decoder.saved) / ROW_WORD_BYTES);
    else
        *ret_row =
            ROW_MAKE(decoder.is_from_frame ? ROW_FP : ROW_SP, cfa / ROW_WORD_BYTES, ROW_NOT_SAVED);
    return (cfa - decoder.saved) / ROW_WORD_BYTES <= ROW_SAVED_MASK || decoder.saved < 0;
}

#else

bool epilogue_read(uintptr_t address, unwind_row *ret_row)
{
    (void)address;
    (void)ret_row;
    return false;
}

bool epilogue_follows_call(uintptr_t address)
{
    (void)address;
    return false;
}

void epilogue_forget(void)
{
}

#endif
