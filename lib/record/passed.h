/*
 * The blocks that were passed over since the process began to sample in the midst of its recording.
 *
 * What was allocated before is recorded, all of it, and nobody knows where it lies; so the releases
 * that are left out are those of blocks that are known to be not recorded. To forget one of these
 * does no harm: its release is recorded too many, and the reader passes over it. To take another
 * block for one would: its release would be missing.
 *
 * A byte for each 16 of the address space, in maps of 4 MiB that are made where blocks are. A byte
 * says of which block, of those that may begin in its 16, it speaks. It is written by whoever owns the
 * block, with no lock: a block is put in before the program gets it and taken out before it is
 * released. A forked child goes on with its copy.
 */
#ifndef RECORD_PASSED_H
#define RECORD_PASSED_H

#include "base/arch.h"
#include "memtrack/protocol.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PASSED_MAP_SHIFT = 26, /* of the addresses that one map is for */
    PASSED_ADDRESS_BITS = 47,
    PASSED_GRAIN_SHIFT = 4,
    PASSED_HALF_SHIFT = 3, /* some allocators' blocks begin at multiples of 8 */
};

typedef _Atomic uint8_t *_Atomic passed_map;

/* By the upper bits of addresses; NULL until passed_prepare(), as each map until it is needed. */
extern passed_map *_Atomic passed_maps __attribute__((visibility("hidden")));

/* What a byte says; never 0. Context: hot path. */
static inline uint8_t passed_mark(enum domain domain, uintptr_t address)
{
    return (uint8_t)(1 + 2 * (unsigned)domain + (address >> PASSED_HALF_SHIFT & 1));
}

/* Return the byte of an address; NULL: there is none. Context: hot path. */
static inline _Atomic uint8_t *passed_byte(uintptr_t address)
{
    /*
     * Relaxed: what was put in was seen by whoever has got the block from there. The maps' zeros are
     * there before any store is.
     */
    passed_map *maps = atomic_load_explicit(&passed_maps, memory_order_relaxed);
    _Atomic uint8_t *map;

    if (unlikely(maps == NULL) || unlikely(address >> PASSED_ADDRESS_BITS != 0))
        return NULL;
    map = atomic_load_explicit(&maps[address >> PASSED_MAP_SHIFT], memory_order_relaxed);
    if (unlikely(map == NULL))
        return NULL;
    return &map[(address & ((UINT64_C(1) << PASSED_MAP_SHIFT) - 1)) >> PASSED_GRAIN_SHIFT];
}

/* Make the map of an address that has none, and put the block in. Context: hot path (slow paths only). */
void passed_put_first(enum domain domain, uintptr_t address) __attribute__((cold, noinline));

/* A block has been passed over. Context: hot path. */
static inline void passed_put(enum domain domain, uintptr_t address)
{
    _Atomic uint8_t *byte = passed_byte(address);

    if (unlikely(byte == NULL))
        passed_put_first(domain, address);
    else if (likely(address % (1u << PASSED_HALF_SHIFT) == 0))
        atomic_store_explicit(byte, passed_mark(domain, address), memory_order_relaxed);
}

/*
 * Take a block out: it is about to be released, or is recorded.
 * Returns whether it was in it. Context: hot path.
 */
static inline bool passed_take(enum domain domain, uintptr_t address)
{
    _Atomic uint8_t *byte = passed_byte(address);

    if (unlikely(byte == NULL) || unlikely(address % (1u << PASSED_HALF_SHIFT) != 0) ||
        atomic_load_explicit(byte, memory_order_relaxed) != passed_mark(domain, address))
        return false;
    atomic_store_explicit(byte, 0, memory_order_relaxed);
    return true;
}

/*
 * Make room for the maps. Without memory there are none, and all releases are recorded.
 * Safe to repeat. Context: start-up, hot path (slow paths only).
 */
void passed_prepare(void);

/* Return the bytes of memory that the maps have at most. Context: any thread. */
size_t passed_bytes(void);

#endif
