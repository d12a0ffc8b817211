/*
 * Small work on texts that several commands need.
 */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include <stddef.h>

/*
 * Format a text of any length.
 * Returns memory to be given to free(); out of memory ends the tool. Context: tool.
 */
char *words_format(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));

/*
 * Make a path absolute. It is not otherwise changed: it need not exist, links stay links.
 * Returns memory to be given to free(), or NULL with errno when there is no working directory.
 * Context: tool.
 */
char *words_absolute_path(const char *path);

/* Return what stands behind the last slash; all of it when there is none. Context: tool. */
const char *words_base_name(const char *path);

/*
 * Quote a word so that a shell reads it as it is; plain words stay plain.
 * Returns memory to be given to free(). Context: tool.
 */
char *words_quote(const char *word) __attribute__((returns_nonnull));

/*
 * Return how many letters must be put in, taken out, replaced or swapped with their neighbour to
 * make one word of the other. Words longer than WORDS_DISTANCE_MAX are that far from everything.
 * Context: tool.
 */
size_t words_distance(const char *a, const char *b);

enum {
    WORDS_DISTANCE_MAX = 40,
};

#endif
