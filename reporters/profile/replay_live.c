/*
 * What is live in a replay, for those who look at it while it goes on. Runs in the tools.
 */
#include "base/memory.h"
#include "profile/replay.h"
#include "profile/replay_state.h"

struct birth_bound replay_birth_bound(const struct replay *replay)
{
    struct birth_bound bound = {
        .tick = replay->ledger->tick,
        .map_ordinal = replay->map_ordinal,
        .ordinals = memory_allocate(replay->stream_count, sizeof(*bound.ordinals)),
    };

    for (uint32_t i = 0; i < replay->stream_count; i++)
        bound.ordinals[i] = replay->streams[i].ordinal;
    return bound;
}

void replay_each_live(const struct replay *replay,
                      void (*see)(void *user, const struct block *block, bool is_range), void *user)
{
    for (uint32_t i = 0; i < replay->process_count; i++) {
        const struct replay_process *process = &replay->processes[i];
        const struct range *range = ranges_first(&process->ranges, 0, UINT64_MAX);

        for (size_t k = 0; k < process->blocks.slot_count; k++) {
            const struct live_block *live = &process->blocks.slots[k];

            if (live->key != 0 && live->block.row != ROW_NONE)
                see(user, &live->block, false);
        }
        for (; range != NULL; range = ranges_first(&process->ranges, range->end, UINT64_MAX))
            if (range->block.row != ROW_NONE)
                see(user, &range->block, true);
    }
}
