/*
 * dlopen() and dlmopen(): only noted.
 */
#ifndef HOOK_LOADER_H
#define HOOK_LOADER_H

#include <link.h>
#include <stdbool.h>

/*
 * Find the real functions. They may be in a library of their own that is loaded later (glibc before
 * 2.34): then they are looked up when they are called.
 * Context: start-up.
 */
void loader_resolve(void);

/*
 * Take RTLD_DEEPBIND out of what programs ask for: a library bound that way would find libc's
 * malloc before ours, and what it allocates would not be seen.
 * Context: start-up.
 */
void loader_strip_deepbind(void);

/*
 * Whether our malloc is the one that the program's own calls get: no object before us in the search
 * order defines another one.
 * Context: start-up.
 */
bool loader_finds_our_malloc(void);

#endif
