/*
 * The blocks of one process that are live, by address and domain.
 *
 * Open addressing. A table of up to 32768 blocks is at most a quarter full: how many slots a search
 * looks at is then nearly always foreseen by the processor. A larger one is at most half full, so from
 * 65536 blocks on memory is 64 to 128 bytes a live block. A block that is removed leaves nothing
 * behind: those after it move back. Not thread-safe.
 *
 * Several of these calls are made for every event, so they are inline. What holds: between the slot
 * where a key belongs and the slot where it is no slot is empty, so a search ends at the first empty
 * one. Slots wrap around at the end.
 */
#ifndef PROFILE_LIVE_BLOCKS_H
#define PROFILE_LIVE_BLOCKS_H

#include "profile/address_hash.h"
#include "profile/block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A key is an address with its domain in the bits above; this bit tells it from an empty slot. */
#define LIVE_KEY (UINT64_C(1) << 60)

struct live_block {
    uint64_t key; /* 0: empty */
    struct block block;
};

/* All zero bytes is an empty table. */
struct live_blocks {
    struct live_block *slots; /* none of them in two cache lines */
    void *slots_memory;
    size_t slot_count; /* a power of two */
    size_t count;
    size_t most_count; /* before it has to grow */
    unsigned shift;
};

/* Make room for another block, when there are most_count. Context: tool. */
void live_blocks_grow(struct live_blocks *blocks);

/* Give it back; it is empty then. Context: tool. */
void live_blocks_finish(struct live_blocks *blocks);

/* The slot that has the key, or the empty one where it would go; there must be slots. */
static inline struct live_block *live_blocks_search(const struct live_blocks *blocks, uint64_t key)
{
    size_t mask = blocks->slot_count - 1;
    size_t at = address_slot(key, blocks->shift);

    while (blocks->slots[at].key != 0 && blocks->slots[at].key != key)
        at = (at + 1) & mask;
    return &blocks->slots[at];
}

/* Return a block, or NULL. Valid until the table changes. Context: tool. */
static inline struct live_block *live_blocks_find(const struct live_blocks *blocks, uint64_t key)
{
    struct live_block *found;

    if (blocks->slot_count == 0)
        return NULL;
    found = live_blocks_search(blocks, key);
    return found->key != 0 ? found : NULL;
}

/*
 * Return a block, added when it is not there.
 * key: not 0. ret_is_new: whether it was; its block is not initialised then.
 * Valid until the table changes. Context: tool.
 */
static inline struct live_block *live_blocks_put(struct live_blocks *blocks, uint64_t key,
                                                 bool *ret_is_new)
{
    struct live_block *found;

    if (blocks->count >= blocks->most_count)
        live_blocks_grow(blocks);
    found = live_blocks_search(blocks, key);
    *ret_is_new = found->key == 0;
    blocks->count += found->key == 0;
    found->key = key;
    return found;
}

/* Remove a block that live_blocks_find() has returned: those that it displaced move back. */
static inline void live_blocks_remove(struct live_blocks *blocks, struct live_block *block)
{
    struct live_block *slots = blocks->slots;
    size_t mask = blocks->slot_count - 1;
    size_t hole = (size_t)(block - slots);

    for (size_t at = (hole + 1) & mask; slots[at].key != 0; at = (at + 1) & mask) {
        size_t home = address_slot(slots[at].key, blocks->shift);

        /* It may move back unless it belongs behind the hole. */
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            slots[hole] = slots[at];
            hole = at;
        }
    }
    slots[hole].key = 0;
    blocks->count--;
}

enum {
    LIVE_NEAR_SLOTS = 1 << 14, /* so many stay in the second cache by themselves */
};

/* Begin to load what finding a key will need. Context: tool. */
static inline void live_blocks_prefetch(const struct live_blocks *blocks, uint64_t key)
{
    if (blocks->slot_count > LIVE_NEAR_SLOTS)
        __builtin_prefetch(&blocks->slots[address_slot(key, blocks->shift)], 1);
}

#endif
