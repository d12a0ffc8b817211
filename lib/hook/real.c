/*
 * Looking up the real functions: the next definition of each name after ours.
 *
 * Runs in our constructor, before anybody else's; once earlier when the early memory is used up.
 * dlsym() may allocate meanwhile: the stand-ins serve it.
 */
#include "hook/real.h"

#include "hook/early.h"
#include "record/process.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

struct real_functions real = {
    .malloc = early_malloc,
    .free = early_free,
    .calloc = early_calloc,
    .realloc = early_realloc,
    .posix_memalign = early_posix_memalign,
    .aligned_alloc = early_memalign,
    .memalign = early_memalign,
    .mmap = early_mmap,
    .mmap64 = early_mmap,
    .munmap = early_munmap,
    .mremap = early_mremap,
    .mprotect = early_mprotect,
};

static const char *const names[] = {
    "malloc",
    "free",
    "calloc",
    "realloc",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
    "mmap",
    "mmap64",
    "munmap",
    "mremap",
    "mprotect",
    "valloc",
    "pvalloc",
    "free_sized",
    "free_aligned_sized",
    "brk",
    "sbrk",
};

_Static_assert(sizeof(struct real_functions) == sizeof(names), "a name for each function");

/* Note where the object lies that has the address in question. */
static int note_provider(struct dl_phdr_info *info, size_t info_bytes, void *address)
{
    uintptr_t start = UINTPTR_MAX, end = 0;

    (void)info_bytes;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];

        if (header->p_type != PT_LOAD)
            continue;
        if (info->dlpi_addr + header->p_vaddr < start)
            start = info->dlpi_addr + header->p_vaddr;
        if (info->dlpi_addr + header->p_vaddr + header->p_memsz > end)
            end = info->dlpi_addr + header->p_vaddr + header->p_memsz;
    }
    if ((uintptr_t)address < start || (uintptr_t)address >= end)
        return 0;
    process.provider_start = start;
    process.provider_end = end;
    return 1;
}

void real_resolve(void)
{
    static bool is_resolving;
    struct real_functions found = real;

    if (is_resolving || real.malloc != early_malloc)
        return;
    is_resolving = true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *function = dlsym(RTLD_NEXT, names[i]);

        /* A stand-in stays where there is nothing better. */
        if (function != NULL)
            memcpy((char *)&found + i * sizeof(function), &function, sizeof(function));
    }
    /* Without a malloc there is no allocator: the stand-ins serve as long as they can. */
    if (found.malloc != early_malloc && found.free != early_free) {
        real = found;
        dl_iterate_phdr(note_provider, (void *)(uintptr_t)real.malloc);
    }
    is_resolving = false;
}
