/* arch.h for x86_64. Included by it alone. */
#ifndef BASE_ARCH_X86_64_H
#define BASE_ARCH_X86_64_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

static inline bool arch_reserve(_Atomic uint64_t *word, uint64_t expected, uint64_t desired)
{
    bool is_stored;

    /* No lock prefix: one instruction is whole for the handlers of its own thread. */
    __asm__ volatile("cmpxchgq %3, %1"
                     : "=@ccz"(is_stored), "+m"(*word), "+a"(expected)
                     : "r"(desired)
                     : "memory");
    return is_stored;
}

static inline uintptr_t arch_stack_pointer(void)
{
    uintptr_t address;

    __asm__ volatile("mov %%rsp, %0" : "=r"(address));
    return address;
}

static inline uintptr_t arch_thread_pointer(void)
{
    uintptr_t address;

    __asm__("mov %%fs:0, %0" : "=r"(address));
    return address;
}

static inline uintptr_t arch_thread_word(intptr_t distance)
{
    uintptr_t word;

    __asm__ volatile("mov %%fs:(%1), %0" : "=r"(word) : "r"(distance));
    return word;
}

static inline __attribute__((always_inline)) void
arch_registers(uintptr_t *ret_pc, uintptr_t *ret_sp, uintptr_t *ret_fp)
{
    uintptr_t pc, sp, fp;

    __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
                     : "=&r"(pc), "=&r"(sp), "=&r"(fp));
    *ret_pc = pc;
    *ret_sp = sp;
    *ret_fp = fp;
}

static inline void arch_pause(void)
{
    __builtin_ia32_pause();
}

#endif
