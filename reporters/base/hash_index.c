/*
 * Open addressing with linear probing, at most half full. A slot keeps the high half of the hash:
 * it spares most comparisons of keys, and the table can grow without the keys. The place is taken
 * from that same half, so that moving a slot needs nothing else.
 */
#include "base/hash_index.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

enum {
    FIRST_SLOT_COUNT = 64,
};

/* 2^31 slots are reached by 2^30 items, 16 GiB of index: far beyond what a report holds. */
static size_t place_of(const struct hash_index *index, uint64_t high_hash)
{
    return (size_t)high_hash & (index->slot_count - 1);
}

static void put(struct hash_index *index, uint64_t slot)
{
    size_t place = place_of(index, slot >> 32);

    while (index->slots[place] != 0)
        place = (place + 1) & (index->slot_count - 1);
    index->slots[place] = slot;
}

static void grow(struct hash_index *index)
{
    struct hash_index larger = {
        .slot_count = index->slot_count == 0 ? FIRST_SLOT_COUNT : index->slot_count * 2,
        .item_count = index->item_count,
    };

    larger.slots = memory_allocate(larger.slot_count, sizeof(larger.slots[0]));
    for (size_t i = 0; i < index->slot_count; i++) {
        if (index->slots[i] != 0)
            put(&larger, index->slots[i]);
    }
    free(index->slots);
    *index = larger;
}

uint32_t hash_index_find(const struct hash_index *index, uint64_t hash, hash_index_equals *equals,
                         const void *items, const void *key)
{
    size_t place;

    if (index->slot_count == 0)
        return HASH_INDEX_NONE;
    for (place = place_of(index, hash >> 32); index->slots[place] != 0;
         place = (place + 1) & (index->slot_count - 1)) {
        uint64_t slot = index->slots[place];

        if (slot >> 32 == hash >> 32 && equals(items, (uint32_t)slot - 1, key))
            return (uint32_t)slot - 1;
    }
    return HASH_INDEX_NONE;
}

void hash_index_add(struct hash_index *index, uint64_t hash, uint32_t item)
{
    assert(item < HASH_INDEX_NONE);
    if (index->item_count >= index->slot_count / 2)
        grow(index);
    put(index, hash >> 32 << 32 | (item + 1));
    index->item_count++;
}

struct hash_index hash_index_copy(const struct hash_index *index)
{
    struct hash_index copy = *index;

    if (index->slot_count > 0)
        copy.slots = memory_copy(index->slots, index->slot_count, sizeof(*index->slots));
    return copy;
}

void hash_index_finish(struct hash_index *index)
{
    free(index->slots);
    *index = (struct hash_index){.slots = NULL};
}
