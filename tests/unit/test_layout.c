/* Offsets of the interpreter's structures: the table, and the interpreter's own description. */
#include "test.h"

#include "python/layout_debug_offsets.h"
#include "python/layout_table.h"
#include "python/runtime.h"

#include <memtrack/protocol.h>

enum {
    DESCRIPTION_WORDS = 128,
};

/* A description of 3.14, free-threaded or not, as its debug offsets say. Positions in bytes. */
static void describe_3_14(uint64_t words[DESCRIPTION_WORDS], bool is_free_threaded)
{
    const uint16_t values[][3] = {
        {32, 784, 784},  {208, 72, 72}, {256, 8, 8},     {264, 0, 0},     {272, 56, 56},
        {288, 74, 78},   {304, 0, 72},  {320, 112, 128}, {328, 120, 136}, {336, 128, 144},
        {344, 136, 152}, {352, 68, 84}, {384, 208, 232}, {392, 0, 224},   {408, 8, 24},
        {600, 16, 32},   {608, 32, 48}, {624, 32, 48},   {632, 16, 32},   {640, 40, 56},
    };

    memset(words, 0, DESCRIPTION_WORDS * sizeof(*words));
    memcpy(words, "xdebugpy", 8);
    words[1] = 0x030e08f0;
    words[2] = is_free_threaded;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        words[values[i][0] / 8] = values[i][is_free_threaded ? 2 : 1];
}

TEST(every_version_has_a_layout_and_a_walker_of_its_own)
{
    for (unsigned minor = LAYOUT_MINOR_FIRST; minor <= LAYOUT_MINOR_LAST; minor++) {
        struct python_layout layout;

        test_case("3.%u", minor);
        CHECK(layout_table_find(minor, false, false, &layout));
        CHECK(layout_table_family(&layout.frame) != FRAMES_COUNT);
        CHECK_EQUAL(layout.minor, minor);
        CHECK_EQUAL(layout.code.qualified_name != 0, minor >= 11);
        CHECK_EQUAL(layout.runtime.current_state != 0, minor <= 11);
    }
}

TEST(versions_outside_the_table_have_none)
{
    struct python_layout layout;

    CHECK(!layout_table_find(LAYOUT_MINOR_FIRST - 1, false, false, &layout));
    CHECK(!layout_table_find(LAYOUT_MINOR_LAST + 1, false, false, &layout));
    CHECK(!layout_table_find(12, true, false, &layout));
}

TEST(line_tables_are_of_the_kind_of_their_version)
{
    struct python_layout layout;

    CHECK(layout_table_find(9, false, false, &layout));
    CHECK_EQUAL(layout.line_table, LINE_TABLE_LNOTAB);
    CHECK(layout_table_find(10, false, false, &layout));
    CHECK_EQUAL(layout.line_table, LINE_TABLE_PAIRS);
    CHECK(layout_table_find(11, false, false, &layout));
    CHECK_EQUAL(layout.line_table, LINE_TABLE_LOCATION);
}

TEST(trace_refs_move_objects_and_the_frames_that_are_objects)
{
    struct python_layout plain, traced;

    CHECK(layout_table_find(10, false, false, &plain));
    CHECK(layout_table_find(10, false, true, &traced));
    CHECK_EQUAL(traced.object.type, 24);
    CHECK_EQUAL(traced.frame.instruction, plain.frame.instruction + 16);
    CHECK_EQUAL(traced.frame.state_frame, plain.frame.state_frame);
    CHECK_EQUAL(traced.code.qualified_name, 0);
    CHECK_EQUAL(layout_table_family(&traced.frame), FRAMES_COUNT);

    CHECK(layout_table_find(12, false, false, &plain));
    CHECK(layout_table_find(12, false, true, &traced));
    CHECK_EQUAL(traced.code.bytecode, 208);
    CHECK_EQUAL(traced.object.text_compact_data, 72);
    CHECK(memcmp(&plain.frame, &traced.frame, sizeof(plain.frame)) == 0);

    CHECK(layout_table_find(13, false, false, &plain));
    CHECK(layout_table_find(13, false, true, &traced));
    CHECK_EQUAL(traced.object.type, plain.object.type);
}

TEST(free_threaded_builds_have_wider_headers_and_copies_of_the_bytecode)
{
    struct python_layout layout;

    CHECK(layout_table_find(13, true, false, &layout));
    CHECK_EQUAL(layout.code.bytecode, 216);
    CHECK_EQUAL(layout.code.first_traceable, 200);
    CHECK_EQUAL(layout.code.copies, 0);
    CHECK_EQUAL(layout.object.type_dealloc, 64);
    CHECK_EQUAL(layout.object.text_compact_bit, 0x20);
    CHECK(layout_table_find(15, true, false, &layout));
    CHECK_EQUAL(layout.code.bytecode, 232);
    CHECK_EQUAL(layout.code.copies, 224);
    CHECK_EQUAL(layout.frame.owner, 78);
    CHECK_EQUAL(layout.frame.watermark, 88);
    CHECK_EQUAL(layout.object.text_compact_bit, 0x800);
}

TEST(a_description_like_the_headers_changes_nothing)
{
    for (int is_free_threaded = 0; is_free_threaded <= 1; is_free_threaded++) {
        uint64_t words[DESCRIPTION_WORDS];
        struct python_layout table, described;

        describe_3_14(words, is_free_threaded);
        CHECK(layout_table_find(14, is_free_threaded, false, &table));
        CHECK_EQUAL(runtime_choose_layout(0x030e08f0, false, words, &described), REFUSAL_NONE);
        CHECK(memcmp(&table.frame, &described.frame, sizeof(table.frame)) == 0);
        CHECK(memcmp(&table.code, &described.code, sizeof(table.code)) == 0);
        CHECK(memcmp(&table.object, &described.object, sizeof(table.object)) == 0);
        CHECK(memcmp(&table.runtime, &described.runtime, sizeof(table.runtime)) == 0);
        CHECK_EQUAL(described.is_free_threaded, (unsigned)is_free_threaded);
    }
}

TEST(a_description_overrules_the_table)
{
    uint64_t words[DESCRIPTION_WORDS];
    struct python_layout layout;

    describe_3_14(words, false);
    words[208 / 8] = 80; /* tstate.current_frame */
    CHECK_EQUAL(runtime_choose_layout(0x030e08f0, false, words, &layout), REFUSAL_NONE);
    CHECK_EQUAL(layout.frame.state_frame, 80);
    CHECK_EQUAL(layout_table_family(&layout.frame), FRAMES_COUNT);
}

TEST(a_description_that_cannot_be_right_is_refused)
{
    uint64_t words[DESCRIPTION_WORDS];
    struct python_layout layout;

    describe_3_14(words, false);
    words[256 / 8] = 0; /* frame.previous */
    CHECK_EQUAL(runtime_choose_layout(0x030e08f0, false, words, &layout), REFUSAL_DESCRIPTION);
    describe_3_14(words, false);
    words[384 / 8] = UINT64_C(1) << 40; /* code.co_code_adaptive */
    CHECK_EQUAL(runtime_choose_layout(0x030e08f0, false, words, &layout), REFUSAL_DESCRIPTION);
    describe_3_14(words, false);
    words[0]++; /* cookie */
    CHECK_EQUAL(runtime_choose_layout(0x030e08f0, false, words, &layout), REFUSAL_DESCRIPTION);
    describe_3_14(words, false);
    words[1] += 0x100; /* of another version than the library says */
    CHECK_EQUAL(runtime_choose_layout(0x030e08f0, false, words, &layout), REFUSAL_DESCRIPTION);
}

TEST(unknown_versions_and_early_releases_are_refused)
{
    const struct {
        uint32_t version;
        enum python_refusal refusal;
    } cases[] = {
        {0x030711f0, REFUSAL_VERSION}, /* 3.7 */
        {0x031000f0, REFUSAL_VERSION}, /* 3.16 */
        {0x020712f0, REFUSAL_VERSION}, {0x040800f0, REFUSAL_VERSION},
        {0x030c00a3, REFUSAL_VERSION}, /* alpha */
        {0x030c00b4, REFUSAL_VERSION}, /* beta */
        {0x030c00c1, REFUSAL_NONE},    /* release candidate */
        {0x030801f0, REFUSAL_NONE},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct python_layout layout;

        test_case("%08x", cases[i].version);
        CHECK_EQUAL(runtime_choose_layout(cases[i].version, false, NULL, &layout),
                    cases[i].refusal);
    }
}
