/*
 * Names that a capture has of its native frames: SYMBOLS records. Runs in the tools.
 *
 * What holds: a symbol's module is in its table and its places are in theirs. A count from the file makes no
 * room by itself.
 */
#include "capture/answers.h"
#include "capture/load.h"

#include <stdlib.h>

static const char cut_off[] = "record cut off";

static record_fault add_places(struct capture *capture, struct answers_reader *reader,
                               uint64_t count)
{
    struct capture_memory *memory = capture->memory;

    for (; count > 0; count--) {
        struct capture_place place;

        if (!answers_read_place(reader, &place.function, &place.file, &place.line, &place.column))
            return "place of an unknown text";
        if (capture->place_count == UINT32_MAX)
            return "too many places";
        capture->places = memory_grow(capture->places, &memory->place_capacity,
                                      capture->place_count + 1, sizeof(place));
        capture->places[capture->place_count++] = place;
    }
    return NULL;
}

static record_fault add_symbols(struct capture *capture, uint32_t module,
                                struct answers_reader *reader, uint64_t count)
{
    struct capture_memory *memory = capture->memory;
    uint64_t address = 0;

    for (; count > 0; count--) {
        struct capture_symbol symbol = {.module = module,
                                        .first_place = (uint32_t)capture->place_count};
        uint64_t step, place_count;
        record_fault fault;

        if (!answers_read_number(reader, UINT64_MAX, &step) ||
            !answers_read_number(reader, ANSWER_PLACES_MOST, &place_count))
            return cut_off;
        if (place_count == 0 || __builtin_add_overflow(address, step, &address))
            return "impossible symbol";
        fault = add_places(capture, reader, place_count);
        if (fault != NULL)
            return fault;
        symbol.address = address;
        symbol.place_count = (uint32_t)place_count;
        capture->symbols = memory_grow(capture->symbols, &memory->symbol_capacity,
                                       capture->symbol_count + 1, sizeof(symbol));
        capture->symbols[capture->symbol_count++] = symbol;
    }
    return NULL;
}

record_fault capture_load_symbols(struct capture *capture, struct cursor *body)
{
    struct capture_memory *memory = capture->memory;
    struct answers_reader reader;
    uint64_t module, count;
    record_fault fault;

    if (!cursor_varint(body, &module) || !cursor_varint(body, &count))
        return cut_off;
    if (module == 0 || module >= capture->module_count)
        return "symbols of an unknown module";
    reader = (struct answers_reader){
        .bytes = body->bytes, .left_bytes = body->left_bytes, .pool = &memory->pool};
    fault = add_symbols(capture, (uint32_t)module, &reader, count);
    free(reader.texts);
    return fault;
}
