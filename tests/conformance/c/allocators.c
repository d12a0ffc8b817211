/*
 * One case for each entry of the allocator: what is asked for, and where it was given.
 *
 * Sizes are odd and occur nowhere else in the process, so the test finds each event by its size.
 */
#include "say.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>

static void *never_null(void *block)
{
    if (block == NULL)
        give_up("out of memory");
    return keep(block);
}

static void case_malloc(void)
{
    void *block = never_null(malloc(984));

    say_address("block", block);
    free(block);
}

static void case_calloc(void)
{
    void *block = never_null(calloc(77, 991));

    say_address("block", block);
    free(block);
}

static void case_calloc_overflow(void)
{
    volatile size_t count = SIZE_MAX / 2, size = 991;
    void *block;

    errno = 0;
    block = keep(calloc(count, size));
    say("result %d %d", block == NULL, errno == ENOMEM);
}

static void case_realloc_null(void)
{
    void *block = never_null(realloc(NULL, 70001));

    say_address("block", block);
}

static void case_realloc_grow(void)
{
    void *old = never_null(malloc(7001));
    void *fence = never_null(malloc(61)); /* so that the block has to move */
    uintptr_t old_address = (uintptr_t)old;
    void *grown = never_null(realloc(old, 170003));

    say("old %ju", (uintmax_t)old_address);
    say_address("block", grown);
    free(grown);
    free(fence);
}

static void case_realloc_fail(void)
{
    volatile size_t too_much = PTRDIFF_MAX - 4096;
    void *block = never_null(malloc(7001));
    void *grown = keep(realloc(block, too_much));

    say("result %d %d", grown == NULL, errno == ENOMEM);
    say_address("block", block);
}

static void case_realloc_zero(void)
{
    void *block = never_null(malloc(1000001));

    say_address("block", block);
    block = keep(realloc(block, 0));
    say("result %d", block == NULL);
}

static void case_reallocarray(void)
{
    void *block = never_null(reallocarray(NULL, 1000, 1003));

    say_address("block", block);
    free(block);
}

static void case_aligned(void)
{
    void *block = NULL;

    if (posix_memalign(&block, 256, 10001) != 0)
        give_up("posix_memalign");
    say_address("posix_memalign", block);
    free(keep(block));
    block = never_null(aligned_alloc(256, 10240 + 256));
    say_address("aligned_alloc", block);
    free(block);
    block = never_null(memalign(256, 10003));
    say_address("memalign", block);
    free(block);
    block = never_null(valloc(10005));
    say_address("valloc", block);
    free(block);
}

/* By itself: not every allocator has it, and then it would be the C library's, which free is not. */
static void case_pvalloc(void)
{
    void *block = never_null(pvalloc(10007));

    say_address("pvalloc", block);
    free(block);
}

static void case_posix_memalign_error(void)
{
    static char untouched;
    volatile size_t alignment = 3;
    void *block = &untouched;
    int error = posix_memalign(&block, alignment, 10001);

    say("result %d %d", error == EINVAL, block == &untouched);
}

static void case_nothing(void)
{
    volatile size_t nothing = 0;
    void *block;

    free(NULL);
    block = never_null(malloc(nothing));
    say_address("block", block);
    free(block);
}

/* C23; looked up, since older C libraries have neither (tests give them one). */
static void case_sized_frees(void)
{
    void (*free_sized)(void *, size_t);
    void (*free_aligned_sized)(void *, size_t, size_t);

    *(void **)&free_sized = dlsym(RTLD_DEFAULT, "free_sized");
    *(void **)&free_aligned_sized = dlsym(RTLD_DEFAULT, "free_aligned_sized");
    if (free_sized == NULL || free_aligned_sized == NULL)
        give_up("no free_sized");
    free_sized(never_null(malloc(20011)), 20011);
    free_aligned_sized(never_null(aligned_alloc(64, 20032)), 64, 20032);
}

static void case_inside_libc(void)
{
    char text[3001], *made = NULL, *line = NULL;
    size_t capacity = 0;
    FILE *file = tmpfile();

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    free(never_null(strdup(text)));
    if (asprintf(&made, "%s%s", text, text) != 6000 || file == NULL)
        give_up("asprintf, tmpfile");
    fputs(made, file);
    fputc('\n', file);
    rewind(file);
    say("line %zd", getline(&line, &capacity, file));
    say("capacity %zu", capacity);
    say_address("made", made);
    say_address("line", line);
}

static const struct say_case cases[] = {
    {"malloc", case_malloc},
    {"calloc", case_calloc},
    {"calloc_overflow", case_calloc_overflow},
    {"realloc_null", case_realloc_null},
    {"realloc_grow", case_realloc_grow},
    {"realloc_fail", case_realloc_fail},
    {"realloc_zero", case_realloc_zero},
    {"reallocarray", case_reallocarray},
    {"aligned", case_aligned},
    {"pvalloc", case_pvalloc},
    {"posix_memalign_error", case_posix_memalign_error},
    {"nothing", case_nothing},
    {"sized_frees", case_sized_frees},
    {"inside_libc", case_inside_libc},
};

int main(int argc, char **argv)
{
    return say_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
