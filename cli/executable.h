/*
 * What kind of file a program is: searching PATH, reading "#!" lines and ELF headers.
 */
#ifndef CLI_EXECUTABLE_H
#define CLI_EXECUTABLE_H

#include <stdbool.h>
#include <stddef.h>

enum {
    EXECUTABLE_LINE_BYTES = 256, /* what Linux reads of a "#!" line */
    EXECUTABLE_PATH_BYTES = 4096,
};

/* A "#!" line. */
struct executable_script {
    char interpreter[EXECUTABLE_LINE_BYTES]; /* a path */
    char program[EXECUTABLE_LINE_BYTES];     /* that "env" looks for; "" when it is not env */
};

/* What of an ELF file says whether a library can be preloaded into it. */
struct executable_elf {
    unsigned machine; /* EM_ of elf.h */
    bool is_64_bit;
    bool has_loader;                    /* false: statically linked */
    char loader[EXECUTABLE_PATH_BYTES]; /* path of the dynamic loader */
};

enum executable_kind {
    EXECUTABLE_UNREADABLE,
    EXECUTABLE_ELF,
    EXECUTABLE_SCRIPT,
    EXECUTABLE_OTHER, /* a shell may still run it */
};

/*
 * Find a program as execvp() does: a name with a slash is a path, others are looked for in PATH.
 * Returns memory to be given to free(), or NULL with errno: ENOENT, or EACCES when what was found
 * may not be executed. Context: tool.
 */
char *executable_find(const char *name);

/*
 * Read the head of a file. Only the part of the result that belongs to the kind is filled in.
 * A damaged ELF header is EXECUTABLE_OTHER. Context: tool.
 */
enum executable_kind executable_read(const char *path, struct executable_elf *ret_elf,
                                     struct executable_script *ret_script);

/*
 * Whether a 64-bit little-endian ELF file asks its loader for a library whose name begins so.
 * False also when the file cannot be read or makes no sense. Context: tool.
 */
bool executable_needs(const char *path, const char *prefix);

/*
 * Whether a 64-bit little-endian ELF file defines this name for the libraries that it is loaded
 * with. False also when the file cannot be read, makes no sense or has no GNU hash table.
 * Context: tool.
 */
bool executable_exports(const char *path, const char *name);

/* Returns true when a "#!" line starts Python, by itself or through env. Context: tool. */
bool executable_is_python(const struct executable_script *script);

/* Return the name of a processor by its EM_ number, or "unknown". Context: tool. */
const char *executable_machine_name(unsigned machine, bool is_64_bit);

#endif
