/* What of a stack is memory. Runs in the program's threads. */
#include "unwind/reach.h"

#include "base/syscalls.h"
#include "unwind/objects.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum {
    PAGE_BYTES = 4096,
    WORD_BYTES = sizeof(uintptr_t),
    RED_ZONE_BYTES = 128, /* below the stack pointer, of a function that calls nothing */
    JOINED_BYTES = 1 << 20,
    UNKNOWN_STACK_BYTES =
        256 * 1024,                /* how far frames go on a stack that nobody tells the end of */
    FIRST_STACK_BYTES = 128 << 20, /* the kernel keeps so much free below, whatever the limit is */
};

#define STACK_BYTES_MAX ((uintptr_t)1 << 30)

static uintptr_t first_stack_bytes = FIRST_STACK_BYTES;

void reach_prepare(void)
{
    struct rlimit limit = {0};

    sys_call(SYS_prlimit64, 0, RLIMIT_STACK, 0, (long)&limit, 0, 0);
    if (limit.rlim_cur > FIRST_STACK_BYTES)
        first_stack_bytes = limit.rlim_cur < STACK_BYTES_MAX ? limit.rlim_cur : STACK_BYTES_MAX;
}

static bool is_on_first_stack(uintptr_t sp)
{
    return objects_stack_end() - sp < first_stack_bytes;
}

static uintptr_t page_of(uintptr_t address)
{
    return address & ~(uintptr_t)(PAGE_BYTES - 1);
}

/*
 * Whether pages can be read. The kernel copies the set of signals before it refuses to do what it is not
 * told. Where no call may be made, it is believed.
 */
static bool are_readable(uintptr_t start, uintptr_t end)
{
    if (sys_makes_no_calls())
        return true;
    for (; start < end; start += PAGE_BYTES)
        if (sys_call(SYS_rt_sigprocmask, -1, (long)start, 0, 8, 0, 0) == -EFAULT)
            return false;
    return true;
}

uintptr_t reach_find(struct unwind_reach *reach, uintptr_t sp, bool is_exact)
{
    uintptr_t page = page_of(is_exact ? sp : sp - WORD_BYTES);

    if (is_on_first_stack(sp)) {
        reach->high = objects_stack_end();
        reach->low = reach->high - first_stack_bytes;
    } else if (page < reach->low && reach->low - page <= JOINED_BYTES &&
               are_readable(page + PAGE_BYTES, reach->low)) {
        reach->low = page; /* the same stack, deeper */
    } else {
        reach->low = page;
        reach->high = page + PAGE_BYTES;
    }
    return reach->high;
}

/* Where the stack ends for certain. */
static uintptr_t end_of_stack(uintptr_t sp)
{
    uintptr_t thread = arch_thread_pointer();

    if (is_on_first_stack(sp))
        return objects_stack_end();
    /* glibc puts a thread's control block at the end of its stack. */
    return thread - sp < STACK_BYTES_MAX ? thread : sp + UNKNOWN_STACK_BYTES;
}

bool reach_extend(struct unwind_reach *reach, uintptr_t sp, uintptr_t end)
{
    if (end <= reach->high)
        return true;
    if (end > end_of_stack(sp))
        return false;
    /* As far as it goes, so that it is not asked again. */
    while (reach->high < end && are_readable(reach->high, reach->high + PAGE_BYTES))
        reach->high += PAGE_BYTES;
    return end <= reach->high;
}

bool reach_has_word(struct unwind_reach *reach, uintptr_t sp, uintptr_t address)
{
    if (address >= sp)
        return address <= UINTPTR_MAX - WORD_BYTES && reach_extend(reach, sp, address + WORD_BYTES);
    return sp - address <= RED_ZONE_BYTES &&
           (page_of(address) == page_of(sp) ||
            are_readable(page_of(address), page_of(address) + PAGE_BYTES));
}

bool reach_is_memory(uintptr_t address)
{
    return are_readable(page_of(address), page_of(address) + PAGE_BYTES);
}
