/*
 * Native frames: what is known without any file is said, and nothing else.
 */
#include "test.h"

#include "memtrack/format.h"
#include "symbol/native.h"

static struct capture_module modules[] = {
    {.path = ""},
    {.path = "/nowhere/lib/libfoo.so.1", .kind = MODULE_FILE, .extent_bytes = 0x10000},
    {.path = "", .kind = MODULE_VDSO},
    {.path = "/nowhere/perf-7.map", .kind = MODULE_JIT},
    {.path = "/nowhere/folder/", .kind = MODULE_FILE},
    {.path = "", .kind = MODULE_FILE},
};

static struct capture_native_node nodes[] = {
    {.module = 0},
    {.parent = 0, .module = 1, .offset = 0x1234},
    {.parent = 1, .module = 1, .offset = 0x1235, .is_exact = true},
    {.parent = 1, .module = 3, .offset = 0x7f0000001000},
    {.parent = 1, .module = 1, .offset = 0},
    {.parent = 1, .module = 1, .offset = UINT64_MAX},
};

static const struct capture capture = {
    .modules = modules,
    .module_count = sizeof(modules) / sizeof(modules[0]),
    .native_nodes = nodes,
    .native_node_count = sizeof(nodes) / sizeof(nodes[0]),
};

static void check_node(struct native_symbols *symbols, uint32_t node, const char *function)
{
    const struct native_place *places;

    test_case("node %u", node);
    CHECK_EQUAL(native_symbols_of_node(symbols, node, &places), 1);
    CHECK_TEXT(places[0].function, function);
    CHECK_TEXT(places[0].file, "");
    CHECK_EQUAL(places[0].line, 0);
    CHECK_EQUAL(places[0].column, 0);
    CHECK(!places[0].is_inlined);
}

TEST(a_frame_of_an_unknown_file_is_its_module_and_offset)
{
    struct native_symbols *symbols = native_symbols_create(&capture);

    check_node(symbols, 0, "[unknown]");
    check_node(symbols, 1, "libfoo.so.1+0x1234");
    check_node(symbols, 2, "libfoo.so.1+0x1235");
    check_node(symbols, 3, "[generated code]+0x7f0000001000");
    check_node(symbols, 4, "libfoo.so.1+0x0");
    check_node(symbols, 5, "libfoo.so.1+0xffffffffffffffff");
    native_symbols_destroy(symbols);
}

TEST(modules_have_the_name_that_people_know_them_by)
{
    static const char *const names[] = {"[unknown]",        "libfoo.so.1",      "[vdso]",
                                        "[generated code]", "/nowhere/folder/", "[unknown]"};
    struct native_symbols *symbols = native_symbols_create(&capture);

    for (uint32_t i = 0; i < capture.module_count; i++) {
        test_case("module %u", i);
        CHECK_TEXT(native_symbols_module(symbols, i), names[i]);
    }
    native_symbols_destroy(symbols);
}

TEST(nodes_are_resolved_once_whoever_asks)
{
    static const uint32_t wanted[] = {2, 1, 2, 3};
    struct native_symbols *symbols = native_symbols_create(&capture);
    const struct native_place *first, *again;

    native_symbols_of_node(symbols, 1, &first);
    native_symbols_resolve(symbols, wanted, sizeof(wanted) / sizeof(wanted[0]));
    native_symbols_of_node(symbols, 1, &again);
    CHECK(first == again);
    native_symbols_of_node(symbols, 2, &first);
    native_symbols_resolve(symbols, wanted, sizeof(wanted) / sizeof(wanted[0]));
    native_symbols_of_node(symbols, 2, &again);
    CHECK(first == again);
    native_symbols_destroy(symbols);
    native_symbols_destroy(NULL);
}
