/*
 * The file that a capture is to replace, kept until it is certain that there will be a capture.
 */
#ifndef CLI_REPLACED_H
#define CLI_REPLACED_H

#include "base/error.h"

#include <stdbool.h>

/* All zero: there is none. */
struct replaced {
    char *path; /* where it stands */
    char *kept; /* its other name */
};

/*
 * Give the file another name beside its own; a process that is killed leaves both.
 * path: of a file, or of a link to one.
 * Returns false with err: it can neither be linked nor renamed. Context: tool.
 */
bool replaced_keep(const char *path, struct replaced *ret_replaced, struct error *err);

/* Put the file back to where it stood, whatever stands there now. Context: tool. */
void replaced_restore(struct replaced *replaced);

/* The capture has begun: let the file go. Context: tool. */
void replaced_let_go(struct replaced *replaced);

#endif
