/*
 * Native frames: what is known without any file is said, and nothing else.
 */
#include "test.h"

#include "base/memory.h"
#include "memtrack/format.h"
#include "symbol/elf_image.h"
#include "symbol/native.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>

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

enum {
    VDSO_STEP = 16,
    VDSO_COUNT = 1024,
};

/* Names of our own vDSO as if it were mapped with a build-id. Returns how many addresses have one. */
static uint32_t count_vdso_names(struct elf_part build_id, bool *ret_has_clock)
{
    struct capture_module of[2] = {{.path = ""}, {.path = "", .kind = MODULE_VDSO}};
    struct capture_native_node at[VDSO_COUNT] = {{0}};
    struct capture vdso = {.modules = of, .module_count = 2, .native_nodes = at};
    struct native_symbols *symbols = native_symbols_create(&vdso);
    uint32_t count = 0;

    vdso.native_node_count = VDSO_COUNT;
    of[1].build_id = build_id.bytes;
    of[1].build_id_bytes = (uint32_t)build_id.size_bytes;
    for (uint32_t i = 1; i < VDSO_COUNT; i++)
        at[i] = (struct capture_native_node){
            .module = 1, .offset = (uint64_t)i * VDSO_STEP, .is_exact = true};
    *ret_has_clock = false;
    for (uint32_t i = 1; i < VDSO_COUNT; i++) {
        const struct native_place *places;

        native_symbols_of_node(symbols, i, &places);
        count += strncmp(places[0].function, "[vdso]+0x", 9) != 0;
        *ret_has_clock |= strstr(places[0].function, "clock_gettime") != NULL;
    }
    native_symbols_destroy(symbols);
    return count;
}

TEST(the_kernels_code_has_names_when_it_is_ours)
{
    const uint8_t *bytes = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
    uint8_t other[20] = {1, 2, 3};
    struct elf_image image;
    struct elf_part own;
    bool has_clock;

    if (bytes == NULL || !elf_image_of_memory(bytes, 4096, &image))
        return; /* a kernel without one */
    own = elf_image_build_id(&image);
    if (own.bytes == NULL)
        return;
    CHECK(count_vdso_names(own, &has_clock) > 0);
    CHECK(has_clock);
    CHECK_EQUAL(count_vdso_names((struct elf_part){other, sizeof(other)}, &has_clock), 0);
    CHECK_EQUAL(count_vdso_names((struct elf_part){NULL, 0}, &has_clock), 0);
}

/* What a map file says about address 0x150 and 0x250 of a process that lived from 1 s to 2 s. */
static void check_map(const char *text, uint64_t changed_ns, const char *at_150, const char *at_250)
{
    static const char path[] = "perf.map";
    struct capture_process of = {.started_ns = 1000000000, .ended_ns = 2000000000};
    struct capture_module jit[2] = {{.path = ""}, {.path = path, .kind = MODULE_JIT}};
    struct capture_native_node at[] = {
        {0}, {.module = 1, .offset = 0x150}, {.module = 1, .offset = 0x250, .is_exact = true}};
    struct capture made = {.modules = jit,
                           .module_count = 2,
                           .native_nodes = at,
                           .native_node_count = 3,
                           .processes = &of,
                           .process_count = 1};
    struct timespec times[2] = {{.tv_sec = (time_t)(changed_ns / 1000000000)},
                                {.tv_sec = (time_t)(changed_ns / 1000000000)}};
    struct native_symbols *symbols = native_symbols_create(&made);
    const struct native_place *places;
    FILE *file = fopen(path, "w");

    CHECK(file != NULL);
    fputs(text, file);
    fclose(file);
    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
    CHECK_EQUAL(native_symbols_of_node(symbols, 1, &places), 1);
    CHECK_TEXT(places[0].function, at_150);
    CHECK_EQUAL(native_symbols_of_node(symbols, 2, &places), 1);
    CHECK_TEXT(places[0].function, at_250);
    native_symbols_destroy(symbols);
    unlink(path);
}

TEST(generated_code_has_the_names_of_its_map_file)
{
    static const char no_150[] = "[generated code]+0x150", no_250[] = "[generated code]+0x250";
    char folder[] = "/tmp/memtrack-test-XXXXXX";
    const uint64_t then_ns = 1500000000;

    CHECK(mkdtemp(folder) != NULL && chdir(folder) == 0);
    check_map("100 100 py::f:/a b.py\n200 10 g\n", then_ns, "py::f:/a b.py", no_250);
    check_map("0x100 0x80 f\n250 1 g\n", then_ns, "f", "g");
    check_map("100 100 old\n140 20 new\n200 100 _Z3foov\n", then_ns, "new", "_Z3foov");
    check_map("140 20 old\n100 200 new\n", then_ns, "new", "new");
    check_map("100 50 f\n200 50 g\n", then_ns, "f", no_250); /* behind a call, and the very one */
    check_map("100 100 f\n200 100 cut off", then_ns, "f", no_250);
    check_map("100 100\nxyz\n\n 100 100 f\n100 g f\n100 ffffffffffffffff f\n", then_ns, no_150,
              no_250);
    test_case("an earlier process of the same number");
    check_map("100 100 f\n", 0, "f", no_250); /* less than a second before: clocks differ */
    check_map("100 100 f\n", 4000000000, no_150, no_250);
    CHECK(chdir("/") == 0 && rmdir(folder) == 0);
}
