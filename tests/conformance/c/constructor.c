/*
 * A library that allocates while it is being loaded.
 */
#include <stdlib.h>

static void *volatile constructor_block;

__attribute__((constructor)) static void construct(void)
{
    constructor_block = malloc(60013);
}
