/* arch.h for aarch64. Included by it alone. */
#ifndef BASE_ARCH_AARCH64_H
#define BASE_ARCH_AARCH64_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

static inline bool arch_reserve(_Atomic uint64_t *word, uint64_t expected, uint64_t desired)
{
    uint64_t seen;
    uint32_t is_refused;

    /*
     * An exception return clears the exclusive monitor, so a handler between the two makes the
     * store fail, as does a cache line that moves: the caller tries again.
     */
    __asm__ volatile("ldxr %0, %2\n\t"
                     "mov %w1, #1\n\t"
                     "cmp %0, %3\n\t"
                     "b.ne 1f\n\t"
                     "stxr %w1, %4, %2\n"
                     "1:"
                     : "=&r"(seen), "=&r"(is_refused), "+Q"(*word)
                     : "r"(expected), "r"(desired)
                     : "memory", "cc");
    return is_refused == 0;
}

static inline uintptr_t arch_stack_pointer(void)
{
    uintptr_t address;

    __asm__ volatile("mov %0, sp" : "=r"(address));
    return address;
}

static inline uintptr_t arch_thread_pointer(void)
{
    uintptr_t address;

    __asm__("mrs %0, tpidr_el0" : "=r"(address));
    return address;
}

static inline uintptr_t arch_thread_word(intptr_t distance)
{
    uintptr_t word;

    __asm__ volatile("ldr %0, [%1]"
                     : "=r"(word)
                     : "r"(arch_thread_pointer() + (uintptr_t)distance));
    return word;
}

static inline __attribute__((always_inline)) void
arch_registers(uintptr_t *ret_pc, uintptr_t *ret_sp, uintptr_t *ret_fp)
{
    uintptr_t pc, sp, fp;

    __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29" : "=&r"(pc), "=&r"(sp), "=&r"(fp));
    *ret_pc = pc;
    *ret_sp = sp;
    *ret_fp = fp;
}

static inline void arch_pause(void)
{
    __asm__ volatile("yield");
}

#endif
