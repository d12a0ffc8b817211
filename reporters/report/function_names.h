/*
 * Names of functions as texts for people have them: those of C++ and Rust may be as long as a page.
 */
#ifndef REPORT_FUNCTION_NAMES_H
#define REPORT_FUNCTION_NAMES_H

#include "base/memory.h"
#include "symbol/frames.h"

#include <stdbool.h>

/*
 * Return what to call the function of a frame in a table: of native ones with the innermost template
 * arguments, then the parameters, then all template arguments left out, as far as it takes to make
 * the name short. is_ascii: no character but ASCII's is put in place of them.
 * Returns the frame's own text, or one of the pool's. Context: tool.
 */
const char *label_function(struct memory_pool *pool, const struct frame *frame, bool is_ascii);

/*
 * Return the short name of a module: extensions of Python without what they were built for.
 * module: "fast.cpython-313-x86_64-linux-gnu.so". Returns itself or a text of the pool's.
 * Context: tool.
 */
const char *label_module(struct memory_pool *pool, const char *module);

#endif
