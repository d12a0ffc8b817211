/*
 * Live blocks by address: the table that they lie in. Runs in the tools.
 */
#include "profile/live_blocks.h"

#include "base/memory.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
    FIRST_SLOT_BITS = 10,
    KEY_BITS = 64,
    SPARSE_SLOTS = 1 << 17,
};
#define LARGE_PAGE_BYTES ((uintptr_t)2 << 20) /* of x86-64, and of aarch64 with 4 KiB pages */

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

void live_blocks_grow(struct live_blocks *blocks)
{
    struct live_blocks larger = {.count = blocks->count};

    larger.shift = blocks->slot_count == 0 ? KEY_BITS - FIRST_SLOT_BITS : blocks->shift - 1;
    larger.slot_count = (size_t)1 << (KEY_BITS - larger.shift);
    larger.most_count = larger.slot_count / (larger.slot_count <= SPARSE_SLOTS ? 4 : 2);
    larger.slots_memory = memory_allocate(larger.slot_count + 1, sizeof(*larger.slots));
    larger.slots = (void *)((uint8_t *)larger.slots_memory +
                            -(uintptr_t)larger.slots_memory % sizeof(*larger.slots));
    want_large_pages(&larger);
    for (size_t i = 0; i < blocks->slot_count; i++)
        if (blocks->slots[i].key != 0)
            *live_blocks_search(&larger, blocks->slots[i].key) = blocks->slots[i];
    free(blocks->slots_memory);
    *blocks = larger;
}

void live_blocks_finish(struct live_blocks *blocks)
{
    free(blocks->slots_memory);
    *blocks = (struct live_blocks){0};
}
