/*
 * The maps, made when they are needed and never taken back.
 *
 * Runs in the program's threads, on slow paths. Two threads, or a handler on top of one, may make the
 * same map at once: the second one is given back.
 */
#include "record/passed.h"

#include "base/syscalls.h"

enum {
    MAP_COUNT = 1 << (PASSED_ADDRESS_BITS - PASSED_MAP_SHIFT),
    MAP_BYTES = 1 << (PASSED_MAP_SHIFT - PASSED_GRAIN_SHIFT),
    PAGE_OF_MAPS_BYTES = 4096,
};

passed_map *_Atomic passed_maps;
static _Atomic uint32_t map_count;

void passed_prepare(void)
{
    passed_map *none = NULL, *made;

    if (atomic_load_explicit(&passed_maps, memory_order_relaxed) != NULL)
        return;
    made = sys_map(MAP_COUNT * sizeof(*made));
    if (made != NULL && !atomic_compare_exchange_strong(&passed_maps, &none, made))
        sys_unmap(made, MAP_COUNT * sizeof(*made));
}

void passed_put_first(enum domain domain, uintptr_t address)
{
    passed_map *maps = atomic_load_explicit(&passed_maps, memory_order_relaxed);
    _Atomic uint8_t *none = NULL, *made;

    if (maps == NULL || address >> PASSED_ADDRESS_BITS != 0)
        return;
    made = sys_map(MAP_BYTES);
    if (made == NULL)
        return;
    if (atomic_compare_exchange_strong(&maps[address >> PASSED_MAP_SHIFT], &none, made))
        atomic_fetch_add_explicit(&map_count, 1, memory_order_relaxed);
    else
        sys_unmap(made, MAP_BYTES);
    passed_put(domain, address);
}

size_t passed_bytes(void)
{
    return atomic_load_explicit(&map_count, memory_order_relaxed) *
           ((size_t)MAP_BYTES + PAGE_OF_MAPS_BYTES);
}
