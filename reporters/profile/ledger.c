/*
 * The sums. Runs in the tools, at every change of what is live.
 *
 * The peak by row, in constant time a change: when the heap has grown above its highest and anything
 * but growth comes, that is the peak of a new generation. A row that is changed for the first time in
 * a generation keeps what it held before, which is what it held at the peak. What holds: a row of the
 * current generation held peak_bytes at the peak, any other holds what it held then.
 */
#include "profile/ledger.h"

#include "base/memory.h"

#include <stdlib.h>

enum {
    SIZE_BITS = 64,
};

void ledger_init(struct ledger *ledger, const struct capture *capture, uint64_t end_ns,
                 const uint64_t *instants)
{
    *ledger = (struct ledger){.capture = capture, .generation = 1};
    row_table_init(&ledger->rows, capture->stack_count);
    timeline_init(&ledger->timeline, end_ns);
    ledger->intervals.instants = instants;
    ledger->intervals.sample_count = ledger->timeline.bucket_count;
    ledger->threads = memory_allocate(capture->thread_count, sizeof(*ledger->threads));
    ledger->thread_holdings =
        memory_allocate(capture->thread_count, sizeof(*ledger->thread_holdings));
    ledger->processes = memory_allocate(capture->process_count, sizeof(*ledger->processes));
    ledger->process_holdings =
        memory_allocate(capture->process_count, sizeof(*ledger->process_holdings));
}

void ledger_finish(struct ledger *ledger)
{
    row_table_finish(&ledger->rows);
    timeline_finish(&ledger->timeline);
    intervals_finish(&ledger->intervals);
    free(ledger->threads);
    free(ledger->thread_holdings);
    free(ledger->processes);
    free(ledger->process_holdings);
    *ledger = (struct ledger){0};
}

void ledger_advance(struct ledger *ledger, uint64_t time_ns, uint32_t tick)
{
    if (time_ns > ledger->now_ns)
        ledger->now_ns = time_ns;
    ledger->tick = tick;
    timeline_advance(&ledger->timeline, ledger->now_ns, &ledger->heap);
}

/* The heap stops growing: was that a new peak? */
static void end_growth(struct ledger *ledger)
{
    if (ledger->heap.bytes <= ledger->totals.peak_bytes)
        return;
    ledger->totals.peak_bytes = ledger->heap.bytes;
    ledger->totals.peak_allocations = ledger->heap.blocks;
    ledger->totals.peak_time_ns = ledger->grown_ns;
    ledger->generation++;
}

static void touch(const struct ledger *ledger, struct row *row)
{
    if (row->generation == ledger->generation)
        return;
    row->generation = ledger->generation;
    row->peak_bytes = row->live_bytes;
    row->peak_blocks = row->live_blocks;
}

void ledger_change(struct holding *holding, uint64_t added_bytes, uint64_t removed_bytes)
{
    holding->live_bytes += added_bytes - removed_bytes;
    if (added_bytes > 0 && holding->live_bytes > holding->peak_bytes)
        holding->peak_bytes = holding->live_bytes;
}

/* The owners of a row gain or lose bytes. */
static void change_owners(struct ledger *ledger, const struct row *row, uint64_t added_bytes,
                          uint64_t removed_bytes)
{
    uint32_t process = ledger->capture->threads[row->stream].process_index;

    ledger_change(&ledger->thread_holdings[row->stream], added_bytes, removed_bytes);
    ledger_change(&ledger->process_holdings[process], added_bytes, removed_bytes);
    ledger_change(&ledger->allocator_holdings[row->allocator], added_bytes, removed_bytes);
}

void ledger_hold(struct ledger *ledger, struct block *block)
{
    struct row *row;

    if (block->row == ROW_NONE)
        return;
    if (block->bytes == 0)
        end_growth(ledger);
    row = &ledger->rows.rows[block->row];
    touch(ledger, row);
    row->live_bytes += block->bytes;
    row->live_blocks++;
    change_owners(ledger, row, block->bytes, 0);
    ledger->heap.bytes += block->bytes;
    ledger->heap.blocks++;
    ledger->heap.changes++;
    ledger->grown_ns = ledger->now_ns;
    timeline_raise(&ledger->timeline, ledger->now_ns, &ledger->heap);
    if (ledger->intervals.instants != NULL)
        block->bucket = intervals_next(&ledger->intervals, ledger->heap.changes);
}

void ledger_drop(struct ledger *ledger, const struct block *block)
{
    struct row *row;

    if (block->row == ROW_NONE)
        return;
    end_growth(ledger);
    row = &ledger->rows.rows[block->row];
    touch(ledger, row);
    row->live_bytes -= block->bytes;
    row->live_blocks--;
    change_owners(ledger, row, 0, block->bytes);
    ledger->heap.bytes -= block->bytes;
    ledger->heap.blocks--;
    ledger->heap.changes++;
    if (ledger->intervals.instants != NULL)
        intervals_add(&ledger->intervals, block->row, block->bucket,
                      intervals_next(&ledger->intervals, ledger->heap.changes), block->bytes);
}

void ledger_count_allocation(struct ledger *ledger, const struct block *block)
{
    unsigned size_class = block->bytes == 0 ? 0 : SIZE_BITS - __builtin_clzll(block->bytes);
    struct row *row;

    if (block->row == ROW_NONE)
        return;
    row = &ledger->rows.rows[block->row];
    row->allocated_bytes += block->bytes;
    row->allocations++;
    ledger->size_bytes[size_class] += block->bytes;
    ledger->size_allocations[size_class]++;
}

static uint64_t tick_time_ns(const struct ledger *ledger, uint32_t tick)
{
    return tick > 0 ? ledger->capture->ticks[tick - 1].time_ns : 0;
}

/* How long a block has lived: index in profile.lifetimes. */
static uint8_t lifetime_of(const struct ledger *ledger, const struct block *block)
{
    static const uint64_t limits_ns[] = {1000000, 10000000, 100000000, 1000000000};
    uint64_t born_ns;
    uint8_t lifetime = 0;

    if (block->tick == ledger->tick)
        return 0;
    born_ns = tick_time_ns(ledger, block->tick);
    while (lifetime < 4 && ledger->now_ns - born_ns >= limits_ns[lifetime])
        lifetime++;
    return lifetime;
}

/* Add to, or with a step of -1 (all bits set) take from, the counts of releases. */
static void step_release(struct ledger *ledger, const struct block *block, uint32_t stream,
                         uint8_t lifetime, bool is_temporary, uint64_t step)
{
    struct profile_cost *temporary;

    ledger->threads[stream].frees += step;
    ledger->lifetimes[lifetime] += step;
    if (!is_temporary)
        return;
    temporary = &ledger->rows.extras[block->row].temporary;
    temporary->bytes += step * block->bytes;
    temporary->allocations += step;
    ledger->totals.temporary_allocations += step;
}

uint8_t ledger_count_release(struct ledger *ledger, const struct block *block, uint32_t stream,
                             bool is_temporary)
{
    uint8_t lifetime = lifetime_of(ledger, block);

    if (block->row != ROW_NONE)
        step_release(ledger, block, stream, lifetime, is_temporary, 1);
    return lifetime;
}

void ledger_uncount_release(struct ledger *ledger, const struct release *release)
{
    if (release->block.row != ROW_NONE)
        step_release(ledger, &release->block, release->stream, release->lifetime,
                     release->is_temporary, UINT64_MAX);
}

void ledger_count_leak(struct ledger *ledger, const struct block *block)
{
    struct profile_cost *leaks;

    if (block->row == ROW_NONE)
        return;
    leaks = &ledger->rows.extras[block->row].leaks;
    leaks->bytes += block->bytes;
    leaks->allocations++;
    ledger->totals.leaked_bytes += block->bytes;
    ledger->totals.leaked_allocations++;
    ledger->lifetimes[PROFILE_LIFETIMES - 1]++;
}

void ledger_outlive(struct ledger *ledger, const struct block *block)
{
    if (block->row != ROW_NONE && ledger->intervals.instants != NULL &&
        block->bucket < ledger->intervals.sample_count)
        intervals_add(&ledger->intervals, block->row, block->bucket, PROFILE_NEVER, block->bytes);
}

/* What rows and threads have counted, for those who own them. */
static void sum_owners(struct ledger *ledger)
{
    const struct capture *capture = ledger->capture;

    for (uint32_t i = 0; i < ledger->rows.count; i++) {
        const struct row *row = &ledger->rows.rows[i];

        ledger->threads[row->stream].allocations += row->allocations;
        ledger->threads[row->stream].allocated_bytes += row->allocated_bytes;
        ledger->allocators[row->allocator].allocations += row->allocations;
        ledger->allocators[row->allocator].allocated_bytes += row->allocated_bytes;
    }
    for (uint32_t i = 0; i < capture->thread_count; i++) {
        struct profile_owner *thread = &ledger->threads[i];
        struct profile_owner *process = &ledger->processes[capture->threads[i].process_index];

        process->allocations += thread->allocations;
        process->allocated_bytes += thread->allocated_bytes;
        process->frees += thread->frees;
        ledger->totals.allocations += thread->allocations;
        ledger->totals.allocated_bytes += thread->allocated_bytes;
        ledger->totals.frees += thread->frees;
    }
}

void ledger_close(struct ledger *ledger)
{
    timeline_advance(&ledger->timeline, ledger->timeline.end_ns, &ledger->heap);
    end_growth(ledger);
    for (uint32_t i = 0; i < ledger->rows.count; i++)
        touch(ledger, &ledger->rows.rows[i]);
    sum_owners(ledger);
}
