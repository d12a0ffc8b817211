/*
 * Lines that end in time. Runs in the tools, on any thread.
 */
#include "print/wrap.h"

#include "base/memory.h"
#include "print/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE_BYTES = 1024,
};

static bool ends_in_space(const char *text)
{
    size_t length = strlen(text);

    return length == 0 || text[length - 1] == ' ';
}

void wrap_begin(struct wrap_line *line, FILE *out, unsigned width_columns, const char *title,
                unsigned indent_columns)
{
    *line = (struct wrap_line){
        .out = out,
        .width_columns = width_columns,
        .indent_columns = indent_columns,
        .used_columns = text_columns(title),
        .is_empty = ends_in_space(title),
    };
    fputs(title, out);
}

static void add(struct wrap_line *line, const char *separator, const char *piece)
{
    unsigned columns = text_columns(piece), between = text_columns(separator);

    if (line->is_empty) {
        between = 0;
    } else if (line->used_columns + between + columns > line->width_columns) {
        fprintf(line->out, "\n%*s", (int)line->indent_columns, "");
        line->used_columns = line->indent_columns;
        between = 0;
    } else {
        fputs(separator, line->out);
    }
    fputs(piece, line->out);
    line->used_columns += between + columns;
    line->is_empty = false;
}

void wrap_add(struct wrap_line *line, const char *separator, const char *format, ...)
{
    char piece[PIECE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(piece, sizeof(piece), format, arguments);
    va_end(arguments);
    add(line, separator, piece);
}

void wrap_words(struct wrap_line *line, const char *clean)
{
    while (*clean != '\0') {
        size_t length = strcspn(clean, " ");
        char *word = memory_allocate(length + 1, 1);

        memcpy(word, clean, length);
        add(line, " ", word);
        free(word);
        clean += length;
        clean += *clean == ' ';
    }
}

void wrap_end(struct wrap_line *line)
{
    fputc('\n', line->out);
}
