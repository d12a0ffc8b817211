/*
 * Counting names. Runs in the tools.
 */
#include "symbol/naming.h"

#include "base/hash_index.h"
#include "base/memory.h"
#include "memtrack/format.h"
#include "symbol/native.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NS_PER_S UINT64_C(1000000000)

struct address {
    uint32_t module;
    uint64_t offset;
};

struct counting {
    const struct capture *capture;
    struct native_symbols *symbols;
    struct address *addresses; /* met so far */
    size_t count, capacity;
    struct hash_index index;
    struct naming_module *modules; /* by number */
};

static bool address_equals(const void *items, uint32_t item, const void *key)
{
    const struct address *a = &((const struct address *)items)[item], *b = key;

    return a->module == b->module && a->offset == b->offset;
}

/* Whether an address is a new one. */
static bool is_new(struct counting *counting, const struct capture_native_node *node)
{
    struct address address = {node->module, node->offset};
    uint64_t hash = hash_index_mix(address.offset, address.module);

    if (hash_index_find(&counting->index, hash, address_equals, counting->addresses, &address) !=
        HASH_INDEX_NONE)
        return false;
    counting->addresses = memory_grow(counting->addresses, &counting->capacity, counting->count + 1,
                                      sizeof(counting->addresses[0]));
    counting->addresses[counting->count] = address;
    hash_index_add(&counting->index, hash, (uint32_t)counting->count++);
    return true;
}

/* A name that only says where the frame lies: libfoo.so+0x1234. */
static bool is_named(struct counting *counting, uint32_t native_node)
{
    uint32_t module = counting->capture->native_nodes[native_node].module;
    const char *name = native_symbols_module(counting->symbols, module);
    const struct native_place *places;

    native_symbols_of_node(counting->symbols, native_node, &places);
    return strncmp(places[0].function, name, strlen(name)) != 0 ||
           strncmp(places[0].function + strlen(name), "+0x", 3) != 0;
}

static enum naming_reason reason_of(const struct counting *counting, uint32_t number)
{
    const struct capture_module *module = &counting->capture->modules[number];
    enum native_source source = native_symbols_source(counting->symbols, number);
    struct stat status;
    uint64_t changed_ns;

    if (module->kind != MODULE_FILE)
        return NAMING_GENERATED;
    if (source == NATIVE_FAILED)
        return NAMING_DAMAGED;
    if (source != NATIVE_NOTHING)
        return NAMING_STRIPPED;
    if (stat(module->path, &status) != 0)
        return NAMING_MISSING;
    changed_ns = (uint64_t)status.st_mtim.tv_sec * NS_PER_S + (uint64_t)status.st_mtim.tv_nsec;
    return (module->file_bytes == 0 || module->file_bytes == (uint64_t)status.st_size) &&
                   (module->changed_ns == 0 || module->changed_ns == changed_ns)
               ? NAMING_STRIPPED
               : NAMING_CHANGED;
}

static void count_addresses(struct counting *counting)
{
    const struct capture *capture = counting->capture;

    for (uint32_t i = 1; i < capture->native_node_count; i++) {
        const struct capture_native_node *node = &capture->native_nodes[i];
        struct naming_module *module = &counting->modules[node->module];

        if (node->module == 0 || !is_new(counting, node))
            continue;
        module->addresses++;
        module->unnamed += !is_named(counting, i);
    }
}

static int compare_modules(const void *first, const void *second)
{
    const struct naming_module *a = first, *b = second;

    if (a->unnamed != b->unnamed)
        return a->unnamed > b->unnamed ? -1 : 1;
    return strcmp(a->path, b->path);
}

struct naming naming_collect(const struct capture *capture, struct frames *frames)
{
    struct counting counting = {.capture = capture, .symbols = frames_symbols(frames)};
    struct naming naming = {.count = 0};
    uint32_t *nodes = memory_allocate(capture->native_node_count, sizeof(*nodes));

    for (uint32_t i = 0; i < capture->native_node_count; i++)
        nodes[i] = i;
    frames_prepare_native(frames, nodes, capture->native_node_count);
    free(nodes);
    counting.modules =
        memory_allocate((size_t)capture->module_count + 1, sizeof(*counting.modules));
    count_addresses(&counting);
    naming.modules = counting.modules;
    for (uint32_t i = 1; i < capture->module_count; i++) {
        struct naming_module module = counting.modules[i];

        naming.module_count += module.addresses > 0;
        naming.addresses += module.addresses;
        naming.unnamed += module.unnamed;
        if (module.unnamed == 0)
            continue;
        module.name = native_symbols_module(counting.symbols, i);
        module.path = capture->modules[i].path;
        module.reason = (uint8_t)reason_of(&counting, i);
        naming.modules[naming.count++] = module;
    }
    if (naming.count > 0)
        qsort(naming.modules, naming.count, sizeof(naming.modules[0]), compare_modules);
    hash_index_finish(&counting.index);
    free(counting.addresses);
    return naming;
}

void naming_finish(struct naming *naming)
{
    free(naming->modules);
    *naming = (struct naming){.modules = NULL};
}
