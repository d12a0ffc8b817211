/*
 * What to start: from what the user typed to a file, its arguments and a name.
 */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include "base/error.h"
#include "options.h"

#include <stdbool.h>

struct target {
    char *path;       /* the file to execute; the target's */
    char **arguments; /* NULL-terminated; the array is the target's, the texts argv's or `script` */
    char *script;     /* the target's; NULL: no argument was made up */
    char *shown_name; /* for the capture's name: app.py, http.server; the target's */
};

/*
 * Work out what `run` is to start, and look whether that is possible.
 * values: of the command line; its texts must outlive the target.
 * Returns false with *ret_status (enum exit_status) and err. Context: tool.
 */
bool target_resolve(const struct option_values *values, struct target *ret_target, int *ret_status,
                    struct error *err);

/* Give it back. Context: tool. */
void target_finish(struct target *target);

#endif
