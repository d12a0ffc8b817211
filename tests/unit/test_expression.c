/* Expressions of call frames, reduced to what a row can say. */
#include "unwind/expression.h"

#include "test.h"

#define ADDRESS 0x1238

struct row {
    const char *bytes;
    size_t count_bytes;
    struct expression_value value;
};

static bool reduce(const char *bytes, size_t count_bytes, struct expression_value *ret_value)
{
    struct cfi_expression expression = {(const uint8_t *)bytes, count_bytes};

    return expression_reduce(&expression, ADDRESS, ret_value);
}

#define ROW(bytes_, ...)            \
    {                               \
        bytes_, sizeof(bytes_) - 1, \
        {                           \
            __VA_ARGS__             \
        }                           \
    }

TEST(what_compilers_and_linkers_write_is_understood)
{
    static const struct row rows[] = {
        /* *(rbp - 8): a function that aligns its stack */
        ROW("\x76\x78\x06", EXPRESSION_FRAME_POINTER, true, -8, 0),
        ROW("\x76\x10", EXPRESSION_FRAME_POINTER, false, 0, 16),
        /* rsp + 8 + ((rip & 15) >= 11) * 8: entries of a PLT; at 0x1238 not yet */
        ROW("\x77\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x22", EXPRESSION_STACK_POINTER, false, 0, 8),
        ROW("\x77\x08\x80\0\x3f\x1a\x38\x2a\x33\x24\x22", EXPRESSION_STACK_POINTER, false, 0, 16),
        /* *(rsp + 88) + 8: OpenSSL */
        ROW("\x77\xd8\0\x06\x23\x08", EXPRESSION_STACK_POINTER, true, 88, 8),
        ROW("\x08\x05\x77\x01\x22", EXPRESSION_STACK_POINTER, false, 0, 6),
        ROW("\x77\x20\x0b\xf8\xff\x22", EXPRESSION_STACK_POINTER, false, 0, 24),
        ROW("\x77\x20\x10\x81\x01\x1c", EXPRESSION_STACK_POINTER, false, 0, 32 - 129),
        ROW("\x77\0\x32\x33\x1e\x22", EXPRESSION_STACK_POINTER, false, 0, 6),
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct expression_value value;

        test_case("row %zu", i);
        CHECK(reduce(rows[i].bytes, rows[i].count_bytes, &value));
        CHECK_EQUAL(value.base, rows[i].value.base);
        CHECK_EQUAL(value.is_loaded, rows[i].value.is_loaded);
        CHECK_EQUAL((uint64_t)value.inner, (uint64_t)rows[i].value.inner);
        CHECK_EQUAL((uint64_t)value.outer, (uint64_t)rows[i].value.outer);
    }
}

TEST(what_a_row_cannot_say_is_refused)
{
    static const struct row rows[] = {
        ROW("", 0),                 /* nothing */
        ROW("\x35", 0),             /* a number alone */
        ROW("\x73\0", 0),           /* rbx */
        ROW("\x77\0\x06\x06", 0),   /* a word at a word */
        ROW("\x77\0\x77\0\x22", 0), /* twice the stack pointer */
        ROW("\x77\0\x32\x1e", 0),   /* the same */
        ROW("\x35\x77\0\x1c", 0),   /* less it */
        ROW("\x22", 0),             /* of nothing */
        ROW("\x06", 0),
        ROW("\x77", 0),         /* cut off */
        ROW("\x77\x80", 0),     /* in a number */
        ROW("\x77\0\x0a\1", 0), /* in a constant */
        ROW("\x77\0\xff", 0),   /* an operation that there is not */
        ROW("\x77\0\x35\x06\x22", 0),
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct expression_value value;

        test_case("row %zu", i);
        CHECK(!reduce(rows[i].bytes, rows[i].count_bytes, &value));
    }
}

TEST(a_stack_that_is_full_is_refused)
{
    char bytes[40];
    struct expression_value value;

    memset(bytes, 0x35, sizeof(bytes)); /* numbers */
    CHECK(!reduce(bytes, sizeof(bytes), &value));
}

TEST(damaged_expressions_end)
{
    uint64_t random = 7;
    struct expression_value value;
    unsigned understood = 0;

    for (unsigned i = 0; i < 200000; i++) {
        char *bytes = malloc(1 + i % 20); /* its end is watched by sanitizers */

        for (unsigned k = 0; k < i % 20; k++) {
            random = random * UINT64_C(6364136223846793005) + 1;
            bytes[k] = (char)(random >> 57 | (random >> 40 & 0x80));
        }
        bytes[0] = i % 2 == 0 ? 0x77 : bytes[0];
        understood += reduce(bytes, i % 20, &value);
        free(bytes);
    }
    CHECK(understood > 100);
}
