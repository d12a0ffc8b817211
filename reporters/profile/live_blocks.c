/*
 * Live blocks by address. Runs in the tools, several times for every event.
 *
 * What holds: between the slot where a key belongs and the slot where it is no slot is empty, so a
 * search ends at the first empty one. Slots wrap around at the end.
 */
#include "profile/live_blocks.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    FIRST_SLOT_BITS = 10,
    KEY_BITS = 64,
};
#define LARGE_PAGE_BYTES ((uintptr_t)2 << 20) /* of x86-64, and of aarch64 with 4 KiB pages */

static struct live_block *search(const struct live_blocks *blocks, uint64_t key)
{
    size_t mask = blocks->slot_count - 1;
    size_t at = address_slot(key, blocks->shift);

    while (blocks->slots[at].key != 0 && blocks->slots[at].key != key)
        at = (at + 1) & mask;
    return &blocks->slots[at];
}

struct live_block *live_blocks_find(const struct live_blocks *blocks, uint64_t key)
{
    struct live_block *found;

    if (blocks->slot_count == 0)
        return NULL;
    found = search(blocks, key);
    return found->key != 0 ? found : NULL;
}

/*
 * A large table is reached all over: with small pages most of the time would go into finding them.
 * Only a wish: it changes nothing else when it is not granted.
 */
static void want_large_pages(const struct live_blocks *blocks)
{
    uintptr_t begin = ((uintptr_t)blocks->slots + LARGE_PAGE_BYTES - 1) & -LARGE_PAGE_BYTES;
    uintptr_t end = (uintptr_t)(blocks->slots + blocks->slot_count) & -LARGE_PAGE_BYTES;

    if (begin < end)
        madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

static void grow(struct live_blocks *blocks)
{
    struct live_blocks larger = {.count = blocks->count};

    larger.shift = blocks->slot_count == 0 ? KEY_BITS - FIRST_SLOT_BITS : blocks->shift - 1;
    larger.slot_count = (size_t)1 << (KEY_BITS - larger.shift);
    larger.slots = memory_allocate(larger.slot_count, sizeof(*larger.slots));
    want_large_pages(&larger);
    for (size_t i = 0; i < blocks->slot_count; i++)
        if (blocks->slots[i].key != 0)
            *search(&larger, blocks->slots[i].key) = blocks->slots[i];
    free(blocks->slots);
    *blocks = larger;
}

struct live_block *live_blocks_put(struct live_blocks *blocks, uint64_t key, bool *ret_is_new)
{
    struct live_block *found;

    assert(key != 0);
    if (blocks->count >= blocks->slot_count / 2)
        grow(blocks);
    found = search(blocks, key);
    *ret_is_new = found->key == 0;
    if (*ret_is_new) {
        *found = (struct live_block){.key = key};
        blocks->count++;
    }
    return found;
}

void live_blocks_remove(struct live_blocks *blocks, struct live_block *block)
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

void live_blocks_finish(struct live_blocks *blocks)
{
    free(blocks->slots);
    *blocks = (struct live_blocks){0};
}
