/*
 * Asks for too much in each of the ways there are, with little address space, and says whether all that
 * was refused left things as they were: the old block of a realloc and the old range of an mremap stay.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum {
    KEPT_BYTES = 300000,
    RANGE_BYTES = 1 << 20,
};

/* Called so that no compiler knows what they do. */
static void *(*volatile ask_malloc)(size_t) = malloc;
static void *(*volatile ask_calloc)(size_t, size_t) = calloc;
static void *(*volatile ask_realloc)(void *, size_t) = realloc;
static int (*volatile ask_posix_memalign)(void **, size_t, size_t) = posix_memalign;
static void *(*volatile ask_aligned_alloc)(size_t, size_t) = aligned_alloc;
static void *(*volatile ask_memalign)(size_t, size_t) = memalign;

/* More than there may be, by so much that each can be told from the others. */
#define TOO_MUCH(i) (((size_t)2 << 30) + (size_t)(i)*1000000)

static int is_kept(const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != 42)
            return 0;
    return 1;
}

int main(void)
{
    struct rlimit limit = {(rlim_t)1 << 30, (rlim_t)1 << 30};
    char *block = ask_malloc(KEPT_BYTES);
    char *range =
        mmap(NULL, RANGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *aligned = block;
    int refused = 0;

    if (block == NULL || range == MAP_FAILED || setrlimit(RLIMIT_AS, &limit) < 0)
        return 2;
    memset(block, 42, KEPT_BYTES);
    memset(range, 42, RANGE_BYTES);
    refused += ask_malloc(TOO_MUCH(1)) == NULL && errno == ENOMEM;
    refused += ask_calloc(1, TOO_MUCH(2)) == NULL && errno == ENOMEM;
    refused += ask_realloc(block, TOO_MUCH(3)) == NULL && errno == ENOMEM;
    refused += ask_posix_memalign(&aligned, 64, TOO_MUCH(4)) == ENOMEM && aligned == block;
    refused += ask_aligned_alloc(64, TOO_MUCH(5) / 64 * 64) == NULL && errno == ENOMEM;
    refused += ask_memalign(64, TOO_MUCH(6)) == NULL && errno == ENOMEM;
    refused += mmap(NULL, TOO_MUCH(7), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0) == MAP_FAILED &&
               errno == ENOMEM;
    refused +=
        mremap(range, RANGE_BYTES, TOO_MUCH(8), MREMAP_MAYMOVE) == MAP_FAILED && errno == ENOMEM;
    printf("refused %d\nkept %d\n", refused,
           is_kept(block, KEPT_BYTES) && is_kept(range, RANGE_BYTES));
    return refused == 8 ? 0 : 1;
}
