/*
 * Programs to be tracked: each scene does something whose record is known. Sizes are odd ones, so
 * that what the scene did can be told from what libc did for it.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keeps the compiler from seeing that a block is of no use. */
static void use(void *block)
{
    __asm__ volatile("" : : "r"(block) : "memory");
}

static int scene_malloc(void)
{
    void *block = malloc(12345);

    use(block);
    free(block);
    return 0;
}

static int scene_realloc(void)
{
    void *block = malloc(1111);

    use(block);
    block = realloc(block, 222222);
    use(block);
    block = realloc(block, 3333);
    use(block);
    free(block);
    return 0;
}

static const struct scene {
    const char *name;
    int (*run)(void);
} scenes[] = {
    {"malloc", scene_malloc},
    {"realloc", scene_realloc},
};

int main(int argument_count, char **arguments)
{
    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
        if (argument_count > 1 && strcmp(arguments[1], scenes[i].name) == 0)
            return scenes[i].run();
    fprintf(stderr, "tracked: no such scene\n");
    return 2;
}
