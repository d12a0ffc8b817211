/*
 * Native frames with names: functions, files and lines of a capture's native nodes.
 *
 * An instruction may lie in functions that were inlined into each other, so a node has one place or
 * more. What holds: a name is right or it is not there. A file that is not the one that was mapped is
 * not read, an address that no symbol covers is `libfoo.so+0x1234`.
 */
#ifndef SYMBOL_NATIVE_H
#define SYMBOL_NATIVE_H

#include "capture/capture.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Texts live as long as the symbols that they came from. */
struct native_place {
    const char *function; /* as people write it; never NULL */
    const char *file;     /* "" when unknown */
    uint32_t line;        /* 0: unknown */
    uint32_t column;      /* 1-based; 0: unknown */
    bool is_inlined;      /* into the place that follows */
};

/* Where the names of a module's addresses have come from: the best of what was found. */
enum native_source {
    NATIVE_NOTHING = 0, /* there is no file, or it is another one by now, or it says nothing */
    NATIVE_FAILED = 1,  /* the file is damaged */
    NATIVE_SYMBOLS = 2, /* functions, from symbol tables */
    NATIVE_LINES = 3,   /* lines too, from debugging information */
    NATIVE_STORED = 4,  /* the capture has them */
};

/* What this program was built with, for those who ask why a name is missing. */
struct native_libraries {
    bool has_libdw;     /* lines and inlined functions */
    bool has_liblzma;   /* names in .gnu_debugdata */
    bool has_libiberty; /* names of C++ and Rust as people write them */
};

/* Return it. Context: any thread. */
struct native_libraries native_libraries(void);

struct native_symbols;

/* Begin; nothing is read yet. capture: must outlive it, and may grow. Context: tool. */
struct native_symbols *native_symbols_create(const struct capture *capture);

/*
 * Look for separate debug files below another folder than /usr/lib/debug, before anything is resolved.
 * folder: must outlive it. Context: tool.
 */
void native_symbols_set_folder(struct native_symbols *symbols, const char *folder);

/*
 * For the end of a recording, which somebody waits for: servers are not asked for debug files, and no
 * module takes longer than 20 s of processor time. Before anything is resolved. Context: tool.
 */
void native_symbols_be_quick(struct native_symbols *symbols);

/* Give it back with all places; NULL is allowed. Context: tool. */
void native_symbols_destroy(struct native_symbols *symbols);

/*
 * Resolve many nodes at once, which takes far less time than one by one: each module is read once.
 * native_nodes: ids in the capture's table, any order, some may be equal or resolved already.
 * Context: tool.
 */
void native_symbols_resolve(struct native_symbols *symbols, const uint32_t *native_nodes,
                            size_t count);

/*
 * Return how many places a node has, 1 or more, and where they are: innermost first. It is resolved
 * if it was not yet. A special node (module 0) has one place, [unknown]: who knows better asks for it
 * elsewhere.
 * native_node: of the capture's table. ret_places: live until native_symbols_destroy().
 * Context: tool.
 */
uint32_t native_symbols_of_node(struct native_symbols *symbols, uint32_t native_node,
                                const struct native_place **ret_places);

/*
 * Return what to call a module: the last part of its path, [vdso], [generated code], or [unknown].
 * module: of the capture's table. Lives until native_symbols_destroy(). Context: tool.
 */
const char *native_symbols_module(struct native_symbols *symbols, uint32_t module);

/*
 * Return where the names of a module have come from so far. module: of the capture's table.
 * Context: tool.
 */
enum native_source native_symbols_source(const struct native_symbols *symbols, uint32_t module);

/* Return where the names of a node have come from, once it is resolved. Context: tool. */
enum native_source native_symbols_node_source(const struct native_symbols *symbols,
                                              uint32_t native_node);

/* Return the address that a node is looked up by: behind a call is the next line, or function. */
static inline uint64_t native_symbols_address(const struct capture_native_node *node)
{
    return node->is_exact || node->offset == 0 ? node->offset : node->offset - 1;
}

#endif
