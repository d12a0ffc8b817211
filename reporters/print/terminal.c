/*
 * What the output can show, by the conventions other tools follow. Runs in the tools.
 */
#include "print/terminal.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    USUAL_COLUMNS = 80,
    MOST_COLUMNS = 1000,
};

/* A variable's value; NULL also when it is empty: to NO_COLOR and the others that is the same. */
static const char *value_of(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* FORCE_COLOR=0 means the opposite in the programs that invented it. */
static bool is_forced(const char *name)
{
    const char *value = value_of(name);

    return value != NULL && strcmp(value, "0") != 0;
}

bool terminal_has_color(enum terminal_color asked, bool is_terminal)
{
    const char *terminal = getenv("TERM");

    if (asked != COLOR_AUTO)
        return asked == COLOR_ALWAYS;
    if (value_of("NO_COLOR") != NULL)
        return false;
    if (is_forced("CLICOLOR_FORCE") || is_forced("FORCE_COLOR"))
        return true;
    return is_terminal && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

bool terminal_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = value_of(names[i]);

        if (value != NULL)
            return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
    }
    return false;
}

unsigned terminal_columns(int fd)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    long value = 0;

    if (!isatty(fd))
        return TERMINAL_FILE_COLUMNS;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        value = size.ws_col;
    else if (columns != NULL)
        value = strtol(columns, NULL, 10);
    if (value <= 0)
        value = USUAL_COLUMNS;
    if (value < TERMINAL_LEAST_COLUMNS)
        value = TERMINAL_LEAST_COLUMNS;
    return value > MOST_COLUMNS ? MOST_COLUMNS : (unsigned)value;
}
