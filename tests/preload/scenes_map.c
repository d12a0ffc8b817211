/* Scenes of address space. */
#include "scenes.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PAGE = 4096, /* x86_64; aarch64 may have more, and whole pages are what is asked for */
};

static void *map(void *address, size_t size_bytes, int protection, int flags, int fd)
{
    return mmap(address, size_bytes, protection, MAP_PRIVATE | flags, fd, 0);
}

static int scene_map(void)
{
    char *range = map(NULL, 3 * 65536, PROT_READ | PROT_WRITE, MAP_ANONYMOUS, -1);

    EXPECT(range != MAP_FAILED);
    EXPECT(munmap(range + 65536, 65536) == 0);
    EXPECT(munmap(range, 3 * 65536) == 0);
    errno = 0;
    EXPECT(munmap(range + 1, 65536) == -1 && errno == EINVAL);
    errno = 0;
    EXPECT(map(NULL, (size_t)1 << 62, PROT_READ, MAP_ANONYMOUS, -1) == MAP_FAILED);
    EXPECT(errno == ENOMEM);
    return 0;
}

/* One map of each class, of 1, 2, 3 ... times 64 KiB. */
static int scene_classes(void)
{
    int file = open("/proc/self/exe", O_RDONLY), memory = memfd_create("scene", 0);
    int null = open("/dev/zero", O_RDWR);

    EXPECT(file >= 0 && memory >= 0 && null >= 0);
    EXPECT(ftruncate(memory, 1 << 20) == 0);
    EXPECT(map(NULL, 1 * 65536, PROT_READ, MAP_ANONYMOUS, -1) != MAP_FAILED);
    EXPECT(map(NULL, 2 * 65536, PROT_NONE, MAP_ANONYMOUS, -1) != MAP_FAILED);
    EXPECT(map(NULL, 3 * 65536, PROT_READ, 0, file) != MAP_FAILED);
    EXPECT(mmap(NULL, 4 * 65536, PROT_READ, MAP_SHARED, file, 0) != MAP_FAILED);
    EXPECT(mmap(NULL, 5 * 65536, PROT_READ, MAP_SHARED, memory, 0) != MAP_FAILED);
    EXPECT(mmap(NULL, 6 * 65536, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    EXPECT(map(NULL, 7 * 65536, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_STACK, -1) !=
           MAP_FAILED);
    EXPECT(map(NULL, 8 * 65536, PROT_READ, 0, null) != MAP_FAILED);
    return 0;
}

static int scene_fixed(void)
{
    char *range = map(NULL, 4 * 65536, PROT_NONE, MAP_ANONYMOUS, -1);

    EXPECT(range != MAP_FAILED);
    EXPECT(map(range + 65536, 65536, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_FIXED, -1) ==
           range + 65536);
    /* A descriptor that is none: refused, and the range stays. */
    errno = 0;
    EXPECT(map(range, 65536, PROT_READ, MAP_FIXED, -1) == MAP_FAILED && errno == EBADF);
    return 0;
}

static int scene_remap(void)
{
    char *range = map(NULL, 65536, PROT_READ | PROT_WRITE, MAP_ANONYMOUS, -1);
    char *larger;

    EXPECT(range != MAP_FAILED);
    larger = mremap(range, 65536, 3 * 65536, MREMAP_MAYMOVE);
    EXPECT(larger != MAP_FAILED);
    EXPECT(mremap(larger, 3 * 65536, (size_t)1 << 62, MREMAP_MAYMOVE) == MAP_FAILED);
    return 0;
}

static int scene_protect(void)
{
    char *range = map(NULL, 2 * 65536, PROT_READ | PROT_WRITE, MAP_ANONYMOUS, -1);

    EXPECT(range != MAP_FAILED);
    EXPECT(mprotect(range, 65536, PROT_READ) == 0); /* nothing to say */
    EXPECT(mprotect(range, 65536, PROT_NONE) == 0);
    EXPECT(mprotect(range, PAGE, PROT_READ | PROT_WRITE) == 0);
    EXPECT(mprotect((char *)1, PAGE, PROT_NONE) == -1);
    return 0;
}

static int scene_break(void)
{
    char *before = sbrk(0);

    EXPECT(before != (void *)-1);
    EXPECT(sbrk(3 * 65536) != (void *)-1);
    EXPECT(sbrk(-65536) != (void *)-1);
    EXPECT(brk((char *)sbrk(0) + 65536) == 0);
    EXPECT(sbrk(PTRDIFF_MAX) == (void *)-1);
    return 0;
}

const struct scene map_scenes[] = {
    {"map", scene_map},     {"classes", scene_classes}, {"fixed", scene_fixed},
    {"remap", scene_remap}, {"protect", scene_protect}, {"break", scene_break},
    {NULL, NULL},
};
