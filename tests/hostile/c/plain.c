/*
 * A program for loaders that preload nothing: built static.
 */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    void *volatile block = malloc(984);

    puts("static");
    free(block);
    return 9;
}
