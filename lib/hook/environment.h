/*
 * The environment of a program about to be started.
 */
#ifndef HOOK_ENVIRONMENT_H
#define HOOK_ENVIRONMENT_H

#include "hook/program.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    ENVIRONMENT_MAX_COUNT = 64,
    ENVIRONMENT_MAX_TEXT_BYTES = 512,
};

/*
 * A copy; on the caller's stack when it is small: a child of vfork has no memory of its own. That
 * may be the smallest that a thread can have.
 */
struct environment {
    char *const *vector; /* to be used in place of the original */
    char **mapped;       /* NULL: on the stack */
    size_t mapped_bytes;
    char *entries[ENVIRONMENT_MAX_COUNT];
    char text[ENVIRONMENT_MAX_TEXT_BYTES]; /* of what is not as in the original */
};

/*
 * Whether a program with this environment will load our library. vector: NULL at the end, or NULL.
 * Context: any thread, or start-up before libc may be called.
 */
bool environment_has_library(char *const *vector);

/* Whether a program with this environment will find the session. Context: any thread. */
bool environment_has_session(char *const *vector);

/*
 * Leave the session and our library out of a copy, when children are not to be followed or could not
 * load it; mark the session in a copy, when a system call filter is expected; else the copy's vector
 * is the original.
 * vector: NULL at the end, or NULL; must outlive the copy. program: that it is for.
 * Context: any thread, also a child of vfork.
 */
void environment_copy(struct environment *copy, char *const *vector, const struct program *program);

/*
 * Copy without the session and our library.
 * Returns false when there is no memory for it. Context: as environment_has_library().
 */
bool environment_copy_without_us(struct environment *copy, char *const *vector);

/* End the copy, if the program that it was for has not begun. Context: any thread. */
void environment_finish(struct environment *copy);

#endif
