/*
 * A program about to be executed: whether the loader that it asks for could load our library.
 */
#ifndef HOOK_PROGRAM_H
#define HOOK_PROGRAM_H

#include <stdbool.h>

/* What is executed, as execveat() has it. */
struct program {
    const char *path;  /* any, also one that Linux refuses; "" with AT_EMPTY_PATH: fd itself */
    int fd;            /* the folder of a relative path, AT_FDCWD, or the program */
    int flags;         /* of execveat() */
    bool is_searched;  /* along PATH, unless path has a slash */
    bool is_elsewhere; /* relative paths may be so to another folder by then */
};

/*
 * Whether a program, or the interpreter that it is a script for, is of another architecture than
 * ours, and comes with a loader of that: it would say on stderr that it cannot load our library.
 * Returns false when that cannot be found out: a program that may not be read, or is a descriptor of
 * O_PATH; a relative path elsewhere; a filter is expected.
 * program: strings are those of the caller. errno is kept.
 * Context: any thread, also a child of vfork.
 */
bool program_is_foreign(const struct program *program);

#endif
