/*
 * Blocks of the probe, by address: open addressing, and never far from the first place.
 *
 * Runs in the program's threads. They wait for each other here: this is a test's tool, and no thread
 * holds the table for long.
 */
#include "probe_blocks.h"

#include "base/syscalls.h"

#include <stdatomic.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    BLOCKS = 1 << 17,
    REACH = 64,  /* places that are looked at */
    REMOVED = 1, /* an address that none has */
};

struct block {
    uintptr_t address;
    uint64_t size;
    uint64_t frames[KEPT_FRAMES];
    uint32_t depth;
};

static struct block *blocks;
static bool is_keeping;
static atomic_flag is_held = ATOMIC_FLAG_INIT;

EXPORT void probe_keep_blocks(bool is_on);
EXPORT uint32_t probe_block(uint32_t index, uint64_t *ret_address, uint64_t *ret_size,
                            uint32_t *ret_depth, uint64_t frames[KEPT_FRAMES]);

static struct block *place(uintptr_t address, unsigned i)
{
    uint64_t hash = (uint64_t)(address >> 4) * UINT64_C(0x9e3779b97f4a7c15);

    return &blocks[((hash >> 40) + i) % BLOCKS];
}

static void hold(void)
{
    while (atomic_flag_test_and_set_explicit(&is_held, memory_order_acquire))
        ;
}

static void let_go(void)
{
    atomic_flag_clear_explicit(&is_held, memory_order_release);
}

void probe_blocks_start(void)
{
    blocks = sys_map_wiped(BLOCKS * sizeof(*blocks));
    is_keeping = blocks != NULL;
}

void probe_blocks_add(const void *memory, size_t size, const uint64_t *chain, uint32_t depth)
{
    if (!is_keeping || memory == NULL)
        return;
    if (depth > KEPT_FRAMES) {
        chain += depth - KEPT_FRAMES;
        depth = KEPT_FRAMES;
    }
    hold();
    for (unsigned i = 0; i < REACH; i++) {
        struct block *block = place((uintptr_t)memory, i);

        if (block->address > REMOVED)
            continue;
        block->address = (uintptr_t)memory;
        block->size = size;
        block->depth = depth;
        memcpy(block->frames, chain, depth * sizeof(*chain));
        break;
    }
    let_go();
}

void probe_blocks_remove(const void *memory)
{
    if (!is_keeping || memory == NULL)
        return;
    hold();
    for (unsigned i = 0; i < REACH; i++) {
        struct block *block = place((uintptr_t)memory, i);

        if (block->address == (uintptr_t)memory)
            block->address = REMOVED;
        if (block->address == 0)
            break;
    }
    let_go();
}

/* From now on the table stays as it is, or changes again. */
void probe_keep_blocks(bool is_on)
{
    is_keeping = is_on;
}

/*
 * Give the first block from a place on: its inner frames, root first.
 * Returns the place behind it; 0 when there is none.
 */
uint32_t probe_block(uint32_t index, uint64_t *ret_address, uint64_t *ret_size, uint32_t *ret_depth,
                     uint64_t frames[KEPT_FRAMES])
{
    for (; index < BLOCKS; index++) {
        const struct block *block = &blocks[index];

        if (block->address <= REMOVED)
            continue;
        *ret_address = block->address;
        *ret_size = block->size;
        *ret_depth = block->depth;
        memcpy(frames, block->frames, block->depth * sizeof(*frames));
        return index + 1;
    }
    return 0;
}
