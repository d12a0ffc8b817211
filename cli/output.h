/*
 * Where a report goes: a file, standard output, or a pager in front of a terminal.
 *
 * A file appears under its name only when it is complete. Nothing is left of it when anything fails
 * or the program is interrupted or killed; only where the file system knows no files without names
 * may a killed program leave one, beside the wanted name.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>

struct output {
    FILE *file;      /* to write to */
    char *name;      /* NULL: standard output */
    char *temporary; /* NULL: written in place, to a device or a pipe, or without a name */
    bool is_nameless;
    bool may_overwrite;
    struct pager *pager; /* NULL: none */
};

/*
 * Open a file.
 * may_overwrite: an existing file is replaced, else refused here and at the end.
 * Returns false with err. Context: tool; one at a time.
 */
bool output_open_file(const char *name, bool may_overwrite, struct output *ret_output,
                      struct error *err);

/*
 * Open standard output.
 * has_pager: on a terminal, a text longer than the screen goes through a pager.
 * Context: tool.
 */
void output_open_standard(bool has_pager, struct output *ret_output);

/*
 * Close it; the file gets its name. The pager is waited for.
 * Returns false with err when something could not be written; then there is no file. A pager that
 * was left before the end is no failure. Context: tool.
 */
bool output_finish(struct output *output, struct error *err);

/* Close it and leave nothing behind. Context: tool. */
void output_discard(struct output *output);

#endif
