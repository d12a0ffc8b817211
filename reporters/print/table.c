/*
 * Tables of text. Runs in the tools. Memory: the cells, about as much as the lines that come out.
 */
#include "print/table.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    GAP_COLUMNS = 2,
    LEAST_COLUMNS = 8, /* of a text or path, however narrow the terminal */
};

#define BOLD  "\033[1m"
#define DIM   "\033[2m"
#define PLAIN "\033[0m"

struct table {
    const struct table_column *columns;
    unsigned count;
    struct text_style style;
    unsigned widths[TABLE_MAX_COLUMNS];
    struct memory_pool pool;
    const char **cells; /* row by row; the pool's */
    size_t cell_count, capacity;
};

static bool is_flexible(const struct table_column *column)
{
    return column->kind == TABLE_TEXT || column->kind == TABLE_PATH;
}

/* A path says most with its end; a name needs more room. */
static unsigned weight_of(const struct table_column *column)
{
    return column->kind == TABLE_PATH ? 2 : 3;
}

/* Give each flexible column what it wants, or a share by its weight where that is less. */
static void share_width(struct table *table, unsigned available_columns, unsigned open_weight)
{
    bool is_settled[TABLE_MAX_COLUMNS] = {false};
    bool has_settled;

    do {
        unsigned shared_columns = available_columns, shared_weight = open_weight;

        has_settled = false;
        for (unsigned i = 0; i < table->count; i++) {
            unsigned weight = weight_of(&table->columns[i]);

            if (!is_flexible(&table->columns[i]) || is_settled[i] ||
                table->widths[i] > shared_columns * weight / shared_weight)
                continue;
            is_settled[i] = has_settled = true;
            available_columns -= table->widths[i];
            open_weight -= weight;
        }
    } while (has_settled);
    /* From the right: paths stand there, and what they need at least is taken from the names. */
    for (unsigned i = table->count; i-- > 0;) {
        unsigned weight = weight_of(&table->columns[i]);

        if (!is_flexible(&table->columns[i]) || is_settled[i])
            continue;
        table->widths[i] = available_columns * weight / open_weight;
        open_weight -= weight;
        if (table->widths[i] < LEAST_COLUMNS)
            table->widths[i] = LEAST_COLUMNS;
        available_columns -=
            table->widths[i] < available_columns ? table->widths[i] : available_columns;
    }
}

static void fit_width(struct table *table)
{
    unsigned fixed_columns = GAP_COLUMNS * (table->count - 1), flexible_weight = 0;

    for (unsigned i = 0; i < table->count; i++) {
        if (is_flexible(&table->columns[i]))
            flexible_weight += weight_of(&table->columns[i]);
        else
            fixed_columns += table->widths[i];
    }
    share_width(
        table,
        fixed_columns < table->style.width_columns ? table->style.width_columns - fixed_columns : 0,
        flexible_weight);
}

/* A cell as it fits in its column. */
static const char *fitted(struct table *table, unsigned column, const char *cell)
{
    switch ((enum table_kind)table->columns[column].kind) {
    case TABLE_TEXT:
        return text_shorten_end(&table->pool, cell, table->widths[column], table->style.is_ascii);
    case TABLE_PATH:
        return text_shorten_start(&table->pool, cell, table->widths[column], table->style.is_ascii);
    case TABLE_NUMBER:
    case TABLE_WORD:
        break;
    }
    return cell;
}

static void write_spaces(FILE *out, unsigned count)
{
    while (count-- > 0)
        putc_unlocked(' ', out);
}

static void write_cell(const char *text, const char *paint, FILE *out)
{
    if (paint == NULL || text[0] == '\0') {
        fputs(text, out);
        return;
    }
    fputs(paint, out);
    fputs(text, out);
    fputs(PLAIN, out);
}

/* Spaces are owed until something follows them: no line ends with one. */
static void write_row(struct table *table, const char *const *cells, bool is_title, FILE *out)
{
    unsigned owed = 0;

    for (unsigned i = 0; i < table->count; i++) {
        const char *cell = fitted(table, i, cells[i]), *paint = NULL;
        unsigned columns = text_columns(cell);
        unsigned padding = columns < table->widths[i] ? table->widths[i] - columns : 0;

        if (table->style.has_color)
            paint = is_title ? BOLD : table->columns[i].is_dim ? DIM : NULL;
        if (table->columns[i].kind == TABLE_NUMBER) {
            owed += padding;
            padding = 0;
        }
        if (cell[0] != '\0') {
            write_spaces(out, owed);
            owed = 0;
        } else {
            padding = table->columns[i].kind == TABLE_NUMBER ? 0 : table->widths[i];
        }
        write_cell(cell, paint, out);
        owed += padding + GAP_COLUMNS;
    }
    putc_unlocked('\n', out);
}

struct table *table_create(const struct table_column *columns, unsigned count,
                           const struct text_style *style)
{
    struct table *table = memory_allocate(1, sizeof(*table));

    assert(count > 0 && count <= TABLE_MAX_COLUMNS);
    table->columns = columns;
    table->count = count;
    table->style = *style;
    return table;
}

void table_add(struct table *table, const char *text)
{
    unsigned column = (unsigned)(table->cell_count % table->count);
    const char *clean = text_clean(&table->pool, text, table->style.is_ascii);
    unsigned columns = text_columns(clean);

    table->cells =
        memory_grow(table->cells, &table->capacity, table->cell_count + 1, sizeof(table->cells[0]));
    table->cells[table->cell_count++] = clean;
    if (table->widths[column] < columns)
        table->widths[column] = columns;
}

void table_finish(struct table *table, bool has_titles, FILE *out)
{
    const char *titles[TABLE_MAX_COLUMNS] = {NULL};

    assert(table->cell_count % table->count == 0);
    for (unsigned i = 0; i < table->count; i++) {
        titles[i] = table->columns[i].title;
        if (has_titles && table->widths[i] < strlen(titles[i]))
            table->widths[i] = (unsigned)strlen(titles[i]);
    }
    fit_width(table);
    if (has_titles)
        write_row(table, titles, true, out);
    for (size_t i = 0; i < table->cell_count; i += table->count)
        write_row(table, table->cells + i, false, out);
    memory_pool_finish(&table->pool);
    free(table->cells);
    free(table);
}
