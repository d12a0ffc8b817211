/*
 * System calls from inside the target, made directly.
 *
 * mmap, munmap and their relatives are names that we interpose: through libc we would record our
 * own memory as the program's. errno belongs to the program: these functions leave it alone and
 * return the kernel's negative number instead.
 */
#ifndef BASE_SYSCALLS_H
#define BASE_SYSCALLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

/*
 * Make a system call of up to six arguments.
 * Returns what the kernel returned: -1 to -4095 is a negative errno.
 * Context: hot path.
 */
static inline long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;

    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#else
#error "memtrack runs on x86_64 and aarch64"
#endif
}

/* Returns true when a result of sys_call() is an error. Context: hot path. */
static inline bool sys_failed(long result)
{
    return (unsigned long)result > -4096UL;
}

/* What a system call filter of the program's may refuse, and end the process for. */
enum sys_filter {
    SYS_FILTER_NONE = 0,
    SYS_FILTER_OTHERS = 1, /* all but what memory is got with: the program's malloc needs that */
    SYS_FILTER_ALL = 2,
};

/*
 * From now on make no call that such a filter could refuse: what is asked for below is then found
 * out in another way, or not done. It never becomes less. Context: any thread.
 */
void sys_expect_filter(enum sys_filter filter);

/* Whether any filter is expected: spin instead of sleeping. Context: hot path. */
bool sys_makes_no_calls(void);

/*
 * Prepare for sys_fence_threads(). Returns false when it cannot be had: old kernels, filters.
 * Context: start-up, or the first thread of a forked child.
 */
bool sys_prepare_fence(void);

/*
 * Make every other thread of this process pass a full memory fence: what we stored before is seen by
 * all that it loads afterwards. Prepared. Does nothing once a filter is expected.
 * Context: hot path (slow paths only).
 */
void sys_fence_threads(void);

/*
 * Map zeroed private memory, of which a forked child gets a copy.
 * size_bytes: rounded up to pages by the kernel. Pages cost memory only once touched.
 * Returns NULL when refused. Context: hot path.
 */
void *sys_map(size_t size_bytes);

/*
 * Map zeroed private memory that a forked child finds zeroed again (MADV_WIPEONFORK).
 * size_bytes: rounded up to pages by the kernel. Pages cost memory only once touched.
 * Returns NULL when refused. Context: hot path.
 */
void *sys_map_wiped(size_t size_bytes);

/* Give such memory back. Context: hot path. */
void sys_unmap(void *memory, size_t size_bytes);

/*
 * Make such memory larger, at another address perhaps; the new part is zeroed and wiped on fork.
 * Returns NULL when refused: the old one stays. Context: hot path.
 */
void *sys_remap_wiped(void *memory, size_t old_bytes, size_t new_bytes);

/* Return CLOCK_MONOTONIC in ns. Context: hot path (slow paths only: it costs 25 ns). */
uint64_t sys_now_ns(void);

/* As clock_gettime(). */
typedef int sys_clock(clockid_t id, struct timespec *ret_time);

/* From now on let sys_now_ns() ask this one, not libc's. Context: start-up. */
void sys_use_clock(sys_clock *function);

/*
 * From now on let sys_now_ns() be right to a few milliseconds only, but never read the time stamp
 * counter: the process may lose the right to do so. Context: any thread.
 */
void sys_use_coarse_clock(void);

/* Sleep, at most so long; not at all once a filter is expected. Context: hot path (slow paths only). */
void sys_sleep(uint64_t duration_ns);

/*
 * Put private memory of our own in the place of a mapping. Returns false when refused: what was
 * there stays. Context: hot path (slow paths only).
 */
bool sys_map_over(void *memory, size_t size_bytes);

/*
 * Return the calling process's id; 0 once a filter is expected.
 * Context: hot path (slow paths only).
 */
uint32_t sys_process_id(void);

/* Return the calling thread's id. Context: hot path (slow paths only). */
uint32_t sys_thread_id(void);

/*
 * Keep all signals from the calling thread, until sys_restore_signals() with what this returned.
 * Once a filter is expected they come all the same.
 * Context: hot path (slow paths only).
 */
uint64_t sys_block_signals(void);
void sys_restore_signals(uint64_t mask);

/*
 * Whether the thread runs on its sigaltstack(); false once a filter is expected.
 * Context: hot path (slow paths only).
 */
bool sys_is_on_signal_stack(void);

/*
 * Wait on a futex shared between processes, at most timeout_ns. Wakes early are allowed, and come
 * at once when a filter is expected; nobody is woken then either.
 * Context: hot path (slow paths only).
 */
void sys_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns);

/* Wake up to count waiters of a shared futex. Context: hot path (slow paths only). */
void sys_futex_wake(_Atomic uint32_t *word, int count);

#endif
