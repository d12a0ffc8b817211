/*
 * Messages: formatted, made fit for a terminal (names in them may hold anything), written at once.
 */
#include "message.h"

#include "base/error.h"
#include "base/memory.h"
#include "print/terminal.h"
#include "print/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void message_print(const char *format, ...)
{
    struct memory_pool pool = {.newest = NULL};
    char text[ERROR_TEXT_BYTES];
    const char *clean;
    va_list arguments;
    char *line;
    ssize_t written;
    int length;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    clean = text_clean(&pool, text, !terminal_is_utf8());
    length = asprintf(&line, "memtrack: %s\n", clean);
    if (length > 0) {
        written = write(STDERR_FILENO, line, (size_t)length);
        (void)written; /* there is nobody left to tell */
        free(line);
    }
    memory_pool_finish(&pool);
}
