/*
 * Before a program is started: can it be started at all, and can a library be preloaded into it?
 */
#ifndef CLI_PREFLIGHT_H
#define CLI_PREFLIGHT_H

#include "base/error.h"

#include <stdbool.h>

/*
 * Look at a program, and at the interpreters that scripts name.
 * path: of the file that would be executed.
 * Returns false with *ret_status (EXIT_NOT_FOUND, EXIT_NOT_EXECUTABLE) and the reason in err; what
 * cannot be known before the start is let through. Context: tool.
 */
bool preflight_check(const char *path, int *ret_status, struct error *err);

#endif
