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

struct native_symbols;

/* Begin; nothing is read yet. capture: must outlive it, and may grow. Context: tool. */
struct native_symbols *native_symbols_create(const struct capture *capture);

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

#endif
