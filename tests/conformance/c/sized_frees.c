/*
 * A library with the two releases of C23, for C libraries that have none: they give the block to the
 * C library's own free(), as the real ones do, past whatever is interposed.
 */
#include <dlfcn.h>
#include <stddef.h>

void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);

static void give_back(void *block)
{
    void (*next_free)(void *);

    *(void **)&next_free = dlsym(RTLD_NEXT, "free");
    next_free(block);
}

void free_sized(void *block, size_t size)
{
    (void)size;
    give_back(block);
}

void free_aligned_sized(void *block, size_t alignment, size_t size)
{
    (void)alignment;
    (void)size;
    give_back(block);
}
