/*
 * What children inherit. Runs in the tools, at each fork.
 *
 * What holds: where nothing is marked as changed, a leaf has the keys of the process's blocks and of
 * what it has inherited. Leaves and slots of the table of blocks are in the same order, by the top
 * bits of one hash, so a leaf is made from a few slots.
 */
#include "profile/legacy.h"

#include "base/memory.h"

#include <stdlib.h>

enum {
    KEY_BITS = 64,
    GROWTH_BITS = 2, /* so much larger must the leaves have become to be split */
};

/* Begin with what was inherited; what the blocks add to it counts as changed. */
static void begin(struct legacy *legacy, const struct live_blocks *blocks,
                  struct inherited *inherited)
{
    unsigned bits = inherited_bits(blocks->count + inherited->count);

    if (inherited->root == NULL)
        inherited_begin(inherited, blocks->count);
    else if (bits > inherited->root->bits + GROWTH_BITS)
        inherited_split(inherited, bits);
    legacy->all = inherited_share(inherited);
    legacy->changed = memory_allocate((size_t)1 << legacy->all.root->bits, 1);
    for (size_t i = 0; i < blocks->slot_count; i++)
        if (blocks->slots[i].key != 0)
            legacy_touch(legacy, blocks->slots[i].key);
}

/* Add the blocks whose keys are of a leaf. */
static void add_blocks(struct inherited *all, size_t leaf, const struct live_blocks *blocks)
{
    unsigned slot_bits = KEY_BITS - blocks->shift, leaf_bits = all->root->bits;
    size_t begin = ((uint64_t)leaf << slot_bits >> leaf_bits) & -(size_t)ADDRESS_GROUP_SLOTS;
    size_t end = begin + ADDRESS_GROUP_SLOTS;

    if (blocks->slot_count == 0)
        return;
    if (slot_bits > leaf_bits && (size_t)1 << (slot_bits - leaf_bits) > ADDRESS_GROUP_SLOTS)
        end = begin + ((size_t)1 << (slot_bits - leaf_bits));
    /* Those that were displaced lie behind the end, as far as the next empty slot. */
    for (size_t at = begin;; at++) {
        uint64_t key = blocks->slots[at & (blocks->slot_count - 1)].key;

        if (key == 0 && at >= end)
            return;
        if (key != 0 && inherited_leaf_of(key, leaf_bits) == leaf)
            inherited_add(all, key);
    }
}

struct inherited legacy_leave(struct legacy *legacy, const struct live_blocks *blocks,
                              struct inherited *inherited)
{
    unsigned bits = inherited_bits(blocks->count + inherited->count);

    if (legacy->changed == NULL || bits > legacy->all.root->bits + GROWTH_BITS) {
        legacy_finish(legacy);
        begin(legacy, blocks, inherited);
    }
    for (size_t leaf = 0; leaf < (size_t)1 << legacy->all.root->bits; leaf++) {
        if (legacy->changed[leaf] == 0)
            continue;
        legacy->changed[leaf] = 0;
        inherited_take_leaf(&legacy->all, leaf, inherited);
        add_blocks(&legacy->all, leaf, blocks);
    }
    return inherited_share(&legacy->all);
}

void legacy_finish(struct legacy *legacy)
{
    inherited_finish(&legacy->all);
    free(legacy->changed);
    *legacy = (struct legacy){0};
}
