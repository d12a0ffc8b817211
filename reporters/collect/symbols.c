/*
 * What the collector knows of native frames, as readers know it, for those who find their names. Main thread.
 */
#include "collect/symbols.h"

#include "base/memory.h"
#include "symbol/native.h"
#include "symbol/stored.h"

#include <stdlib.h>
#include <string.h>

static struct capture_native_node *copy_nodes(const struct trie_nodes *nodes)
{
    struct capture_native_node *copies = memory_allocate(nodes->count, sizeof(*copies));

    for (size_t i = 1; i < nodes->count; i++) {
        uint64_t frame = nodes->nodes[i].frame;

        copies[i] = (struct capture_native_node){
            .parent = nodes->nodes[i].parent,
            .module = (uint32_t)(frame >> TRIE_MODULE_SHIFT & TRIE_MODULE_MASK),
            .offset = frame & ((UINT64_C(1) << TRIE_OFFSET_BITS) - 1),
            .is_exact = (frame & TRIE_EXACT) != 0,
            .is_eval = (frame & TRIE_EVAL) != 0,
        };
    }
    return copies;
}

/* Number 0 stands for none. */
static struct capture_module *copy_modules(const struct modules *modules)
{
    struct capture_module *copies = memory_allocate(modules->count + 1, sizeof(*copies));

    copies[0].path = "";
    if (modules->count > 0)
        memcpy(copies + 1, modules->modules, modules->count * sizeof(*copies));
    return copies;
}

void symbols_store(const struct sink *sink, uint64_t realtime_ns, uint64_t ended_ns,
                   stored_put *put, void *user)
{
    struct capture capture = {
        .file = "",
        .session.realtime_ns = realtime_ns,
        .ended_ns = ended_ns,
        .modules = copy_modules(&sink->modules),
        .module_count = (uint32_t)sink->modules.count + 1,
        .processes = sink->modules.processes,
        .process_count = (uint32_t)sink->modules.process_count,
        .native_nodes = copy_nodes(&sink->trie.native),
        .native_node_count = (uint32_t)sink->trie.native.count,
    };
    struct native_symbols *symbols = native_symbols_create(&capture);
    struct stored_counts counts;

    native_symbols_be_quick(symbols);
    (void)stored_write(symbols, &capture, put, user, &counts, NULL); /* put knows when it fails */
    native_symbols_destroy(symbols);
    free(capture.native_nodes);
    free(capture.modules);
}
