/*
 * Lines of text that are not wider than they may be: what does not fit goes on in the next one,
 * below what it belongs to.
 *
 *     wrap_begin(&line, out, 80, "memtrack     ", 13);
 *     wrap_words(&line, "1.39 s in the program's slow paths");
 *     wrap_add(&line, "   ", "RSS %s", size);
 *     wrap_end(&line);
 */
#ifndef PRINT_WRAP_H
#define PRINT_WRAP_H

#include <stdbool.h>
#include <stdio.h>

/* A line that is being written. Its fields are the module's. */
struct wrap_line {
    FILE *out;
    unsigned width_columns, indent_columns, used_columns;
    bool is_empty; /* the next piece needs no separator */
};

/*
 * Begin a line with its title, which is written as it is; one that ends in a space stands for
 * indentation, and the first piece follows without a separator.
 * out: lent until wrap_end(). indent_columns: of all lines after the first. Context: tool.
 */
void wrap_begin(struct wrap_line *line, FILE *out, unsigned width_columns, const char *title,
                unsigned indent_columns);

/*
 * Write a piece that stays whole, with the separator before it unless it is the first of a line.
 * format: what it makes is clean (print/text.h), and cut beyond 1 KiB. Context: tool.
 */
void wrap_add(struct wrap_line *line, const char *separator, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Write a clean text that may be parted at each space. Context: tool. */
void wrap_words(struct wrap_line *line, const char *clean);

/* End the line. Context: tool. */
void wrap_end(struct wrap_line *line);

#endif
