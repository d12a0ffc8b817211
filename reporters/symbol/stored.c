/*
 * Stored names, found. Runs in the tools.
 */
#include "symbol/stored.h"

#include <stdlib.h>

/* An address that a capture has something of. */
struct stored_symbol {
    uint64_t address;
    uint32_t module;
    uint32_t symbol;                   /* in capture.symbols */
    const struct native_place *places; /* NULL: not asked for yet */
};

static bool is_of(const void *items, uint32_t item, const void *key)
{
    const struct stored_symbol *a = &((const struct stored_symbol *)items)[item], *b = key;

    return a->address == b->address && a->module == b->module;
}

static uint64_t hash_of(const struct stored_symbol *symbol)
{
    return hash_index_mix(symbol->address, symbol->module);
}

/* Take what has come to the capture since. */
static void take_new(struct stored *stored, const struct capture *capture)
{
    for (; stored->seen_count < capture->symbol_count; stored->seen_count++) {
        const struct capture_symbol *from = &capture->symbols[stored->seen_count];
        struct stored_symbol symbol = {.address = from->address,
                                       .module = from->module,
                                       .symbol = (uint32_t)stored->seen_count};
        uint64_t hash = hash_of(&symbol);
        uint32_t found = hash_index_find(&stored->index, hash, is_of, stored->symbols, &symbol);

        if (found != HASH_INDEX_NONE) {
            stored->symbols[found] = symbol;
            continue;
        }
        stored->symbols =
            memory_grow(stored->symbols, &stored->capacity, stored->count + 1, sizeof(symbol));
        hash_index_add(&stored->index, hash, (uint32_t)stored->count);
        stored->symbols[stored->count++] = symbol;
    }
}

static const struct native_place *make_places(struct stored *stored, const struct capture *capture,
                                              const struct capture_symbol *symbol)
{
    struct native_place *places =
        memory_pool_allocate(&stored->pool, symbol->place_count * sizeof(*places));

    for (uint32_t i = 0; i < symbol->place_count; i++) {
        const struct capture_place *from = &capture->places[symbol->first_place + i];

        places[i] = (struct native_place){
            .function = from->function[0] != '\0' ? from->function : "[unknown]",
            .file = from->file,
            .line = from->line,
            .column = from->column,
            .is_inlined = i < symbol->place_count - 1,
        };
    }
    return places;
}

const struct native_place *stored_find(struct stored *stored, const struct capture *capture,
                                       uint32_t module, uint64_t address, uint32_t *ret_count)
{
    struct stored_symbol wanted = {.address = address, .module = module};
    const struct capture_symbol *symbol;
    uint32_t found;

    take_new(stored, capture);
    found = hash_index_find(&stored->index, hash_of(&wanted), is_of, stored->symbols, &wanted);
    if (found == HASH_INDEX_NONE)
        return NULL;
    symbol = &capture->symbols[stored->symbols[found].symbol];
    if (stored->symbols[found].places == NULL)
        stored->symbols[found].places = make_places(stored, capture, symbol);
    *ret_count = symbol->place_count;
    return stored->symbols[found].places;
}

void stored_finish(struct stored *stored)
{
    memory_pool_finish(&stored->pool);
    hash_index_finish(&stored->index);
    free(stored->symbols);
    *stored = (struct stored){0};
}
