/*
 * Programs for captures that do not hold every block: by size, or by chance. What is live at the end
 * is known; each kind of block comes from an entry of its own, which a C program's rows are told
 * apart by.
 */
#include "say.h"

#include <sys/mman.h>

enum {
    SMALL_BYTES = 24,
    LIMIT_BYTES = 1000, /* as the test gives it */
};

static void *some(void *block)
{
    if (block == NULL)
        give_up("out of memory");
    return keep(block);
}

/* Blocks on both sides of a limit, and those that realloc moves from one side to the other. */
static void case_limit(void)
{
    void *block, *grown, *shrunk;

    for (unsigned i = 0; i < 1000; i++)
        free(some(malloc(SMALL_BYTES)));
    for (unsigned i = 0; i < 100; i++)
        some(malloc(LIMIT_BYTES - 1));
    for (unsigned i = 0; i < 100; i++)
        free(some(malloc(LIMIT_BYTES - 1))); /* rounded up, it is not below the limit */
    for (unsigned i = 0; i < 10; i++)
        some(malloc(LIMIT_BYTES));
    for (unsigned i = 0; i < 10; i++)
        free(some(calloc(1, 5000)));
    shrunk = some(realloc(some(malloc(4000)), 16));
    grown = some(realloc(some(malloc(10)), 6000));
    /* Failing, the first leaves a block that is recorded, the others blocks that are not. */
    block = realloc(grown, PTRDIFF_MAX);
    if (block != NULL || realloc(shrunk, PTRDIFF_MAX) != NULL)
        give_up("half of all addresses were there");
    block = some(malloc(LIMIT_BYTES - 1));
    if (realloc(block, PTRDIFF_MAX) != NULL)
        give_up("half of all addresses were there");
    free(block);
    free(shrunk);
    if (mmap(NULL, 512, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
        give_up("no map");
    say_address("grown", grown);
}

int main(int argc, char **argv)
{
    static const struct say_case cases[] = {
        {"limit", case_limit},
    };

    return say_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
