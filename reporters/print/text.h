/*
 * Text that comes from programs, made fit for a terminal: names and paths may hold anything.
 *
 * Text is UTF-8; surrogates (WTF-8) and bytes that are not UTF-8 at all occur. After text_clean()
 * there is nothing left in it that moves a cursor, colours, or turns the line around.
 */
#ifndef PRINT_TEXT_H
#define PRINT_TEXT_H

#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How text is to look; every text report gets one. */
struct text_style {
    unsigned width_columns;
    bool is_ascii;
    bool has_color;
};

/*
 * Read one character; surrogates count as characters.
 * text: NUL-terminated. Not at its end.
 * Returns the number of bytes, 1 to 4; 0 when the first byte begins no character.
 * Context: any thread.
 */
unsigned text_decode(const char *text, uint32_t *ret_character);

/*
 * Copy a text so that it can be printed: what cannot be seen becomes \n, \x1b, \u202e; in ASCII so
 * does all that is not ASCII.
 * Returns a text of the pool's. Context: tool.
 */
char *text_clean(struct memory_pool *pool, const char *text, bool is_ascii);

/*
 * Return how many columns of a terminal a clean text takes, at most; East Asian wide characters
 * take two, combining ones none. Context: any thread.
 */
unsigned text_columns(const char *clean);

/*
 * Shorten a clean text to so many columns, with an ellipsis at its end, or at its start: paths keep
 * their end.
 * columns: at least 1.
 * Returns the text itself when it fits, else one of the pool's. Context: tool.
 */
const char *text_shorten_end(struct memory_pool *pool, const char *clean, unsigned columns,
                             bool is_ascii);
const char *text_shorten_start(struct memory_pool *pool, const char *clean, unsigned columns,
                               bool is_ascii);

#endif
