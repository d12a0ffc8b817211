/*
 * Native and Python stacks are one: groups stand inside of their loops, whatever is missing.
 *
 * The modules are nowhere, so native frames are called after where they lie: module+offset.
 */
#include "test.h"

#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "report/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(text_)              \
    {                            \
        text_, sizeof(text_) - 1 \
    }

enum {
    APP = 1,
    LIBC = 2,
    PYTHON = 3,
    EXT = 4,
    HOST = 5, /* a program with the interpreter in it */
    LOADER = 6,
};

static struct capture_module modules[] = {
    {.path = ""},
    {.path = "/nowhere/app", .kind = MODULE_FILE},
    {.path = "/nowhere/libc.so.6", .kind = MODULE_FILE},
    {.path = "/nowhere/libpython3.13.so.1.0", .kind = MODULE_FILE},
    {.path = "/nowhere/ext.so", .kind = MODULE_FILE},
    {.path = "/nowhere/host", .kind = MODULE_FILE},
    {.path = "/nowhere/ld-linux-x86-64.so.2", .kind = MODULE_FILE},
};

static struct capture_code codes[] = {
    {.file = TEXT(""), .name = TEXT("")},
    {.file = TEXT("a.py"), .name = TEXT("run")},
    {.file = TEXT("a.py"), .name = TEXT("call")},
    {.file = TEXT("a.py"), .name = TEXT("back")},
    {.file = TEXT("<shim>"), .name = TEXT("shim"), .flags = CODE_HIDDEN},
    {.file = TEXT("<frozen importlib._bootstrap>"), .name = TEXT("_load")},
};

static struct capture_node nodes[] = {
    {.parent = 0},
    {.parent = 0, .code = 1, .is_entry = true},            /* 1: run */
    {.parent = 1, .code = 2},                              /* 2: run call */
    {.parent = 2, .code = 3, .is_entry = true},            /* 3: run call | back */
    {.parent = 3, .code = 1, .is_entry = true},            /* 4: run call | back | run */
    {.parent = 0, .code = 0, .offset = SPECIAL_TRUNCATED}, /* 5: cut */
    {.parent = 5, .code = 3},                              /* 6: cut back */
    {.parent = 0, .code = 4, .is_entry = true},            /* 7: a shim alone */
    {.parent = 0, .code = 5, .is_entry = true},            /* 8: import */
    {.parent = 8, .code = 1},                              /* 9: import run */
};

static struct capture_native_node natives[] = {
    {.parent = 0},
    {.parent = 0, .module = APP, .offset = 0x10},                     /* 1: _start, stripped */
    {.parent = 1, .module = LIBC, .offset = 0x20},                    /* 2 */
    {.parent = 2, .module = APP, .offset = 0x30},                     /* 3: main */
    {.parent = 3, .module = PYTHON, .offset = 0x40},                  /* 4 */
    {.parent = 4, .module = PYTHON, .offset = 0x50, .is_eval = true}, /* 5 */
    {.parent = 5, .module = PYTHON, .offset = 0x60},                  /* 6: leaf of Python's */
    {.parent = 5, .module = EXT, .offset = 0x70},                     /* 7: extension */
    {.parent = 7, .module = PYTHON, .offset = 0x50, .is_eval = true}, /* 8: it calls back */
    {.parent = 8, .module = LIBC, .offset = 0x80},                    /* 9: libc inside of Python */
    {.parent = 0, .module = 0, .offset = SPECIAL_UNWINDER},           /* 10 */
    {.parent = 10, .module = EXT, .offset = 0x90},                    /* 11 */
    {.parent = 0, .module = LIBC, .offset = 0xa0},                    /* 12: clone */
    {.parent = 12, .module = LIBC, .offset = 0xb0},                   /* 13: start_thread */
    {.parent = 13, .module = APP, .offset = 0xc0},                    /* 14 */
    {.parent = 14, .module = LIBC, .offset = 0xd0},                   /* 15: qsort, called by it */
    {.parent = 0, .module = HOST, .offset = 0xe0, .is_eval = true},   /* 16 */
    {.parent = 16, .module = HOST, .offset = 0xf0},                   /* 17 */
    {.parent = 0, .module = APP, .offset = 0x100},                    /* 18: no _start: it calls */
    {.parent = 18, .module = LIBC, .offset = 0x110},                  /* 19: the C library */
    {.parent = 18, .module = EXT, .offset = 0x120},                   /* 20: and others */
    {.parent = 4, .module = PYTHON, .offset = 0x130},                 /* 21: before any Python */
    {.parent = 10, .module = LOADER, .offset = 0x140},                /* 22: the very beginning */
    {.parent = 22, .module = LIBC, .offset = 0x150},                  /* 23 */
    {.parent = 23, .module = EXT, .offset = 0x160},                   /* 24: a constructor */
    {.parent = 10, .module = LIBC, .offset = 0x170}, /* 25: not described, elsewhere */
};

static struct capture_stack stacks[2];

static const struct capture capture = {
    .modules = modules,
    .module_count = sizeof(modules) / sizeof(modules[0]),
    .codes = codes,
    .code_count = sizeof(codes) / sizeof(codes[0]),
    .nodes = nodes,
    .node_count = sizeof(nodes) / sizeof(nodes[0]),
    .native_nodes = natives,
    .native_node_count = sizeof(natives) / sizeof(natives[0]),
    .stacks = stacks,
    .stack_count = 2,
};

/* "run/call" of a stack, outermost first. */
static const char *joined(uint32_t python_node, uint32_t native_node, unsigned shown)
{
    static char text[1024];
    struct frames *frames = frames_create(&capture);
    struct paths *paths = paths_create(&capture, frames, shown);
    const struct path *all;
    uint32_t path, count;

    stacks[1] = (struct capture_stack){.python_node = python_node, .native_node = native_node};
    path = paths_of_stack(paths, 1);
    all = paths_all(paths, &count);
    text[0] = '\0';
    for (; path != 0; path = all[path].parent) {
        char inner[1024];

        memcpy(inner, text, sizeof(inner));
        snprintf(text, sizeof(text), "/%.60s%.900s", frames_get(frames, all[path].frame)->function,
                 inner);
    }
    paths_destroy(paths);
    frames_destroy(frames);
    return text;
}

TEST(a_group_stands_inside_of_its_loop)
{
    CHECK_TEXT(
        joined(2, 6, PATHS_SHOW_RUNTIME),
        "/app+0x10/libc.so.6+0x20/app+0x30/libpython3.13.so.1.0+0x40/libpython3.13.so.1.0+0x50"
        "/run/call/libpython3.13.so.1.0+0x60");
    CHECK_TEXT(
        joined(3, 9, PATHS_SHOW_RUNTIME),
        "/app+0x10/libc.so.6+0x20/app+0x30/libpython3.13.so.1.0+0x40/libpython3.13.so.1.0+0x50"
        "/run/call/ext.so+0x70/libpython3.13.so.1.0+0x50/back/libc.so.6+0x80");
}

TEST(by_default_the_runtime_is_folded_and_extensions_are_shown)
{
    CHECK_TEXT(joined(2, 6, 0), "/app+0x30/run/call");
    CHECK_TEXT(joined(2, 7, 0), "/app+0x30/run/call/ext.so+0x70");
    CHECK_TEXT(joined(3, 9, 0), "/app+0x30/run/call/ext.so+0x70/back/libc.so.6+0x80");
}

TEST(of_the_runtime_pythons_frames_may_be_shown_alone)
{
    CHECK_TEXT(joined(2, 6, PATHS_SHOW_RUNTIME | PATHS_FOLD_NATIVE), "/app+0x30/run/call");
    CHECK_TEXT(joined(9, 6, PATHS_SHOW_RUNTIME | PATHS_FOLD_NATIVE), "/app+0x30/_load/run");
    CHECK_TEXT(joined(9, 6, 0), "/app+0x30/run");
    CHECK_TEXT(joined(0, 13, PATHS_SHOW_RUNTIME | PATHS_FOLD_NATIVE), "/[C runtime]");
}

TEST(what_is_left_over_stands_outside)
{
    CHECK_TEXT(joined(4, 7, 0), "/run/call/back/app+0x30/run/ext.so+0x70");
    CHECK_TEXT(joined(4, 9, 0), "/run/call/app+0x30/back/ext.so+0x70/run/libc.so.6+0x80");
    CHECK_TEXT(joined(3, 11, 0), "/run/call/back/[unwinder gave up]/ext.so+0x90");
    CHECK_TEXT(joined(1, 9, 0), "/app+0x30/ext.so+0x70/run/libc.so.6+0x80");
    CHECK_TEXT(joined(0, 9, 0), "/app+0x30/ext.so+0x70/libc.so.6+0x80");
}

TEST(a_group_that_is_cut_off_ends_where_its_frames_do)
{
    CHECK_TEXT(joined(6, 9, 0), "/app+0x30/ext.so+0x70/[truncated]/back/libc.so.6+0x80");
}

TEST(what_the_c_library_does_before_the_program_is_folded_and_what_it_calls_is_not)
{
    CHECK_TEXT(joined(0, 14, 0), "/app+0xc0");
    CHECK_TEXT(joined(0, 15, 0), "/app+0xc0/libc.so.6+0xd0");
    CHECK_TEXT(joined(0, 15, PATHS_SHOW_RUNTIME),
               "/libc.so.6+0xa0/libc.so.6+0xb0/app+0xc0/libc.so.6+0xd0");
    CHECK_TEXT(joined(0, 24, 0), "/ext.so+0x160");
    CHECK_TEXT(joined(0, 24, PATHS_SHOW_RUNTIME),
               "/ld-linux-x86-64.so.2+0x140/libc.so.6+0x150/ext.so+0x160");
    CHECK_TEXT(joined(0, 25, 0), "/[unwinder gave up]/libc.so.6+0x170");
    CHECK_TEXT(joined(0, 19, 0), "/app+0x100/libc.so.6+0x110");
    CHECK_TEXT(joined(0, 20, 0), "/app+0x100/ext.so+0x120");
}

TEST(a_program_with_the_interpreter_in_it_keeps_its_own_frames)
{
    CHECK_TEXT(joined(2, 17, 0), "/run/call/host+0xf0");
}

TEST(a_stack_whose_frames_are_all_hidden_is_not_lost)
{
    CHECK_TEXT(joined(0, 13, 0), "/[C runtime]");
    CHECK_TEXT(joined(0, 16, 0), "/[interpreter]");
    CHECK_TEXT(joined(7, 0, 0), "/[interpreter]");
    CHECK_TEXT(joined(0, 21, 0), "/app+0x30");
    CHECK_TEXT(joined(0, 0, 0), "/[no Python stack]");
}

TEST(without_native_frames_stacks_are_pythons)
{
    CHECK_TEXT(joined(3, 9, PATHS_HIDE_NATIVE), "/run/call/back");
    CHECK_TEXT(joined(0, 9, PATHS_HIDE_NATIVE | PATHS_SHOW_RUNTIME), "/[no Python stack]");
}

/* Both chains are very deep, and each stack goes on a little from the one before it. */
TEST(deep_stacks_are_joined_in_time_in_proportion_to_their_nodes)
{
    enum {
        DEPTH = 200000,
    };
    struct capture deep = capture;
    struct frames *frames;
    struct paths *paths;
    uint32_t count = 0;

    deep.nodes = calloc(DEPTH + 1, sizeof(*deep.nodes));
    deep.native_nodes = calloc(DEPTH + 1, sizeof(*deep.native_nodes));
    deep.stacks = calloc(DEPTH + 1, sizeof(*deep.stacks));
    deep.node_count = deep.native_node_count = deep.stack_count = DEPTH + 1;
    for (uint32_t i = 1; i <= DEPTH; i++) {
        deep.nodes[i] =
            (struct capture_node){.parent = i - 1, .code = 1 + i % 3, .is_entry = i % 2 == 0};
        deep.native_nodes[i] = (struct capture_native_node){.parent = i - 1,
                                                            .module = i % 2 == 0 ? PYTHON : EXT,
                                                            .offset = 8,
                                                            .is_eval = i % 2 == 0};
        deep.stacks[i] = (struct capture_stack){.python_node = i, .native_node = i};
    }
    frames = frames_create(&deep);
    paths = paths_create(&deep, frames, 0);
    for (uint32_t i = DEPTH; i > DEPTH - 1000; i--)
        CHECK(paths_of_stack(paths, i) != 0);
    paths_all(paths, &count);
    CHECK(count < 3 * DEPTH);
    paths_destroy(paths);
    frames_destroy(frames);
    free(deep.nodes);
    free(deep.native_nodes);
    free(deep.stacks);
}
