/*
 * The blocks of one process that are live, by address and domain.
 *
 * Open addressing, at most half full, so memory is 64 to 128 bytes a live block. A block that is
 * removed leaves nothing behind: those after it move back. Not thread-safe.
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
    struct live_block *slots;
    size_t slot_count; /* a power of two */
    size_t count;
    unsigned shift;
};

/* Return a block, or NULL. Valid until the table changes. Context: tool. */
struct live_block *live_blocks_find(const struct live_blocks *blocks, uint64_t key);

/*
 * Return a block, added when it is not there.
 * ret_is_new: whether it was; its block is all zero bytes then.
 * Valid until the table changes. Context: tool.
 */
struct live_block *live_blocks_put(struct live_blocks *blocks, uint64_t key, bool *ret_is_new);

/* Remove a block that live_blocks_find() has returned. Context: tool. */
void live_blocks_remove(struct live_blocks *blocks, struct live_block *block);

/* Give it back; it is empty then. Context: tool. */
void live_blocks_finish(struct live_blocks *blocks);

/* Begin to load what finding a key will need. Context: tool. */
static inline void live_blocks_prefetch(const struct live_blocks *blocks, uint64_t key)
{
    if (blocks->slot_count > 0)
        __builtin_prefetch(&blocks->slots[address_slot(key, blocks->shift)], 1);
}

#endif
