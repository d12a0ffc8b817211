/*
 * A table of text: cells in, aligned lines out, no wider than asked where that is possible.
 *
 * Numbers are right-aligned and never cut; texts and paths share the width that is left, three parts
 * to two where both need more. A text loses its end and a path its start. One record is one line,
 * without trailing spaces.
 */
#ifndef PRINT_TABLE_H
#define PRINT_TABLE_H

#include "print/text.h"

#include <stdbool.h>
#include <stdio.h>

enum table_kind {
    TABLE_NUMBER = 0,
    TABLE_TEXT = 1,
    TABLE_PATH = 2,
    TABLE_WORD = 3, /* left-aligned, never cut */
};

struct table_column {
    const char *title; /* ASCII; the caller's */
    uint8_t kind;      /* enum table_kind */
    bool is_dim;       /* with colour: less important than the rest */
};

enum {
    TABLE_MAX_COLUMNS = 12,
};

struct table;

/*
 * Begin a table.
 * columns: count of them, at most TABLE_MAX_COLUMNS; the caller's, as long as the table lives.
 * Context: tool.
 */
struct table *table_create(const struct table_column *columns, unsigned count,
                           const struct text_style *style);

/*
 * Add the next cell, from left to right, row by row.
 * text: may hold any bytes; copied. Context: tool.
 */
void table_add(struct table *table, const char *text);

/*
 * Write the table, with a line of titles when has_titles, and give it back.
 * The last row must be complete. Context: tool.
 */
void table_finish(struct table *table, bool has_titles, FILE *out);

#endif
