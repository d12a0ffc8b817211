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
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

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

/* In the order of the struct. */
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
    "malloc_usable_size",
    "brk",
    "sbrk",
    "mlockall",
    "prctl",
    "pthread_setname_np",
    "execve",
    "execvpe",
    "fexecve",
    "execveat",
    "posix_spawn",
    "posix_spawnp",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "_Fork",
    "clone",
};

_Static_assert(sizeof(struct real_functions) == sizeof(names), "a name for each function");

/* An object, wanted by an address in it. */
struct object {
    uintptr_t address;
    uintptr_t start;
    uintptr_t end;
};

/* For dl_iterate_phdr(): returns 1 when it is this one. */
static int measure(struct dl_phdr_info *info, size_t info_bytes, void *wanted)
{
    struct object *object = wanted;
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
    if (object->address < start || object->address >= end)
        return 0;
    object->start = start;
    object->end = end;
    return 1;
}

/* Nothing is inside an object that is not there. */
static void find_object(uintptr_t address, uintptr_t *ret_start, uintptr_t *ret_end)
{
    struct object object = {.address = address};

    dl_iterate_phdr(measure, &object);
    *ret_start = object.start;
    *ret_end = object.end;
}

int real_is_missing(void)
{
    errno = ENOSYS;
    return -1;
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
        process.apart_start = (uintptr_t)early_memory;
        process.apart_bytes = EARLY_BYTES;
        real = found;
        find_object((uintptr_t)real.malloc, &process.provider_start, &process.provider_end);
        find_object(getauxval(AT_BASE), &process.loader_start, &process.loader_end);
        /* Another object's knows nothing of these blocks. */
        if (process_is_provider((void *)(uintptr_t)real.malloc_usable_size))
            process.usable_bytes = real.malloc_usable_size;
    }
    is_resolving = false;
}
