/*
 * What the output can show: colour, characters, width.
 */
#ifndef PRINT_TERMINAL_H
#define PRINT_TERMINAL_H

#include <stdbool.h>

enum terminal_color {
    COLOR_AUTO = 0,
    COLOR_ALWAYS = 1,
    COLOR_NEVER = 2,
};

/*
 * Decide on colour: what the user asked for; else NO_COLOR, then CLICOLOR_FORCE and FORCE_COLOR;
 * else whether the output is a terminal that is not "dumb".
 * Context: tool.
 */
bool terminal_has_color(enum terminal_color asked, bool is_terminal);

/* Return whether the locale's characters are UTF-8, by LC_ALL, LC_CTYPE, LANG. Context: tool. */
bool terminal_is_utf8(void);

enum {
    TERMINAL_FILE_COLUMNS = 100, /* where there is no terminal */
    TERMINAL_LEAST_COLUMNS = 40, /* narrower is not believed */
};

/*
 * Return the width for text written to a descriptor: the terminal's, COLUMNS where the terminal
 * does not know, TERMINAL_FILE_COLUMNS where there is none. Context: tool.
 */
unsigned terminal_columns(int fd);

#endif
