/*
 * Pools. Runs in the tools.
 */
#include "profile/pools.h"

#include "base/memory.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"

#include <stdlib.h>

/* Most programs have none: room is made for the first block. */
static void make_room(struct pools *pools, uint32_t process_count)
{
    if (pools->sums == NULL) {
        pools->sums = memory_allocate(ALLOCATOR_COUNT, sizeof(*pools->sums));
        pools->live_bytes = memory_allocate(ALLOCATOR_COUNT, sizeof(*pools->live_bytes));
    }
    pools->blocks = memory_grow_zeroed(pools->blocks, &pools->process_capacity, process_count,
                                       sizeof(*pools->blocks));
}

static void release(struct pools *pools, struct live_blocks *blocks, struct live_block *live)
{
    pools->live_bytes[live->block.row] -= live->block.bytes;
    live_blocks_remove(blocks, live);
}

static void allocate(struct pools *pools, uint8_t allocator, const struct event *event)
{
    struct live_blocks *blocks = &pools->blocks[event->process_index];
    struct profile_pool *sum = &pools->sums[allocator];
    struct live_block *live = live_blocks_find(blocks, LIVE_KEY | event->address);
    bool is_new;

    if (live != NULL)
        release(pools, blocks, live);
    live = live_blocks_put(blocks, LIVE_KEY | event->address, &is_new);
    live->block = (struct block){
        .bytes = event->bytes, .row = allocator, .tick = event->stack, .shown = event->stream};
    sum->allocations++;
    sum->allocated_bytes += event->bytes;
    pools->live_bytes[allocator] += event->bytes;
    if (pools->live_bytes[allocator] > sum->peak_bytes)
        sum->peak_bytes = pools->live_bytes[allocator];
}

void pools_take(struct pools *pools, const struct capture *capture, const struct event *event)
{
    struct live_block *live;

    make_room(pools, capture->process_count);
    if (event->op == EVENT_ALLOC)
        allocate(pools, capture->stacks[event->stack].allocator, event);
    if (event->op != EVENT_FREE)
        return;
    live = live_blocks_find(&pools->blocks[event->process_index], LIVE_KEY | event->address);
    if (live == NULL)
        return;
    pools->sums[live->block.row].frees++;
    release(pools, &pools->blocks[event->process_index], live);
}

/* Count what is live in a process as never taken back. */
static void count_live(const struct live_blocks *blocks, struct profile_pool *sums)
{
    for (size_t i = 0; i < blocks->slot_count; i++) {
        const struct live_block *live = &blocks->slots[i];

        if (live->key == 0)
            continue;
        sums[live->block.row].leaked_bytes += live->block.bytes;
        sums[live->block.row].leaked_allocations++;
    }
}

void pools_end_process(struct pools *pools, uint32_t process_index)
{
    struct live_blocks *blocks;

    if (process_index >= pools->process_capacity)
        return;
    blocks = &pools->blocks[process_index];
    count_live(blocks, pools->sums);
    for (size_t i = 0; i < blocks->slot_count; i++)
        if (blocks->slots[i].key != 0)
            pools->live_bytes[blocks->slots[i].block.row] -= blocks->slots[i].block.bytes;
    live_blocks_finish(blocks);
}

struct profile_pool *pools_sums(const struct pools *pools, uint32_t *ret_count)
{
    struct profile_pool *sums;
    uint32_t count = 0;

    *ret_count = 0;
    if (pools->sums == NULL)
        return NULL;
    sums = memory_copy(pools->sums, ALLOCATOR_COUNT, sizeof(*sums));
    for (size_t i = 0; i < pools->process_capacity; i++)
        count_live(&pools->blocks[i], sums);
    for (unsigned i = 0; i < ALLOCATOR_COUNT; i++) {
        if (sums[i].allocations == 0)
            continue;
        sums[count] = sums[i];
        sums[count++].allocator = (uint8_t)i;
    }
    *ret_count = count;
    return sums;
}

void pools_finish(struct pools *pools)
{
    for (size_t i = 0; i < pools->process_capacity; i++)
        live_blocks_finish(&pools->blocks[i]);
    free(pools->sums);
    free(pools->live_bytes);
    free(pools->blocks);
    *pools = (struct pools){0};
}
