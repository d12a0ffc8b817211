/*
 * Wrappers of Python's allocators, for the interpreter's tables.
 */
#ifndef HOOK_PYMEM_H
#define HOOK_PYMEM_H

/* Give the wrappers to whoever finds an interpreter (python/allocators.h). Context: start-up. */
void pymem_offer(void);

#endif
