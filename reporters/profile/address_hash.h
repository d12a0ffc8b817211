/*
 * Where an address goes in a table: neighbours in memory stay neighbours.
 *
 * A program touches blocks that lie near each other one after the other, so a hash that scatters
 * them costs a cache miss an event. Here 1 KiB of addresses shares a group of slots, a slot for each
 * 16 bytes; the groups are scattered. Inside a group everything is turned by an amount that is the
 * group's addresses' own: blocks at equal places of pages would else all meet in one slot.
 */
#ifndef PROFILE_ADDRESS_HASH_H
#define PROFILE_ADDRESS_HASH_H

#include <stdint.h>

enum {
    ADDRESS_GROUP_SLOTS = 64,
    ADDRESS_GROUP_SHIFT = 10, /* log2 of a group's addresses */
    ADDRESS_SLOT_SHIFT = 4,
};

/* Return what tells the groups apart, its highest bits best. Context: tool. */
static inline uint64_t address_group_hash(uint64_t key)
{
    return (key >> ADDRESS_GROUP_SHIFT) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Return where a key belongs in a small table of keys with like group hashes. Context: tool. */
static inline uint32_t address_place(uint64_t key)
{
    return (uint32_t)((key >> ADDRESS_SLOT_SHIFT) + (address_group_hash(key) >> 20));
}

/*
 * Return the slot where a key belongs. key: address and domain.
 * shift: 64 - log2 of the number of slots, which is at least ADDRESS_GROUP_SLOTS.
 * Context: tool.
 */
static inline uint64_t address_slot(uint64_t key, unsigned shift)
{
    uint64_t mixed = address_group_hash(key);
    uint64_t inside = (key >> ADDRESS_SLOT_SHIFT) + (mixed >> 20);

    return (mixed >> shift & ~(uint64_t)(ADDRESS_GROUP_SLOTS - 1)) |
           (inside & (ADDRESS_GROUP_SLOTS - 1));
}

#endif
