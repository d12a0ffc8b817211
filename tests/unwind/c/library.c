/* A library whose frames have another size each time it is built, and whose code lies at the same places. */
#include <stdlib.h>
#include <string.h>

unsigned go(unsigned depth);
unsigned go_late(unsigned size);
unsigned bound_late(unsigned size);

static __attribute__((noinline)) unsigned allocate(unsigned depth)
{
    volatile char memory[FRAME_BYTES];
    void *volatile block;

    memory[depth] = (char)depth;
    block = malloc(depth + 10);
    free(block);
    return (unsigned)memory[depth];
}

__attribute__((noinline)) unsigned go(unsigned depth)
{
    volatile char memory[FRAME_BYTES];

    memory[depth] = 1;
    if (depth == 0)
        return allocate(3);
    return go(depth - 1) + allocate(depth) + (unsigned)memory[depth];
}

static unsigned find_size(unsigned size)
{
    return size + 1;
}

/* Runs while the loader binds the name. */
static __attribute__((used)) unsigned (*choose(void))(unsigned)
{
    free(malloc(77));
    return find_size;
}

unsigned bound_late(unsigned size) __attribute__((ifunc("choose")));

unsigned go_late(unsigned size)
{
    return bound_late(size) + 1;
}
