/*
 * Native nodes to places. Runs in the tools; not thread-safe.
 *
 * What holds: a node's places are made once and never move.
 */
#include "symbol/native.h"

#include "base/memory.h"
#include "memtrack/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a node came to; count 0: not yet. */
struct resolved {
    const struct native_place *places; /* the pool's */
    uint32_t count;
};

struct native_symbols {
    const struct capture *capture;
    struct memory_pool pool;
    struct resolved *nodes; /* by id */
    size_t node_capacity;
};

struct native_symbols *native_symbols_create(const struct capture *capture)
{
    struct native_symbols *symbols = memory_allocate(1, sizeof(*symbols));

    symbols->capture = capture;
    return symbols;
}

void native_symbols_destroy(struct native_symbols *symbols)
{
    if (symbols == NULL)
        return;
    memory_pool_finish(&symbols->pool);
    free(symbols->nodes);
    free(symbols);
}

const char *native_symbols_module(struct native_symbols *symbols, uint32_t module)
{
    const struct capture_module *it = &symbols->capture->modules[module];
    const char *slash = strrchr(it->path, '/');

    if (module == 0)
        return "[unknown]";
    if (it->kind == MODULE_VDSO)
        return "[vdso]";
    if (it->kind == MODULE_JIT)
        return "[generated code]";
    if (slash != NULL && slash[1] != '\0')
        return slash + 1;
    return it->path[0] != '\0' ? it->path : "[unknown]";
}

/* What is known of any address: libfoo.so+0x1234. */
static void resolve_by_offset(struct native_symbols *symbols, uint32_t native_node)
{
    const struct capture_native_node *node = &symbols->capture->native_nodes[native_node];
    struct native_place *place = memory_pool_allocate(&symbols->pool, sizeof(*place));
    const char *module = native_symbols_module(symbols, node->module);
    char *text;

    *place = (struct native_place){.function = module, .file = ""};
    if (node->module != 0) {
        if (asprintf(&text, "%s+0x%" PRIx64, module, node->offset) < 0)
            memory_stop();
        place->function = memory_pool_copy(&symbols->pool, text, strlen(text));
        free(text);
    }
    symbols->nodes[native_node] = (struct resolved){place, 1};
}

void native_symbols_resolve(struct native_symbols *symbols, const uint32_t *native_nodes,
                            size_t count)
{
    symbols->nodes =
        memory_grow_zeroed(symbols->nodes, &symbols->node_capacity,
                           symbols->capture->native_node_count, sizeof(*symbols->nodes));
    for (size_t i = 0; i < count; i++)
        if (symbols->nodes[native_nodes[i]].count == 0)
            resolve_by_offset(symbols, native_nodes[i]);
}

uint32_t native_symbols_of_node(struct native_symbols *symbols, uint32_t native_node,
                                const struct native_place **ret_places)
{
    if (native_node >= symbols->node_capacity || symbols->nodes[native_node].count == 0)
        native_symbols_resolve(symbols, &native_node, 1);
    *ret_places = symbols->nodes[native_node].places;
    return symbols->nodes[native_node].count;
}
