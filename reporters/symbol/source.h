/*
 * Source text: the line of a file as it was when the program ran, or nothing.
 */
#ifndef SYMBOL_SOURCE_H
#define SYMBOL_SOURCE_H

#include <stdint.h>

struct source;

/*
 * Begin.
 * directory: where relative file names begin, the program's working directory; copied.
 * newest_realtime_ns: files changed after this instant are not used, since their lines may have
 * moved; 0: any file is.
 * Context: tool.
 */
struct source *source_create(const char *directory, uint64_t newest_realtime_ns);

/* Give it back; NULL is allowed. Context: tool. */
void source_destroy(struct source *source);

/*
 * Return a line of a file, without its newline and the white space around it.
 * file: as in struct frame. line: from 1.
 * Returns NULL when the file is not there, not a regular file, too large, changed since, or shorter.
 * The text may hold any byte but NUL; it is valid until source_destroy(). Context: tool.
 */
const char *source_line(struct source *source, const char *file, uint32_t line);

/* The same, with the white space that it begins with. Context: tool. */
const char *source_indented_line(struct source *source, const char *file, uint32_t line);

#endif
