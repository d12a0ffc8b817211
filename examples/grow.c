/*
 * A native program that grows: three tables, one by realloc, one by mmap, one that is released.
 *
 *     gcc -o grow examples/grow.c
 *     memtrack run -o grow.bin ./grow
 *     memtrack stats grow.bin
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    STEPS = 64,
    STEP_BYTES = 1 << 20,
};

int main(void)
{
    char *table = NULL;
    char *scratch = malloc((size_t)STEPS * STEP_BYTES);
    char *mapped = mmap(NULL, (size_t)STEPS * STEP_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (scratch == NULL || mapped == MAP_FAILED)
        return 1;
    for (size_t step = 1; step <= STEPS; step++) {
        char *larger = realloc(table, step * STEP_BYTES);

        if (larger == NULL)
            return 1;
        table = larger;
        memset(table + (step - 1) * STEP_BYTES, 1, STEP_BYTES);
        memset(mapped + (step - 1) * STEP_BYTES, 2, STEP_BYTES);
    }
    free(scratch);
    printf("%d\n", table[STEPS * STEP_BYTES - 1] + mapped[0]);
    return 0; /* the table and the map are left to the system: --leaks shows them */
}
