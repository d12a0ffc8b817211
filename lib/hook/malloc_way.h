/*
 * The ways of malloc(), one of which it jumps to: what they return to, and are called by, is the
 * program.
 */
#ifndef HOOK_MALLOC_WAY_H
#define HOOK_MALLOC_WAY_H

#include <stddef.h>

/* As malloc(), which jumps to it. Context: hot path. */
typedef void *malloc_way(size_t size_bytes);

/*
 * Return the way for stacks of the interpreter that is followed; NULL where the general one has to
 * do. Context: any thread.
 */
malloc_way *malloc_way_of_python(void);

/*
 * End a malloc() that is not as usual; to be jumped to.
 * block: what the real one has returned.
 * Context: hot path.
 */
void *malloc_with_stack(size_t size_bytes, void *block) __attribute__((noinline));

#endif
