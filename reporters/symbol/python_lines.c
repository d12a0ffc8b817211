/*
 * The three forms of line tables, one decoder each. Runs in the tools, on any thread.
 *
 * What holds: a decoder reads bytes between next and end only, takes at least one at each step, and
 * keeps the line in 64 bits, where no table of 32 bits of bytes can overflow it.
 *
 * Forms: co_lnotab as in CPython 3.9 Objects/lnotab_notes.txt; co_linetable of 3.10 as in its
 * Objects/lnotab_notes.txt; the location table as in CPython 3.11 Objects/locations.md.
 */
#include "symbol/python_lines.h"

#include "memtrack/protocol.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    PAIR_BYTES = 2,
    PAIRS_NO_LINE = -128,
    CODE_UNIT_BYTES = 2,
    /* Location table: kinds of entries, bits 3-6 of an entry's first byte. */
    LOCATION_ONE_LINE_0 = 10, /* 10, 11, 12: 0, 1, 2 lines further; below: the same line */
    LOCATION_NO_COLUMNS = 13,
    LOCATION_LONG = 14,
    LOCATION_NONE = 15,
};

struct bytes {
    const uint8_t *next, *end;
};

/* A position while it is computed; lines may be anything in a damaged table. */
struct position {
    int64_t line, end_line;
    int64_t column, end_column; /* from 1, 0: none */
};

static uint32_t to_count(int64_t value)
{
    return value > 0 && value <= INT32_MAX ? (uint32_t)value : 0;
}

static struct python_position finish_position(const struct position *position)
{
    struct python_position result = {.line = to_count(position->line)};

    if (result.line == 0)
        return result;
    result.end_line = to_count(position->end_line);
    if (result.end_line < result.line)
        result.end_line = result.line;
    result.column = to_count(position->column);
    result.end_column = to_count(position->end_column);
    return result;
}

static struct python_position on_line(int64_t line)
{
    return finish_position(&(struct position){.line = line, .end_line = line});
}

/* Pairs of address increment and line increment: a line holds from its address on. */
static struct python_position find_in_lnotab(const struct capture_code *code, int32_t offset)
{
    const uint8_t *table = code->line_table;
    int64_t address = 0, line = code->first_line;

    for (uint32_t i = 0; i + 1 < code->line_table_bytes; i += PAIR_BYTES) {
        address += table[i];
        if (address > offset)
            break;
        line += (int8_t)table[i + 1];
    }
    return on_line(line);
}

/* Pairs of length and line increment: a line holds for the length. */
static struct python_position find_in_pairs(const struct capture_code *code, int32_t offset)
{
    const uint8_t *table = code->line_table;
    int64_t end = 0, line = code->first_line;

    for (uint32_t i = 0; i + 1 < code->line_table_bytes; i += PAIR_BYTES) {
        int8_t increment = (int8_t)table[i + 1];

        end += table[i];
        if (increment != PAIRS_NO_LINE)
            line += increment;
        if (offset < end)
            return on_line(increment == PAIRS_NO_LINE ? code->first_line : line);
    }
    return on_line(0);
}

static bool read_byte(struct bytes *bytes, uint8_t *ret_byte)
{
    if (bytes->next == bytes->end)
        return false;
    *ret_byte = *bytes->next++;
    return true;
}

/* The table's own varint: 6 bits a byte, lowest first, bit 6 says that another byte follows. */
static bool read_varint(struct bytes *bytes, uint32_t *ret_value)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        if (shift > 30 || !read_byte(bytes, &byte))
            return false;
        value |= (uint64_t)(byte & 63) << shift;
        shift += 6;
    } while (byte & 64);
    if (value > UINT32_MAX)
        return false;
    *ret_value = (uint32_t)value;
    return true;
}

/* The sign is the lowest bit. */
static bool read_line_increment(struct bytes *bytes, int64_t *line)
{
    uint32_t folded;

    if (!read_varint(bytes, &folded))
        return false;
    *line += folded & 1 ? -(int64_t)(folded >> 1) : (int64_t)(folded >> 1);
    return true;
}

static bool read_long_entry(struct bytes *bytes, struct position *position)
{
    uint32_t more_lines, column, end_column;

    if (!read_line_increment(bytes, &position->line) || !read_varint(bytes, &more_lines) ||
        !read_varint(bytes, &column) || !read_varint(bytes, &end_column))
        return false;
    position->end_line = position->line + more_lines;
    position->column = column; /* stored plus 1: 0 is none */
    position->end_column = end_column;
    return true;
}

/* Entries that stay within a line: one or two bytes of columns. */
static bool read_short_entry(struct bytes *bytes, unsigned kind, struct position *position)
{
    uint8_t first, second;

    if (!read_byte(bytes, &first))
        return false;
    if (kind < LOCATION_ONE_LINE_0) {
        position->column = (int64_t)(kind << 3 | (first >> 4 & 7)) + 1;
        position->end_column = position->column + (first & 15);
    } else {
        if (!read_byte(bytes, &second))
            return false;
        position->line += kind - LOCATION_ONE_LINE_0;
        position->column = first + 1;
        position->end_column = second + 1;
    }
    position->end_line = position->line;
    return true;
}

/* Read what follows an entry's first byte. position->line goes on from the entry before. */
static bool read_entry(struct bytes *bytes, unsigned kind, struct position *position)
{
    position->column = position->end_column = 0;
    if (kind == LOCATION_NONE)
        return true;
    if (kind == LOCATION_LONG)
        return read_long_entry(bytes, position);
    if (kind == LOCATION_NO_COLUMNS) {
        bool is_read = read_line_increment(bytes, &position->line);

        position->end_line = position->line;
        return is_read;
    }
    return read_short_entry(bytes, kind, position);
}

static struct python_position find_in_locations(const struct capture_code *code, int32_t offset)
{
    struct bytes bytes = {code->line_table, code->line_table + code->line_table_bytes};
    struct position position = {.line = code->first_line};
    int64_t end = 0;
    uint8_t head;

    while (read_byte(&bytes, &head)) {
        unsigned kind = head >> 3 & 15;

        if (!(head & 128) || !read_entry(&bytes, kind, &position))
            break;
        end += ((int64_t)(head & 7) + 1) * CODE_UNIT_BYTES;
        if (offset < end)
            return kind == LOCATION_NONE ? on_line(code->first_line) : finish_position(&position);
    }
    return on_line(0);
}

struct python_position python_lines_find(const struct capture_code *code, int32_t offset)
{
    if (offset < 0)
        return on_line(code->first_line);
    switch (code->line_table_kind) {
    case LINE_TABLE_LNOTAB:
        return find_in_lnotab(code, offset);
    case LINE_TABLE_PAIRS:
        return find_in_pairs(code, offset);
    case LINE_TABLE_LOCATION:
        return find_in_locations(code, offset);
    default: /* of a later version */
        return on_line(0);
    }
}
