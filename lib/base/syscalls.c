/*
 * Memory, clock and futex for code inside the target. Nothing here changes errno or allocates
 * through libc.
 */
#include "base/syscalls.h"

#include "base/arch.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18 /* linux 4.14, asm-generic/mman-common.h */
#endif

/* No mask of the kernel's: SIGKILL is never in those. */
#define SIGNALS_NOT_BLOCKED UINT64_MAX

static _Atomic int filter_expected; /* enum sys_filter */

void sys_expect_filter(enum sys_filter filter)
{
    if ((int)filter > filter_expected)
        filter_expected = (int)filter;
}

bool sys_makes_no_calls(void)
{
    return atomic_load_explicit(&filter_expected, memory_order_relaxed) != SYS_FILTER_NONE;
}

bool sys_prepare_fence(void)
{
    return !sys_makes_no_calls() &&
           !sys_failed(
               sys_call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0));
}

void sys_fence_threads(void)
{
    if (!sys_makes_no_calls())
        sys_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0);
}

static bool makes_no_maps(void)
{
    return atomic_load_explicit(&filter_expected, memory_order_relaxed) == SYS_FILTER_ALL;
}

static bool wipe_on_fork(long address, size_t size_bytes)
{
    return !sys_failed(sys_call(SYS_madvise, address, (long)size_bytes, MADV_WIPEONFORK, 0, 0, 0));
}

void *sys_map(size_t size_bytes)
{
    long address;

    if (makes_no_maps())
        return NULL;
    address = sys_call(SYS_mmap, 0, (long)size_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (sys_failed(address))
        return NULL;
    /* Little of it is ever touched: a huge page would make that 2 MiB of the program's memory. */
    sys_call(SYS_madvise, address, (long)size_bytes, MADV_NOHUGEPAGE, 0, 0, 0);
    return (void *)address;
}

void *sys_map_wiped(size_t size_bytes)
{
    void *memory = sys_map(size_bytes);

    if (memory == NULL || wipe_on_fork((long)memory, size_bytes))
        return memory;
    sys_unmap(memory, size_bytes);
    return NULL;
}

void sys_unmap(void *memory, size_t size_bytes)
{
    if (makes_no_maps())
        return;
    sys_call(SYS_munmap, (long)memory, (long)size_bytes, 0, 0, 0, 0);
}

void *sys_remap_wiped(void *memory, size_t old_bytes, size_t new_bytes)
{
    /* The mapping keeps its advice when it grows (linux mm/mremap.c copies vm_flags). */
    long address =
        sys_call(SYS_mremap, (long)memory, (long)old_bytes, (long)new_bytes, MREMAP_MAYMOVE, 0, 0);

    return sys_failed(address) ? NULL : (void *)address;
}

static sys_clock *read_clock = clock_gettime;
static _Atomic bool is_clock_coarse;

void sys_use_clock(sys_clock *function)
{
    read_clock = function;
}

void sys_use_coarse_clock(void)
{
    is_clock_coarse = true;
}

uint64_t sys_now_ns(void)
{
    struct timespec now = {0};

    /* libc asks the vDSO too: no system call that a filter could refuse, and it cannot fail. */
    read_clock(is_clock_coarse ? CLOCK_MONOTONIC_COARSE : CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

bool sys_map_over(void *memory, size_t size_bytes)
{
    return !makes_no_maps() &&
           !sys_failed(sys_call(SYS_mmap, (long)memory, (long)size_bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
}

uint32_t sys_process_id(void)
{
    return sys_makes_no_calls() ? 0 : (uint32_t)sys_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/* The C library knows its threads' numbers, and writes them into mutexes that can be held twice. */
static uint32_t thread_id_of_libc(void)
{
    uint32_t tid = 0;

#ifdef __GLIBC__
    pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

    pthread_mutex_lock(&mutex);
    tid = (uint32_t)mutex.__data.__owner;
    pthread_mutex_unlock(&mutex);
#endif
    return tid;
}

uint32_t sys_thread_id(void)
{
    uint32_t tid = sys_makes_no_calls() ? thread_id_of_libc() : 0;

    return tid != 0 ? tid : (uint32_t)sys_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

uint64_t sys_block_signals(void)
{
    uint64_t all = UINT64_MAX, old = 0;

    if (sys_makes_no_calls())
        return SIGNALS_NOT_BLOCKED;
    sys_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&old, sizeof(all), 0, 0);
    return old;
}

void sys_restore_signals(uint64_t mask)
{
    if (mask != SIGNALS_NOT_BLOCKED)
        sys_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof(mask), 0, 0);
}

bool sys_is_on_signal_stack(void)
{
    stack_t stack = {0};

    if (sys_makes_no_calls())
        return false;
    sys_call(SYS_sigaltstack, 0, (long)&stack, 0, 0, 0, 0);
    return (stack.ss_flags & SS_ONSTACK) != 0;
}

static struct timespec timespec_of(uint64_t duration_ns)
{
    return (struct timespec){
        .tv_sec = (time_t)(duration_ns / UINT64_C(1000000000)),
        .tv_nsec = (long)(duration_ns % UINT64_C(1000000000)),
    };
}

void sys_sleep(uint64_t duration_ns)
{
    struct timespec duration = timespec_of(duration_ns);

    if (sys_makes_no_calls())
        arch_pause();
    else
        sys_call(SYS_nanosleep, (long)&duration, 0, 0, 0, 0, 0);
}

void sys_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
    struct timespec timeout = timespec_of(timeout_ns);

    if (sys_makes_no_calls())
        arch_pause();
    else
        sys_call(SYS_futex, (long)word, FUTEX_WAIT, (long)value, (long)&timeout, 0, 0);
}

void sys_futex_wake(_Atomic uint32_t *word, int count)
{
    if (!sys_makes_no_calls())
        sys_call(SYS_futex, (long)word, FUTEX_WAKE, count, 0, 0, 0);
}
