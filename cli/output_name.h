/*
 * Names of the files that are written when the user names none, and patterns in those he names.
 */
#ifndef CLI_OUTPUT_NAME_H
#define CLI_OUTPUT_NAME_H

#include <sys/types.h>

/*
 * Return the name of a capture: the pattern with %p, %h, %r, %t and %% replaced; or, without one,
 * "memtrack-<program>.<pid>.bin".
 * pattern: may be NULL. program: a name; slashes in it become dashes.
 * Returns memory to be given to free(). Context: tool.
 */
char *output_name_of_capture(const char *pattern, const char *program, pid_t pid)
    __attribute__((returns_nonnull));

/*
 * Return the name of a report's own file, beside the capture: "memtrack-<report>-<capture><suffix>",
 * the capture's name without its own "memtrack-" and ".bin".
 * Returns memory to be given to free(). Context: tool.
 */
char *output_name_of_report(const char *capture, const char *report, const char *suffix)
    __attribute__((returns_nonnull));

#endif
