/*
 * Addresses to modules. Runs in the program's threads.
 *
 * What holds: a module's number stands in the table only behind its announcement in some ring. Two threads
 * that meet one object at once may announce it twice: to the reader both are the same.
 */
#include "unwind/places.h"

#include "base/syscalls.h"
#include "unwind/objects.h"
#include "unwind/rows.h"

#include <string.h>

enum {
    PATH_BYTES_MAX = 4096,
    BUILD_ID_BYTES_MAX = 64,
    ANNOUNCEMENT_BYTES = 8192,
};

struct places *places;

bool places_prepare(void)
{
    if (places == NULL)
        places = sys_map_wiped(sizeof(*places));
    return places != NULL;
}

/* Make the blob of a module. bytes: ANNOUNCEMENT_BYTES of room. Returns its bytes. */
static size_t make_blob(uint32_t number, const struct object *object, uint8_t *bytes)
{
    size_t path_bytes = strnlen(object->path, PATH_BYTES_MAX), at = BLOB_MODULE_HEADER_BYTES;
    uint64_t bias = object->bias, extent_bytes;
    struct object_identity identity;

    objects_identify(object, &identity);
    extent_bytes = identity.extent_bytes;
    if (identity.build_id_bytes > BUILD_ID_BYTES_MAX)
        identity.build_id_bytes = BUILD_ID_BYTES_MAX;
    memcpy(bytes, &number, sizeof(number));
    memcpy(bytes + 4, &bias, sizeof(bias));
    memcpy(bytes + 12, &extent_bytes, sizeof(extent_bytes));
    bytes[20] = identity.is_vdso;
    bytes[21] = (uint8_t)identity.build_id_bytes;
    if (identity.build_id_bytes > 0)
        memcpy(bytes + at, identity.build_id, identity.build_id_bytes);
    at += identity.build_id_bytes;
    memcpy(bytes + at, object->path, path_bytes);
    return at + path_bytes;
}

/* In memory of its own: the program's stack may have little room left. */
static bool announce(uint32_t number, const struct object *object,
                     const struct announcer *announcer)
{
    uint8_t *bytes = sys_map(ANNOUNCEMENT_BYTES);
    bool is_written;

    if (bytes == NULL)
        return false;
    is_written =
        announcer->write(announcer->owner, BLOB_MODULE, bytes, make_blob(number, object, bytes));
    sys_unmap(bytes, ANNOUNCEMENT_BYTES);
    return is_written;
}

/* Return the number of an object that has been announced; 0: none has. */
static uint32_t find_module(const struct object *object)
{
    uint32_t count = atomic_load_explicit(&places->module_count, memory_order_acquire);

    if (count >= PLACES_MODULES)
        count = PLACES_MODULES - 1;
    for (uint32_t i = count; i > 0; i--) {
        struct place_module *module = &places->modules[i];

        /* Acquire: with the identity all of it is seen, and its announcement stands in a ring. */
        if (atomic_load_explicit(&module->identity, memory_order_acquire) == object->identity)
            return i;
    }
    return 0;
}

static uint32_t add_module(const struct object *object, const struct announcer *announcer)
{
    uint32_t number = atomic_fetch_add_explicit(&places->module_count, 1, memory_order_relaxed) + 1;
    struct place_module *module;

    if (number >= PLACES_MODULES) {
        atomic_store_explicit(&places->module_count, PLACES_MODULES, memory_order_relaxed);
        return 0;
    }
    if (!announce(number, object, announcer))
        return 0;
    module = &places->modules[number];
    atomic_store_explicit(&module->bias, object->bias, memory_order_relaxed);
    atomic_store_explicit(&module->identity, object->identity, memory_order_release);
    return number;
}

unwind_place places_miss(uintptr_t address, uintptr_t code, const struct announcer *announcer)
{
    uint32_t generation = atomic_load_explicit(&rows_generation, memory_order_acquire), number;
    size_t at = address & ((1u << PLACES_COUNT_BITS) - 1);
    struct object object;
    uint64_t place;

    if ((address & ~PLACE_ADDRESS_MASK) != 0 || !objects_find(code, &object) ||
        (address - object.bias) >> NATIVE_OFFSET_BITS != 0)
        return 0;
    number = find_module(&object);
    if (number == 0)
        number = add_module(&object, announcer);
    if (number == 0)
        return 0;
    place = address | (uint64_t)number << PLACE_MODULE_SHIFT;
    /* One that stood there gives way: it is found out again. */
    atomic_store_explicit(&places->table[at], place, memory_order_release);
    if (atomic_load(&rows_generation) != generation)
        atomic_store_explicit(&places->table[at], 0, memory_order_relaxed);
    return place;
}

void places_note_eval(unwind_place place, bool is_eval)
{
    size_t at = place & ((1u << PLACES_COUNT_BITS) - 1);
    uint64_t noted = place | PLACE_IS_SURE | (is_eval ? PLACE_IS_EVAL : 0);

    /* Only if it is still there. */
    atomic_compare_exchange_strong_explicit(&places->table[at], &place, noted, memory_order_release,
                                            memory_order_relaxed);
}

/* Take out all places of a module. */
static void forget_places(uint32_t number)
{
    for (size_t i = 0; i < 1u << PLACES_COUNT_BITS; i++) {
        uint64_t place = atomic_load_explicit(&places->table[i], memory_order_relaxed);

        if (place >> PLACE_MODULE_SHIFT == number)
            atomic_compare_exchange_strong(&places->table[i], &place, 0);
    }
}

void places_note_free(const void *block)
{
    uint32_t count = atomic_load_explicit(&places->module_count, memory_order_acquire);

    rows_note_free(block);
    if (count >= PLACES_MODULES)
        count = PLACES_MODULES - 1;
    for (uint32_t i = count; i > 0; i--) {
        struct place_module *module = &places->modules[i];
        const void *identity = block;

        if (!atomic_compare_exchange_strong(&module->identity, &identity, NULL))
            continue;
        forget_places(i);
    }
}

uint64_t places_memory_bytes(void)
{
    uint32_t count;

    if (places == NULL)
        return 0;
    count = atomic_load_explicit(&places->module_count, memory_order_relaxed);
    return sizeof(places->table) + (count + 1) * sizeof(places->modules[0]);
}

_Static_assert(BLOB_MODULE_HEADER_BYTES + BUILD_ID_BYTES_MAX + PATH_BYTES_MAX <= ANNOUNCEMENT_BYTES,
               "room for an announcement");
