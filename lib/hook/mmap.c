/*
 * Address space: mmap, munmap, mremap, mprotect, brk, sbrk.
 *
 * Runs in the program's threads. Sizes are recorded as whole pages, as the kernel has them. What is
 * released by the call (MAP_FIXED over something that is there, too) is recorded before it and taken
 * back when it failed. What the loader and libc map for themselves does not come here.
 */
/* Meson asks for 64-bit files; glibc would then call mmap by its other name, which is a hook too. */
#undef _FILE_OFFSET_BITS

#include "base/syscalls.h"
#include "hook/real.h"
#include "python/allocators.h"
#include "python/walk.h"
#include "record/context.h"
#include "record/process.h"
#include "record/track.h"
#include "unwind/unwind.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* linux 5.7, linux/mman.h */
#endif

/* Becomes true with the first range that is reserved: until then no mprotect() makes it memory. */
static _Atomic bool has_reserved;

static size_t whole_pages(size_t size_bytes)
{
    size_t page_bytes = getauxval(AT_PAGESZ);

    return (size_bytes + page_bytes - 1) & ~(page_bytes - 1);
}

/* The class of a map of a file: what kind of file it is. No errno is touched. */
static enum map_class class_of_file(int fd, int flags)
{
    bool is_shared = (flags & MAP_TYPE) != MAP_PRIVATE;
    struct stat status = {0};
    struct statfs system = {0};

    if (sys_makes_no_calls() || sys_failed(sys_call(SYS_fstat, fd, (long)&status, 0, 0, 0, 0)))
        return is_shared ? CLASS_FILE_SHARED : CLASS_FILE_PRIVATE;
    if (S_ISCHR(status.st_mode)) {
        /* /dev/zero (linux drivers/char/mem.c) is the old name of anonymous memory. */
        if (status.st_rdev == makedev(1, 5))
            return is_shared ? CLASS_SHARED : CLASS_ANONYMOUS;
        return CLASS_DRIVER;
    }
    if (!is_shared)
        return CLASS_FILE_PRIVATE;
    /* A file that lies in memory: memfd, shm_open(). */
    if (!sys_failed(sys_call(SYS_fstatfs, fd, (long)&system, 0, 0, 0, 0)) &&
        (system.f_type == TMPFS_MAGIC || system.f_type == HUGETLBFS_MAGIC))
        return CLASS_SHARED;
    return CLASS_FILE_SHARED;
}

/*
 * Whether a map is an allocator's, for blocks that are recorded themselves: malloc's, or one that
 * Python makes inside an allocation that is an event, or for others of that kind.
 */
static bool is_arena(size_t size_bytes, const void *caller)
{
    if (process_is_provider(caller))
        return true;
    return python_traces_allocators &&
           (python_maps_arena(caller, size_bytes) ||
            context_is_for_block((uintptr_t)__builtin_frame_address(0)));
}

static enum map_class class_of(size_t size_bytes, int protection, int flags, int fd,
                               const void *caller)
{
    if (is_arena(size_bytes, caller))
        return CLASS_ARENA;
    if ((flags & MAP_ANONYMOUS) == 0)
        return class_of_file(fd, flags);
    if (protection == PROT_NONE) {
        has_reserved = true;
        return CLASS_RESERVED;
    }
    if ((flags & MAP_TYPE) != MAP_PRIVATE)
        return CLASS_SHARED;
    return (flags & (MAP_STACK | MAP_GROWSDOWN)) != 0 ? CLASS_STACK : CLASS_ANONYMOUS;
}

/* A call that may release a range: what has to be taken back when it fails. */
static void take_back(uintptr_t address, size_t size_bytes, enum allocator allocator,
                      const void *caller)
{
    track_undone(DOMAIN_MAP, address, whole_pages(size_bytes), allocator, caller);
}

typedef void *mmap_function(void *address, size_t size_bytes, int protection, int flags, int fd,
                            off_t at);

static void *map(mmap_function *function, void *address, size_t size_bytes, int protection,
                 int flags, int fd, off_t at, const void *caller)
{
    bool replaces = (flags & MAP_FIXED) != 0;
    void *range;

    if (replaces) {
        unwind_note_change((uintptr_t)address, size_bytes);
        track_unmapped((uintptr_t)address, whole_pages(size_bytes), ALLOCATOR_MMAP, caller);
    }
    range = function(address, size_bytes, protection, flags, fd, at);
    if (range != MAP_FAILED) {
        track_mapped((uintptr_t)range, whole_pages(size_bytes),
                     python_maps_arena(caller, size_bytes) ? ALLOCATOR_PYMALLOC_ARENA
                                                           : ALLOCATOR_MMAP,
                     class_of(size_bytes, protection, flags, fd, caller), caller);
        return range;
    }
    if (replaces)
        take_back((uintptr_t)address, size_bytes, ALLOCATOR_MMAP, caller);
    /* An allocator tries one way after the other: what fails for the program is its block. */
    if (errno == ENOMEM && !is_arena(size_bytes, caller))
        track_failed(DOMAIN_MAP, size_bytes, ALLOCATOR_MMAP, caller);
    return range;
}

HOOK void *mmap(void *address, size_t size_bytes, int protection, int flags, int fd, off_t at)
{
    return map(real.mmap, address, size_bytes, protection, flags, fd, at,
               __builtin_return_address(0));
}

HOOK void *mmap64(void *address, size_t size_bytes, int protection, int flags, int fd, off64_t at)
{
    return map(real.mmap64, address, size_bytes, protection, flags, fd, at,
               __builtin_return_address(0));
}

HOOK int munmap(void *address, size_t size_bytes)
{
    const void *caller = __builtin_return_address(0);
    int result;

    python_note_unmap();
    unwind_note_change((uintptr_t)address, size_bytes);
    track_unmapped((uintptr_t)address, whole_pages(size_bytes), ALLOCATOR_MUNMAP, caller);
    result = real.munmap(address, size_bytes);
    if (result != 0)
        take_back((uintptr_t)address, size_bytes, ALLOCATOR_MUNMAP, caller);
    return result;
}

/* old_bytes 0 makes a second map of shared memory, MREMAP_DONTUNMAP leaves the old range there. */
HOOK void *mremap(void *old, size_t old_bytes, size_t new_bytes, int flags, ...)
{
    const void *caller = __builtin_return_address(0);
    bool releases = old_bytes != 0 && (flags & MREMAP_DONTUNMAP) == 0;
    bool replaces = (flags & MREMAP_FIXED) != 0;
    void *new_address = NULL;
    void *range;

    if ((flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0) {
        va_list arguments;

        va_start(arguments, flags);
        new_address = va_arg(arguments, void *);
        va_end(arguments);
    }
    if (replaces)
        track_unmapped((uintptr_t)new_address, whole_pages(new_bytes), ALLOCATOR_MMAP, caller);
    if (releases)
        track_unmapped((uintptr_t)old, whole_pages(old_bytes), ALLOCATOR_MREMAP, caller);
    range = real.mremap(old, old_bytes, new_bytes, flags, new_address);
    if (range != MAP_FAILED) {
        track_mapped((uintptr_t)range, whole_pages(new_bytes), ALLOCATOR_MREMAP, CLASS_ANONYMOUS,
                     caller);
        return range;
    }
    if (releases)
        take_back((uintptr_t)old, old_bytes, ALLOCATOR_MREMAP, caller);
    if (replaces)
        take_back((uintptr_t)new_address, new_bytes, ALLOCATOR_MMAP, caller);
    if (errno == ENOMEM)
        track_failed(DOMAIN_MAP, new_bytes, ALLOCATOR_MREMAP, caller);
    return range;
}

/* Only between memory and reserved address space: a file stays a file. */
HOOK int mprotect(void *address, size_t size_bytes, int protection)
{
    const void *caller = __builtin_return_address(0);
    int result;

    unwind_note_change((uintptr_t)address, size_bytes);
    result = real.mprotect(address, size_bytes, protection);

    if (result != 0 || is_arena(0, caller))
        return result;
    if (protection == PROT_NONE)
        has_reserved = true;
    else if (!has_reserved)
        return result;
    track_protected((uintptr_t)address, whole_pages(size_bytes),
                    protection == PROT_NONE ? CLASS_RESERVED : CLASS_ANONYMOUS, caller);
    return result;
}

/* The program break has moved from start to end, or is about to when it falls. */
static void record_break(uintptr_t start, uintptr_t end, const void *caller)
{
    enum map_class map_class = process_is_provider(caller) ? CLASS_ARENA : CLASS_ANONYMOUS;

    if (end > start)
        track_mapped(start, end - start, ALLOCATOR_BRK, map_class, caller);
    else if (end < start)
        track_unmapped(end, start - end, ALLOCATOR_BRK, caller);
}

static void *no_break(void)
{
    errno = ENOMEM;
    return (void *)-1;
}

HOOK int brk(void *end)
{
    const void *caller = __builtin_return_address(0);
    uintptr_t before = (uintptr_t)sys_call(SYS_brk, 0, 0, 0, 0, 0, 0);
    bool releases = (uintptr_t)end < before;
    int result;

    if (real.brk == NULL)
        return no_break() == NULL ? 0 : -1;
    if (releases)
        record_break(before, (uintptr_t)end, caller);
    result = real.brk(end);
    if (result == 0 && !releases)
        record_break(before, (uintptr_t)end, caller);
    else if (result != 0 && releases)
        track_undone(DOMAIN_MAP, (uintptr_t)end, before - (uintptr_t)end, ALLOCATOR_BRK, caller);
    return result;
}

HOOK void *sbrk(intptr_t increment)
{
    const void *caller = __builtin_return_address(0);
    uintptr_t before, after;
    void *result;

    if (real.sbrk == NULL)
        return no_break();
    if (increment == 0)
        return real.sbrk(increment);
    before = (uintptr_t)real.sbrk(0);
    after = before + (uintptr_t)increment;
    if (increment < 0)
        record_break(before, after, caller);
    result = real.sbrk(increment);
    if (result != (void *)-1 && increment > 0)
        record_break((uintptr_t)result, (uintptr_t)result + (uintptr_t)increment, caller);
    else if (result == (void *)-1 && increment < 0)
        track_undone(DOMAIN_MAP, after, before - after, ALLOCATOR_BRK, caller);
    return result;
}
