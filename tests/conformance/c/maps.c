/*
 * One case for each thing that the mmap family does to ranges.
 *
 * The unit of the peak cases is 1 MiB, so that the C library's own blocks cannot be mistaken for it.
 */
#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

enum {
    UNIT = 1 << 20,
};

static char *map_as(size_t bytes, int protection, int flags, int fd, void *at)
{
    char *range = mmap(at, bytes, protection, flags, fd, 0);

    if (range == MAP_FAILED)
        give_up("mmap: %s", strerror(errno));
    return range;
}

static char *map(size_t bytes)
{
    return map_as(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, NULL);
}

static void unmap(void *range, size_t bytes)
{
    if (munmap(range, bytes) != 0)
        give_up("munmap: %s", strerror(errno));
}

static void case_first_released(void)
{
    char *first = map(2 * UNIT);

    map(1 * UNIT);
    unmap(first, 2 * UNIT);
    map(10 * UNIT);
}

static void case_ends_cut(void)
{
    char *range = map(4 * UNIT);

    unmap(range, UNIT);
    unmap(range + 3 * UNIT, UNIT);
    map(10 * UNIT);
}

static void case_hole(void)
{
    char *range = map(8 * UNIT);

    unmap(range + 4 * UNIT, UNIT);
    map(10 * UNIT);
}

static void case_two_holes(void)
{
    char *range = map(5 * UNIT);

    unmap(range + 1 * UNIT, UNIT);
    unmap(range + 3 * UNIT, UNIT);
    map(10 * UNIT);
}

/* Map count neighbours of `units` each, in a space known to be free. */
static char *map_neighbours(unsigned count, unsigned units)
{
    size_t step = (size_t)units * UNIT;
    char *start = map_as(count * step, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, NULL);

    unmap(start, count * step);
    for (unsigned i = 0; i < count; i++)
        map_as(step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
               start + i * step);
    return start;
}

static void case_neighbours(void)
{
    unmap(map_neighbours(2, 4), 8 * UNIT);
    map(10 * UNIT);
}

static void case_four_by_two(void)
{
    char *start = map_neighbours(4, 2);

    unmap(start, 4 * UNIT);
    unmap(start + 4 * UNIT, 4 * UNIT);
    map(10 * UNIT);
}

static void case_fixed_over(void)
{
    char *range = map(8 * UNIT);

    map_as(8 * UNIT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, range);
    say_address("range", range);
}

static void case_remap(void)
{
    char *range = map(4 * UNIT), *target = map(20 * UNIT);

    say_address("first", range);
    range = mremap(range, 4 * UNIT, 16 * UNIT, MREMAP_MAYMOVE);
    if (range == MAP_FAILED)
        give_up("mremap grows: %s", strerror(errno));
    say_address("grown", range);
    range = mremap(range, 16 * UNIT, 16 * UNIT, MREMAP_MAYMOVE | MREMAP_FIXED, target);
    if (range == MAP_FAILED)
        give_up("mremap moves: %s", strerror(errno));
    say_address("moved", range);
    range = mremap(range, 16 * UNIT, 3 * UNIT, 0);
    if (range == MAP_FAILED)
        give_up("mremap shrinks: %s", strerror(errno));
    say_address("shrunk", range);
}

static void case_failures(void)
{
    char *range = map(7 * UNIT);
    int unmapped = munmap(range + 1, UNIT); /* not a page's address */
    int unmap_errno = errno;
    void *refused = mmap(range, UNIT, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    int map_errno = errno;
    void *moved = mremap(range, 7 * UNIT, SIZE_MAX / 2, MREMAP_MAYMOVE);

    say("munmap %d %d", unmapped, unmap_errno == EINVAL);
    say("mmap %d %d", refused == MAP_FAILED, map_errno == EEXIST);
    say("mremap %d", moved == MAP_FAILED);
    say_address("range", range);
}

static void case_reserved(void)
{
    char *space =
        map_as((size_t)64 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, NULL);

    say_address("space", space);
    if (mprotect(space, 3 * UNIT, PROT_READ | PROT_WRITE) != 0)
        give_up("mprotect: %s", strerror(errno));
}

static void case_files(void)
{
    char name[] = "/tmp/memtrack-maps-XXXXXX";
    int fd = mkstemp(name);

    if (fd < 0 || ftruncate(fd, 12 * UNIT) != 0)
        give_up("mkstemp: %s", strerror(errno));
    unlink(name);
    map_as(5 * UNIT, PROT_READ, MAP_PRIVATE, fd, NULL);
    map_as(6 * UNIT, PROT_READ | PROT_WRITE, MAP_SHARED, fd, NULL);
    map_as(7 * UNIT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, NULL);
}

static void case_break(void)
{
    char *before = sbrk(0);

    if (sbrk(2 * UNIT) != before)
        give_up("sbrk: %s", strerror(errno));
    say_address("start", before);
    sbrk(-UNIT);
}

static void case_mmap64(void)
{
    if (mmap64(NULL, 9 * UNIT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
        MAP_FAILED)
        give_up("mmap64: %s", strerror(errno));
}

static const struct say_case cases[] = {
    {"first_released", case_first_released},
    {"ends_cut", case_ends_cut},
    {"hole", case_hole},
    {"two_holes", case_two_holes},
    {"neighbours", case_neighbours},
    {"four_by_two", case_four_by_two},
    {"fixed_over", case_fixed_over},
    {"remap", case_remap},
    {"failures", case_failures},
    {"reserved", case_reserved},
    {"files", case_files},
    {"break", case_break},
    {"mmap64", case_mmap64},
};

int main(int argc, char **argv)
{
    return say_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
