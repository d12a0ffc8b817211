/*
 * Line tables: those that real interpreters made are read as these interpreters read them, and
 * damaged ones to nothing worse than a wrong line.
 *
 * The tables are of one function of 24 lines (a loop, try, with, a closure), as compiled by each
 * interpreter; the runs are what its co_positions(), co_lines() or dis.findlinestarts() says.
 */
#include "test.h"

#include "memtrack/protocol.h"
#include "symbol/frames.h"
#include "symbol/python_lines.h"

/* So many instructions (2 bytes each) have this position. */
struct run {
    uint32_t count;
    uint32_t line, column, end_column;
};

struct sample {
    const char *name;
    uint8_t kind;
    int32_t first_line;
    const uint8_t *table;
    uint32_t table_bytes;
    const struct run *runs;
    size_t run_count;
};

static const uint8_t python_3_8_table[] = {
    0, 3,   4,  1, 8,  1, 8,  0, 8,  0, 8,  1, 4,  1, 4,  1, 6, 1, 2, 255,
    2, 255, 10, 4, 14, 2, 12, 2, 12, 1, 10, 1, 28, 2, 12, 2, 2, 1, 2, 255,
};

static const struct run python_3_8_runs[] = {
    {2, 5, 0, 0},  {4, 6, 0, 0},   {12, 7, 0, 0}, {2, 8, 0, 0},  {2, 9, 0, 0},  {3, 10, 0, 0},
    {1, 11, 0, 0}, {1, 10, 0, 0},  {5, 9, 0, 0},  {7, 13, 0, 0}, {6, 15, 0, 0}, {6, 17, 0, 0},
    {5, 18, 0, 0}, {14, 19, 0, 0}, {6, 21, 0, 0}, {1, 23, 0, 0}, {1, 24, 0, 0}, {2, 23, 0, 0},
};

static const uint8_t python_3_10_table[] = {
    4, 3, 8,   1, 24,  1,  4, 1,  4, 1,  6, 1,  2,   1,  2, 255, 10, 255, 12, 4, 2,
    2, 2, 254, 2, 252, 20, 8, 10, 1, 20, 1, 28, 255, 12, 3, 2,   2,  2,   1,  4, 255,
};

static const struct run python_3_10_runs[] = {
    {2, 5, 0, 0},  {4, 6, 0, 0},   {12, 7, 0, 0}, {2, 8, 0, 0},   {2, 9, 0, 0},   {3, 10, 0, 0},
    {1, 11, 0, 0}, {1, 10, 0, 0},  {5, 9, 0, 0},  {6, 13, 0, 0},  {1, 15, 0, 0},  {1, 13, 0, 0},
    {1, 9, 0, 0},  {10, 17, 0, 0}, {5, 18, 0, 0}, {10, 19, 0, 0}, {14, 18, 0, 0}, {6, 21, 0, 0},
    {1, 23, 0, 0}, {1, 24, 0, 0},  {2, 23, 0, 0},
};

static const uint8_t python_3_11_table[] = {
    248, 248, 128, 0,   240, 6,   0,   13,  14,  128, 69,  216, 16,  21,  240, 0,   11,  5,   23,
    240, 0,   11,  5,   23,  136, 4,   216, 11,  15,  144, 33,  138, 56,  136, 56,  144, 85,  152,
    100, 145, 93,  144, 85,  160, 69,  168, 81,  161, 74,  160, 69,  240, 2,   9,   9,   23,  216,
    12,  17,  149, 83,  221, 16,  19,  144, 68,  145, 9,   148, 9,   216, 16,  24,  241, 3,   1,
    17,  25,  241, 3,   3,   22,  14,  244, 0,   3,   22,  14,  241, 0,   3,   13,  14,  136, 69,
    136, 69,  248, 245, 8,   0,   16,  26,  240, 0,   2,   9,   18,  240, 0,   2,   9,   18,  240,
    0,   2,   9,   18,  224, 12,  17,  240, 5,   2,   9,   18,  248, 248, 248, 240, 9,   0,   13,
    18,  240, 16,  0,   13,  18,  144, 81,  137, 74,  136, 69,  136, 69,  248, 136, 69,  144, 81,
    137, 74,  136, 69,  136, 69,  136, 69,  136, 69,  136, 69,  221, 9,   13,  136, 99,  137, 25,
    140, 25,  240, 0,   2,   5,   26,  144, 97,  240, 2,   1,   17,  26,  240, 0,   1,   17,  26,
    240, 0,   1,   17,  26,  240, 0,   1,   17,  26,  152, 65,  240, 0,   1,   17,  26,  241, 0,
    1,   17,  26,  244, 0,   1,   17,  26,  136, 5,   240, 3,   2,   5,   26,  240, 0,   2,   5,
    26,  240, 0,   2,   5,   26,  241, 0,   2,   5,   26,  244, 0,   2,   5,   26,  240, 0,   2,
    5,   26,  240, 0,   2,   5,   26,  240, 0,   2,   5,   26,  240, 0,   2,   5,   26,  240, 0,
    2,   5,   26,  240, 0,   2,   5,   26,  248, 248, 248, 240, 0,   2,   5,   26,  240, 0,   2,
    5,   26,  240, 0,   2,   5,   26,  240, 0,   2,   5,   26,  240, 6,   1,   5,   21,  240, 0,
    1,   5,   21,  240, 0,   1,   5,   21,  240, 0,   1,   5,   21,  240, 0,   1,   5,   21,  224,
    12,  17,  216, 12,  17,  240, 3,   1,   12,  19,  240, 0,   1,   5,   19,
};

static const struct run python_3_11_runs[] = {
    {2, 2, 0, 0},    {1, 2, 1, 1},    {1, 5, 13, 14},  {1, 5, 5, 10},   {1, 6, 17, 22},
    {2, 6, 5, 23},   {1, 6, 9, 13},   {1, 7, 12, 16},  {1, 7, 19, 20},  {4, 7, 12, 20},
    {1, 7, 22, 27},  {1, 7, 31, 35},  {2, 7, 22, 35},  {1, 7, 22, 27},  {1, 7, 37, 42},
    {1, 7, 46, 47},  {2, 7, 37, 47},  {1, 7, 37, 42},  {1, 8, 9, 23},   {1, 9, 13, 18},
    {6, 9, 22, 25},  {6, 10, 17, 20}, {1, 10, 21, 25}, {7, 10, 17, 26}, {1, 11, 17, 25},
    {2, 10, 17, 25}, {7, 9, 22, 14},  {2, 9, 13, 14},  {2, 9, 13, 18},  {1, 2, 0, 0},
    {6, 13, 16, 26}, {3, 13, 9, 18},  {1, 15, 13, 18}, {1, 13, 9, 18},  {3, 2, 0, 0},
    {1, 9, 13, 18},  {1, 17, 13, 18}, {1, 17, 22, 23}, {2, 17, 13, 23}, {2, 17, 13, 18},
    {1, 2, 0, 0},    {1, 17, 13, 18}, {1, 17, 22, 23}, {2, 17, 13, 23}, {5, 17, 13, 18},
    {6, 18, 10, 14}, {1, 18, 15, 18}, {7, 18, 10, 19}, {1, 18, 5, 26},  {1, 18, 23, 24},
    {4, 19, 17, 26}, {1, 19, 29, 30}, {8, 19, 17, 26}, {1, 19, 9, 14},  {16, 18, 5, 26},
    {3, 2, 0, 0},    {4, 18, 5, 26},  {5, 21, 5, 21},  {1, 23, 13, 18}, {1, 24, 13, 18},
    {1, 23, 12, 19}, {1, 23, 5, 19},
};

static const uint8_t python_3_13_table[] = {
    248, 128, 0,   240, 6,   0,   13,  14,  128, 69,  219, 16,  21,  136, 4,   216, 11,  15,  144,
    33,  139, 56,  144, 85,  152, 100, 145, 93,  144, 85,  160, 69,  168, 81,  161, 74,  160, 69,
    240, 2,   9,   9,   23,  216, 12,  17,  148, 83,  220, 16,  19,  144, 68,  147, 9,   216, 16,
    24,  241, 3,   1,   17,  25,  243, 3,   3,   22,  14,  241, 0,   3,   13,  14,  137, 69,  240,
    16,  0,   13,  18,  144, 81,  137, 74,  138, 69,  241, 23,  0,   17,  22,  244, 24,  0,   10,
    14,  136, 99,  140, 25,  144, 97,  217, 28,  29,  243, 0,   1,   17,  26,  153, 65,  144, 113,
    163, 17,  147, 17,  220, 21,  24,  247, 3,   0,   18,  19,  153, 65,  136, 5,   240, 0,   1,
    17,  26,  247, 3,   0,   10,  19,  245, 6,   1,   5,   21,  224, 12,  17,  216, 12,  17,  240,
    3,   1,   12,  19,  240, 0,   1,   5,   19,  248, 244, 21,  0,   16,  26,  243, 0,   2,   9,
    18,  224, 12,  17,  240, 5,   2,   9,   18,  251, 240, 8,   0,   13,  18,  144, 81,  137, 74,
    137, 69,  252, 242, 4,   1,   17,  26,  247, 3,   0,   10,  19,  141, 25,  250,
};

static const struct run python_3_13_runs[] = {
    {1, 2, 0, 0},    {1, 2, 1, 1},     {1, 5, 13, 14},  {1, 5, 5, 10},   {4, 6, 17, 22},
    {1, 6, 9, 13},   {1, 7, 12, 16},   {1, 7, 19, 20},  {4, 7, 12, 20},  {1, 7, 22, 27},
    {1, 7, 31, 35},  {2, 7, 22, 35},   {1, 7, 22, 27},  {1, 7, 37, 42},  {1, 7, 46, 47},
    {2, 7, 37, 47},  {1, 7, 37, 42},   {1, 8, 9, 23},   {1, 9, 13, 18},  {5, 9, 22, 25},
    {5, 10, 17, 20}, {1, 10, 21, 25},  {4, 10, 17, 26}, {1, 11, 17, 25}, {2, 10, 17, 25},
    {4, 9, 22, 14},  {2, 9, 13, 14},   {2, 9, 13, 18},  {1, 17, 13, 18}, {1, 17, 22, 23},
    {2, 17, 13, 23}, {3, 17, 13, 18},  {2, 6, 17, 22},  {5, 18, 10, 14}, {1, 18, 15, 18},
    {5, 18, 10, 19}, {1, 18, 23, 24},  {2, 19, 29, 30}, {4, 19, 17, 26}, {2, 19, 29, 30},
    {1, 19, 24, 25}, {4, 19, 34, 35},  {4, 19, 18, 19}, {5, 20, 22, 25}, {8, 19, 18, 19},
    {2, 19, 29, 30}, {1, 19, 9, 14},   {1, 19, 17, 26}, {8, 18, 10, 19}, {6, 21, 5, 21},
    {1, 23, 13, 18}, {1, 24, 13, 18},  {1, 23, 12, 19}, {1, 23, 5, 19},  {1, 2, 0, 0},
    {5, 13, 16, 26}, {4, 13, 9, 18},   {1, 15, 13, 18}, {1, 13, 9, 18},  {4, 2, 0, 0},
    {1, 17, 13, 18}, {1, 17, 22, 23},  {2, 17, 13, 23}, {2, 17, 13, 18}, {5, 2, 0, 0},
    {3, 19, 17, 26}, {14, 18, 10, 19}, {3, 2, 0, 0},
};

static const struct sample samples[] = {
    {"CPython 3.8", LINE_TABLE_LNOTAB, 2, python_3_8_table, sizeof(python_3_8_table),
     python_3_8_runs, sizeof(python_3_8_runs) / sizeof(python_3_8_runs[0])},
    {"CPython 3.10", LINE_TABLE_PAIRS, 2, python_3_10_table, sizeof(python_3_10_table),
     python_3_10_runs, sizeof(python_3_10_runs) / sizeof(python_3_10_runs[0])},
    {"CPython 3.11", LINE_TABLE_LOCATION, 2, python_3_11_table, sizeof(python_3_11_table),
     python_3_11_runs, sizeof(python_3_11_runs) / sizeof(python_3_11_runs[0])},
    {"CPython 3.13", LINE_TABLE_LOCATION, 2, python_3_13_table, sizeof(python_3_13_table),
     python_3_13_runs, sizeof(python_3_13_runs) / sizeof(python_3_13_runs[0])},
};

static struct capture_code code_of(const struct sample *sample)
{
    return (struct capture_code){
        .line_table = sample->table,
        .line_table_bytes = sample->table_bytes,
        .first_line = sample->first_line,
        .line_table_kind = sample->kind,
    };
}

TEST(every_instruction_has_the_position_its_interpreter_says)
{
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        struct capture_code code = code_of(&samples[i]);
        int32_t offset = 0;

        for (size_t j = 0; j < samples[i].run_count; j++) {
            const struct run *run = &samples[i].runs[j];

            for (uint32_t k = 0; k < run->count; k++, offset += 2) {
                uint32_t line, column, end_column;

                test_case("%s, offset %d", samples[i].name, offset);
                frames_line_of_code(&code, offset, &line, &column, &end_column);
                CHECK_EQUAL(line, run->line);
                CHECK_EQUAL(column, run->column);
                CHECK_EQUAL(end_column, run->end_column);
            }
        }
    }
}

TEST(a_frame_that_has_not_begun_is_on_the_first_line)
{
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        struct capture_code code = code_of(&samples[i]);

        test_case("%s", samples[i].name);
        CHECK_EQUAL(python_lines_find(&code, -1).line, 2);
        CHECK_EQUAL(python_lines_find(&code, -2).line, 2);
    }
}

TEST(an_instruction_beyond_the_table_has_no_line_where_the_table_has_an_end)
{
    for (size_t i = 1; i < sizeof(samples) / sizeof(samples[0]); i++) {
        struct capture_code code = code_of(&samples[i]);

        test_case("%s", samples[i].name);
        CHECK_EQUAL(python_lines_find(&code, 1 << 20).line, 0);
    }
}

TEST(a_long_entry_tells_its_last_line)
{
    /* Kind 14: 1 line further, 2 more, columns 5 to 9. */
    static const uint8_t table[] = {0x80 | 14 << 3, 2, 2, 5, 9};
    struct capture_code code = {.line_table = table,
                                .line_table_bytes = sizeof(table),
                                .first_line = 7,
                                .line_table_kind = LINE_TABLE_LOCATION};
    struct python_position position = python_lines_find(&code, 0);

    CHECK_EQUAL(position.line, 8);
    CHECK_EQUAL(position.end_line, 10);
    CHECK_EQUAL(position.column, 5);
    CHECK_EQUAL(position.end_column, 9);
}

TEST(a_line_beyond_all_numbers_is_none)
{
    /* Kind 13, the greatest increment there is, backwards and forwards, again and again. */
    uint8_t table[7 * 64];
    struct capture_code code = {.line_table = table, .line_table_kind = LINE_TABLE_LOCATION};

    for (unsigned sign = 0; sign < 2; sign++) {
        for (size_t i = 0; i < sizeof(table); i += 7)
            memcpy(table + i,
                   (uint8_t[]){0x80 | 13 << 3, (uint8_t)(126 | sign), 127, 127, 127, 127, 3}, 7);
        code.line_table_bytes = sizeof(table);
        code.first_line = sign ? INT32_MIN : INT32_MAX;
        CHECK_EQUAL(python_lines_find(&code, 126).line, 0);
    }
}

/* The copy ends at the end of its memory, so that sanitizers see every byte read beyond it. */
static void read_all_offsets(const struct sample *sample, const uint8_t *table, uint32_t bytes)
{
    uint8_t *copy = malloc(bytes > 0 ? bytes : 1);
    struct capture_code code = code_of(sample);

    memcpy(copy, table, bytes);
    code.line_table = copy;
    code.line_table_bytes = bytes;
    for (int32_t offset = -2; offset < 400; offset += 2) {
        struct python_position position = python_lines_find(&code, offset);

        CHECK(position.line <= INT32_MAX && position.column <= INT32_MAX);
        CHECK(position.line > 0 || position.column == 0);
        CHECK(position.end_line >= position.line);
    }
    free(copy);
}

TEST(tables_cut_anywhere_are_read_to_their_end)
{
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        for (uint32_t bytes = 0; bytes <= samples[i].table_bytes; bytes++) {
            test_case("%s cut at %u", samples[i].name, bytes);
            read_all_offsets(&samples[i], samples[i].table, bytes);
        }
    }
}

TEST(tables_with_any_byte_changed_are_read)
{
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        for (uint32_t at = 0; at < samples[i].table_bytes; at++) {
            uint8_t table[512];

            test_case("%s, byte %u", samples[i].name, at);
            memcpy(table, samples[i].table, samples[i].table_bytes);
            for (unsigned bit = 0; bit < 8; bit++) {
                table[at] = (uint8_t)(samples[i].table[at] ^ 1u << bit);
                read_all_offsets(&samples[i], table, samples[i].table_bytes);
            }
        }
    }
}

TEST(an_unknown_kind_of_table_has_no_lines)
{
    struct capture_code code = code_of(&samples[0]);

    code.line_table_kind = 77;
    CHECK_EQUAL(python_lines_find(&code, 0).line, 0);
}
