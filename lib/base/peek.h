/*
 * Memory of this process that may be gone, or something else, by the time it is read.
 *
 * The kernel reads it, so a wrong address is an answer and not a signal. That is a system call of a kind
 * that nothing else here makes: it is made only where no system call filter is in force.
 */
#ifndef BASE_PEEK_H
#define BASE_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Copy bytes from an address.
 * Returns false when not all of them are there, or nothing may be asked.
 * Context: hot path (slow paths only).
 */
bool peek_bytes(uintptr_t address, void *ret_bytes, size_t size_bytes);

/* As peek_bytes(), a word. Context: hot path (slow paths only). */
bool peek_word(uintptr_t address, uintptr_t *ret_word);

#endif
