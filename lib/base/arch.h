/*
 * What each machine does in its own way, behind the same names: see arch_x86_64.h and
 * arch_aarch64.h, which define
 *
 * bool arch_reserve(_Atomic uint64_t *word, uint64_t expected, uint64_t desired)
 *     Store desired when the word holds expected. Only handlers of the calling thread compete, so
 *     no other processor has to be kept away: an instruction that an interrupt cannot split is all
 *     it takes. May fail although the word holds expected: the caller tries again.
 *     Is a barrier for the compiler. Orders nothing between processors.
 *     Context: hot path.
 *
 * uintptr_t arch_stack_pointer(void)
 *     Return the stack pointer: lower than all that the calling function has on its stack.
 *     Context: hot path.
 * uintptr_t arch_thread_pointer(void)
 *     Return the thread pointer, from which thread variables are counted. Context: hot path.
 * uintptr_t arch_thread_word(intptr_t distance)
 *     Return the word so far from it, as it is now. Context: hot path.
 * void arch_registers(uintptr_t *ret_pc, uintptr_t *ret_sp, uintptr_t *ret_fp)
 *     Get the registers that a stack is walked with, of one instruction of the calling function.
 *     Context: hot path.
 * void arch_pause(void)
 *     Tell the processor that a thread spins. Context: hot path.
 */
#ifndef BASE_ARCH_H
#define BASE_ARCH_H

#if defined(__x86_64__)
#include "base/arch_x86_64.h"
#elif defined(__aarch64__)
#include "base/arch_aarch64.h"
#else
#error "memtrack runs on x86_64 and aarch64"
#endif

#define likely(condition_)   __builtin_expect(!!(condition_), 1)
#define unlikely(condition_) __builtin_expect(!!(condition_), 0)

#endif
