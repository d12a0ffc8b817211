/*
 * Native nodes to places. Runs in the tools; not thread-safe.
 *
 * What holds: a node's places are made once and never move; nodes of one address have the same ones.
 * Files are read by processes of their own (apart.h), here only what they answer is.
 */
#include "symbol/native.h"

#include "base/memory.h"
#include "capture/answers.h"
#include "memtrack/format.h"
#include "symbol/apart.h"
#include "symbol/demangle.h"
#include "symbol/dwarf_places.h"
#include "symbol/elf_image.h"
#include "symbol/module_answers.h"
#include "symbol/stored.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of processor time, for a module. */
enum {
    SECONDS = 120, /* the largest programs there are take half of it */
    QUICK_SECONDS = 20,
};

/* What a node came to; count 0: not yet. */
struct resolved {
    const struct native_place *places; /* the pool's */
    uint32_t count;
    uint8_t source; /* enum native_source */
};

struct native_symbols {
    const struct capture *capture;
    const char *folder;
    bool is_quick;
    struct memory_pool pool;
    struct resolved *nodes; /* by id */
    size_t node_capacity;
    uint8_t *sources; /* enum native_source, by module */
    size_t source_capacity;
    struct stored stored;
};

/* A node that is to be resolved, and the address that it is looked up by. */
struct wanted {
    uint32_t module, node;
    uint64_t address;
};

/* Nodes of one module that are resolved together. */
struct batch {
    const struct wanted *wanted; /* by address */
    size_t count;
    uint32_t module;
    uint64_t *addresses; /* rising, no two equal */
    size_t address_count;
    bool is_answered;
};

/* What the processes that read files are told. */
struct batches {
    const struct native_symbols *symbols;
    struct batch *items;
    size_t count;
    const size_t *asked; /* batches that are to be answered now */
    bool with_lines;
};

struct native_libraries native_libraries(void)
{
    return (struct native_libraries){
        .has_libdw = dwarf_places_is_built_in(),
        .has_liblzma = elf_image_can_unpack(),
        .has_libiberty = demangler_is_built_in(),
    };
}

struct native_symbols *native_symbols_create(const struct capture *capture)
{
    struct native_symbols *symbols = memory_allocate(1, sizeof(*symbols));

    symbols->capture = capture;
    symbols->folder = "/usr/lib/debug";
    return symbols;
}

void native_symbols_set_folder(struct native_symbols *symbols, const char *folder)
{
    symbols->folder = folder;
}

void native_symbols_be_quick(struct native_symbols *symbols)
{
    symbols->is_quick = true;
}

void native_symbols_destroy(struct native_symbols *symbols)
{
    if (symbols == NULL)
        return;
    memory_pool_finish(&symbols->pool);
    free(symbols->nodes);
    free(symbols->sources);
    stored_finish(&symbols->stored);
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

enum native_source native_symbols_source(const struct native_symbols *symbols, uint32_t module)
{
    return module < symbols->source_capacity ? symbols->sources[module] : NATIVE_NOTHING;
}

/* What is known of any address: libfoo.so+0x1234. */
static const char *name_by_offset(struct native_symbols *symbols, uint32_t native_node)
{
    const struct capture_native_node *node = &symbols->capture->native_nodes[native_node];
    const char *module = native_symbols_module(symbols, node->module), *name;
    char *text;

    if (node->module == 0)
        return module;
    if (asprintf(&text, "%s+0x%" PRIx64, module, node->offset) < 0)
        memory_stop();
    name = memory_pool_copy(&symbols->pool, text, strlen(text));
    free(text);
    return name;
}

static void resolve_by_offset(struct native_symbols *symbols, uint32_t native_node)
{
    struct native_place *place = memory_pool_allocate(&symbols->pool, sizeof(*place));

    *place = (struct native_place){.function = name_by_offset(symbols, native_node), .file = ""};
    symbols->nodes[native_node] = (struct resolved){place, 1, NATIVE_NOTHING};
}

static int compare_wanted(const void *left, const void *right)
{
    const struct wanted *a = left, *b = right;

    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

/* Give the nodes of one address what was read for it; a function that is not known is its offset. */
static void take_places(struct native_symbols *symbols, const struct wanted *wanted, size_t count,
                        struct native_place *places, uint32_t place_count, uint8_t source)
{
    for (size_t i = 0; i < count; i++) {
        struct native_place *own = places;

        if (places[place_count - 1].function[0] == '\0') {
            own = memory_pool_allocate(&symbols->pool, place_count * sizeof(*own));
            memcpy(own, places, place_count * sizeof(*own));
            own[place_count - 1].function = name_by_offset(symbols, wanted[i].node);
        }
        symbols->nodes[wanted[i].node] = (struct resolved){own, place_count, source};
    }
}

static bool read_places(struct native_symbols *symbols, struct answers_reader *reader,
                        uint32_t place_count, struct native_place **ret_places)
{
    struct native_place *places =
        memory_pool_allocate(&symbols->pool, place_count * sizeof(*places));

    for (uint32_t i = 0; i < place_count; i++) {
        struct native_place *place = &places[i];

        if (!answers_read_place(reader, &place->function, &place->file, &place->line,
                                &place->column))
            return false;
        place->is_inlined = i < place_count - 1;
        if (place->is_inlined && place->function[0] == '\0')
            place->function = "[inlined]";
    }
    *ret_places = places;
    return true;
}

/* Take a row of answers. Nodes without any stay as they are. Returns false when the row is wrong. */
static bool take_answers(struct native_symbols *symbols, const struct batch *batch,
                         const struct apart_result *result)
{
    struct answers_reader reader = {
        .bytes = result->bytes, .left_bytes = result->size_bytes, .pool = &symbols->pool};
    bool is_right;
    uint64_t source, place_count;
    size_t next = 0;

    is_right = answers_read_number(&reader, NATIVE_LINES, &source);
    for (size_t i = 0; is_right && i < batch->address_count; i++) {
        struct native_place *places;
        size_t first = next;

        while (next < batch->count && batch->wanted[next].address == batch->addresses[i])
            next++;
        is_right = answers_read_number(&reader, ANSWER_PLACES_MOST, &place_count);
        if (!is_right || place_count == 0)
            continue;
        is_right = read_places(symbols, &reader, (uint32_t)place_count, &places);
        if (is_right)
            take_places(symbols, batch->wanted + first, next - first, places, (uint32_t)place_count,
                        (uint8_t)source);
    }
    free(reader.texts);
    if (is_right && source > symbols->sources[batch->module])
        symbols->sources[batch->module] = (uint8_t)source;
    return is_right;
}

/* In a process of its own. */
static bool find_answers(void *user, size_t index, const uint8_t **ret_bytes,
                         size_t *ret_size_bytes)
{
    const struct batches *batches = user;
    const struct batch *batch = &batches->items[batches->asked[index]];
    struct module_question question = {
        .capture = batches->symbols->capture,
        .module = batch->module,
        .addresses = batch->addresses,
        .count = batch->address_count,
        .folder = batches->symbols->folder,
        .with_lines = batches->with_lines,
        .with_servers = !batches->symbols->is_quick,
    };

    module_answers_find(&question, ret_bytes, ret_size_bytes);
    return true;
}

/* Ask for those that have no answer yet. */
static void ask(struct native_symbols *symbols, struct batches *batches, bool with_lines)
{
    size_t *asked = memory_allocate(batches->count, sizeof(*asked)), count = 0;
    struct apart_result *results = memory_allocate(batches->count, sizeof(*results));

    for (size_t i = 0; i < batches->count; i++)
        if (!batches->items[i].is_answered)
            asked[count++] = i;
    batches->asked = asked;
    batches->with_lines = with_lines;
    apart_run(find_answers, batches, count, symbols->is_quick ? QUICK_SECONDS : SECONDS, results);
    for (size_t i = 0; i < count; i++) {
        struct batch *batch = &batches->items[asked[i]];

        batch->is_answered = results[i].bytes != NULL && take_answers(symbols, batch, &results[i]);
        free(results[i].bytes);
    }
    free(asked);
    free(results);
}

/* Part what is wanted, which is sorted, by module. */
static void make_batches(const struct native_symbols *symbols, const struct wanted *wanted,
                         size_t count, struct batches *ret_batches)
{
    struct batches batches = {.symbols = symbols};
    size_t capacity = 0;

    for (size_t begin = 0, end; begin < count; begin = end) {
        struct batch batch = {.wanted = wanted + begin, .module = wanted[begin].module};

        for (end = begin; end < count && wanted[end].module == batch.module; end++)
            ;
        batch.count = end - begin;
        batch.addresses = memory_allocate(batch.count, sizeof(*batch.addresses));
        for (size_t i = begin; i < end; i++)
            if (i == begin || wanted[i].address != wanted[i - 1].address)
                batch.addresses[batch.address_count++] = wanted[i].address;
        batches.items =
            memory_grow(batches.items, &capacity, batches.count + 1, sizeof(*batches.items));
        batches.items[batches.count++] = batch;
    }
    *ret_batches = batches;
}

/* Read the files of modules; where that is too much for a damaged one, its symbol tables alone. */
static void resolve_by_files(struct native_symbols *symbols, const struct wanted *wanted,
                             size_t count)
{
    struct batches batches;

    make_batches(symbols, wanted, count, &batches);
    ask(symbols, &batches, true);
    ask(symbols, &batches, false);
    for (size_t i = 0; i < batches.count; i++) {
        const struct batch *batch = &batches.items[i];

        if (!batch->is_answered && symbols->sources[batch->module] == NATIVE_NOTHING)
            symbols->sources[batch->module] = NATIVE_FAILED;
        free(batch->addresses);
    }
    free(batches.items);
}

static void make_room(struct native_symbols *symbols)
{
    const struct capture *capture = symbols->capture;

    symbols->nodes = memory_grow_zeroed(symbols->nodes, &symbols->node_capacity,
                                        capture->native_node_count, sizeof(*symbols->nodes));
    symbols->sources = memory_grow_zeroed(symbols->sources, &symbols->source_capacity,
                                          capture->module_count, sizeof(*symbols->sources));
}

/* Return whether a node has been resolved as well as can be. */
static bool is_settled(const struct native_symbols *symbols, uint32_t native_node)
{
    const struct resolved *resolved = &symbols->nodes[native_node];

    return resolved->count > 0 && (resolved->source == NATIVE_LINES ||
                                   resolved->places[resolved->count - 1].file[0] != '\0');
}

/*
 * Resolve a node by what the capture has, unless files have said more. Returns whether that is all that
 * can be: what has no line may have one by now, where debug files have come.
 */
static bool resolve_by_capture(struct native_symbols *symbols, uint32_t native_node)
{
    const struct capture_native_node *node = &symbols->capture->native_nodes[native_node];
    struct resolved resolved = {.source = NATIVE_STORED};

    if (is_settled(symbols, native_node))
        return true;
    resolved.places = stored_find(&symbols->stored, symbols->capture, node->module,
                                  native_symbols_address(node), &resolved.count);
    if (resolved.places == NULL)
        return false;
    symbols->nodes[native_node] = resolved;
    if (symbols->sources[node->module] < NATIVE_STORED)
        symbols->sources[node->module] = NATIVE_STORED;
    return is_settled(symbols, native_node);
}

/* What of these neither the capture nor an earlier call has settled, sorted. */
static struct wanted *choose_wanted(struct native_symbols *symbols, const uint32_t *native_nodes,
                                    size_t count, size_t *ret_count)
{
    struct wanted *wanted = memory_allocate(count, sizeof(*wanted));
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        const struct capture_native_node *node = &symbols->capture->native_nodes[native_nodes[i]];

        if (symbols->nodes[native_nodes[i]].count == 0 && node->module != 0 &&
            !resolve_by_capture(symbols, native_nodes[i]))
            wanted[used++] =
                (struct wanted){node->module, native_nodes[i], native_symbols_address(node)};
    }
    qsort(wanted, used, sizeof(*wanted), compare_wanted);
    *ret_count = used;
    return wanted;
}

void native_symbols_resolve(struct native_symbols *symbols, const uint32_t *native_nodes,
                            size_t count)
{
    struct wanted *wanted;
    size_t wanted_count;

    make_room(symbols);
    wanted = choose_wanted(symbols, native_nodes, count, &wanted_count);
    resolve_by_files(symbols, wanted, wanted_count);
    for (size_t i = 0; i < wanted_count; i++)
        resolve_by_capture(symbols, wanted[i].node);
    free(wanted);
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

enum native_source native_symbols_node_source(const struct native_symbols *symbols,
                                              uint32_t native_node)
{
    return native_node < symbols->node_capacity ? symbols->nodes[native_node].source
                                                : NATIVE_NOTHING;
}
