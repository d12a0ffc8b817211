/*
 * Finding the vDSO's clock.
 *
 * Runs in our constructor. clock_gettime() is a name that others interpose too, to show the program
 * another time (libfaketime): theirs allocates, so it would come back to us from inside itself, and
 * what it tells is no time that the collector knows.
 */
#include "session/clock.h"

#include "base/syscalls.h"
#include "python/loaded_symbol.h"

#include <link.h>
#include <string.h>
#include <sys/auxv.h>

/* The kernel's name for it (vdso(7)). */
#if defined(__x86_64__)
static const char name[] = "__vdso_clock_gettime";
#elif defined(__aarch64__)
static const char name[] = "__kernel_clock_gettime";
#endif

/* Whether one of its segments begins where the kernel says that the vDSO does. */
static bool is_vdso(const struct dl_phdr_info *info, uintptr_t start)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            info->dlpi_addr + info->dlpi_phdr[i].p_vaddr == start)
            return true;
    return false;
}

/* For dl_iterate_phdr(): stops at the vDSO. */
static int find_clock(struct dl_phdr_info *info, size_t info_bytes, void *ret_address)
{
    uintptr_t start = getauxval(AT_SYSINFO_EHDR);
    struct loaded_module module;

    (void)info_bytes;
    if (start == 0 || !is_vdso(info, start))
        return 0;
    if (loaded_module_read(info, &module))
        *(uintptr_t *)ret_address = loaded_symbol(&module, name);
    return 1;
}

void clock_use_kernel(void)
{
    uintptr_t address = 0;
    sys_clock *function;

    dl_iterate_phdr(find_clock, &address);
    if (address == 0)
        return;
    memcpy(&function, &address, sizeof(function));
    sys_use_clock(function);
}
