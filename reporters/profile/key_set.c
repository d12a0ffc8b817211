/*
 * A set of keys. Runs in the tools. What holds is what holds in live_blocks.c: no empty slot between
 * where a key belongs and where it is.
 */
#include "profile/key_set.h"

#include "base/memory.h"
#include "profile/address_hash.h"

#include <stdlib.h>

enum {
    FIRST_SLOT_BITS = 8,
    KEY_BITS = 64,
};

static uint64_t *search(const struct key_set *set, uint64_t key)
{
    size_t mask = set->slot_count - 1;
    size_t at = address_slot(key, set->shift);

    while (set->slots[at] != 0 && set->slots[at] != key)
        at = (at + 1) & mask;
    return &set->slots[at];
}

void key_set_reserve(struct key_set *set, size_t count)
{
    struct key_set larger = {.count = set->count, .shift = KEY_BITS - FIRST_SLOT_BITS};

    if (count <= set->slot_count / 2)
        return;
    while (count > ((size_t)1 << (KEY_BITS - larger.shift)) / 2)
        larger.shift--;
    larger.slot_count = (size_t)1 << (KEY_BITS - larger.shift);
    larger.slots = memory_allocate(larger.slot_count, sizeof(*larger.slots));
    for (size_t i = 0; i < set->slot_count; i++)
        if (set->slots[i] != 0)
            *search(&larger, set->slots[i]) = set->slots[i];
    free(set->slots);
    *set = larger;
}

void key_set_add(struct key_set *set, uint64_t key)
{
    uint64_t *slot;

    key_set_reserve(set, set->count + 1);
    slot = search(set, key);
    if (*slot == 0)
        set->count++;
    *slot = key;
}

bool key_set_has(const struct key_set *set, uint64_t key)
{
    return set->count > 0 && *search(set, key) != 0;
}

bool key_set_remove(struct key_set *set, uint64_t key)
{
    size_t mask = set->slot_count - 1, hole;

    if (!key_set_has(set, key))
        return false;
    hole = (size_t)(search(set, key) - set->slots);
    for (size_t at = (hole + 1) & mask; set->slots[at] != 0; at = (at + 1) & mask) {
        size_t home = address_slot(set->slots[at], set->shift);

        if (((at - home) & mask) >= ((at - hole) & mask)) {
            set->slots[hole] = set->slots[at];
            hole = at;
        }
    }
    set->slots[hole] = 0;
    set->count--;
    return true;
}

void key_set_finish(struct key_set *set)
{
    free(set->slots);
    *set = (struct key_set){0};
}
