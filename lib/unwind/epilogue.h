/*
 * Code without tables, as programs write it at run time: how a function of it returns, read off its own
 * instructions.
 */
#ifndef UNWIND_EPILOGUE_H
#define UNWIND_EPILOGUE_H

#include "unwind/rows.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Read what follows a return address up to the function's own return, where that is near and nothing but
 * the stack is put in order on the way.
 * Returns false when it is anything else, or cannot be read.
 * Context: hot path (slow paths only).
 */
bool epilogue_read(uintptr_t address, unwind_row *ret_row);

/*
 * Whether an address may be a return address: a call stands before it. Asked of what was guessed.
 * Context: hot path (slow paths only).
 */
bool epilogue_follows_call(uintptr_t address);

/* Code may be another than it was: what was found out of calls is forgotten. Context: any thread. */
void epilogue_forget(void);

#endif
