/*
 * Where a thread's attached state lies: the thread variable that PyThreadState_GetUnchecked() returns.
 *
 * The interpreter keeps it to itself; where it is stands in the machine code of that function, which
 * is one load. What does not read exactly like one of the sequences that compilers and linkers make of
 * it is not known, and the function is called instead.
 */
#ifndef PYTHON_ATTACHED_H
#define PYTHON_ATTACHED_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Return how far from the thread pointer the word is that the function returns, the same for all
 * threads; 0 when that is not known.
 * is_initial: the function's library was there when the program started, so that its thread variables
 * lie at one place in all threads.
 * Context: start-up.
 */
intptr_t attached_find(void *(*function)(void), bool is_initial);

#endif
