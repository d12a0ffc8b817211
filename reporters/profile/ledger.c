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

void ledger_init(struct ledger *ledger, const struct capture *capture, bool has_intervals)
{
    *ledger = (struct ledger){.capture = capture, .generation = 1};
    timeline_init(&ledger->timeline);
    ledger->intervals.is_wanted = has_intervals;
    ledger_extend(ledger);
}

void ledger_extend(struct ledger *ledger)
{
    static const struct capture_tick no_tick = {0};
    const struct capture *capture = ledger->capture;

    ledger->ticks = capture->tick_count > 0 ? capture->ticks : &no_tick;
    ledger->tick_base = capture->tick_base;
    row_table_extend(&ledger->rows, capture->stack_count);
    ledger->threads = memory_grow_zeroed(ledger->threads, &ledger->thread_capacity,
                                         capture->thread_count, sizeof(*ledger->threads));
    ledger->thread_holdings =
        memory_grow_zeroed(ledger->thread_holdings, &ledger->thread_holding_capacity,
                           capture->thread_count, sizeof(*ledger->thread_holdings));
    ledger->processes = memory_grow_zeroed(ledger->processes, &ledger->process_capacity,
                                           capture->process_count, sizeof(*ledger->processes));
    ledger->process_holdings =
        memory_grow_zeroed(ledger->process_holdings, &ledger->process_holding_capacity,
                           capture->process_count, sizeof(*ledger->process_holdings));
}

struct ledger ledger_copy(const struct ledger *ledger)
{
    uint32_t thread_count = ledger->capture->thread_count;
    uint32_t process_count = ledger->capture->process_count;
    struct ledger copy = *ledger;

    copy.rows = row_table_copy(&ledger->rows);
    copy.timeline = timeline_copy(&ledger->timeline);
    copy.intervals = intervals_copy(&ledger->intervals);
    copy.threads = memory_copy(ledger->threads, thread_count, sizeof(*copy.threads));
    copy.thread_holdings =
        memory_copy(ledger->thread_holdings, thread_count, sizeof(*copy.thread_holdings));
    copy.processes = memory_copy(ledger->processes, process_count, sizeof(*copy.processes));
    copy.process_holdings =
        memory_copy(ledger->process_holdings, process_count, sizeof(*copy.process_holdings));
    return copy;
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

/* The time axis goes on to an instant behind its last bucket. */
static void lengthen(struct ledger *ledger, uint64_t time_ns)
{
    struct timeline_pairs pairs;

    ledger->heap.allocations = 0;
    for (unsigned i = 0; i < PROFILE_SIZE_CLASSES; i++)
        ledger->heap.allocations += ledger->size_allocations[i];
    intervals_settle(&ledger->intervals, &ledger->timeline);
    while (!timeline_advance(&ledger->timeline, time_ns, &ledger->heap)) {
        timeline_halve(&ledger->timeline, &pairs);
        intervals_halve(&ledger->intervals, &pairs);
    }
}

void ledger_advance(struct ledger *ledger, uint64_t time_ns, uint32_t tick)
{
    if (time_ns > ledger->now_ns)
        ledger->now_ns = time_ns;
    ledger->tick = tick;
    if (timeline_is_over(&ledger->timeline, ledger->now_ns))
        lengthen(ledger, ledger->now_ns);
}

void ledger_note_peak(struct ledger *ledger)
{
    ledger->totals.peak_bytes = ledger->heap.bytes;
    ledger->totals.peak_allocations = ledger->heap.blocks;
    ledger->totals.peak_time_ns = ledger->grown_ns;
    ledger->variances[VIEW_PEAK] = ledger->live_variance;
    ledger->generation++;
}

void ledger_uncount_release(struct ledger *ledger, const struct release *release)
{
    if (release->block.row != ROW_NONE)
        ledger_step_release(ledger, &release->block, release->stream, release->lifetime,
                            release->is_temporary, UINT64_MAX);
}

void ledger_count_leak(struct ledger *ledger, const struct block *block, bool is_range)
{
    struct profile_cost *leaks, cost;

    if (block->row == ROW_NONE ||
        (ledger->leaks_born != NULL &&
         !births_has(ledger->leaks_born, block, ledger->rows.rows[block->row].stream, is_range)))
        return;
    cost = ledger_cost(ledger, block);
    leaks = &ledger->rows.extras[block->row].leaks;
    leaks->bytes += cost.bytes;
    leaks->allocations += cost.allocations;
    ledger->variances[VIEW_LEAKS] += ledger_variance(ledger, block);
    ledger->totals.leaked_bytes += cost.bytes;
    ledger->totals.leaked_allocations += cost.allocations;
    ledger->lifetimes[PROFILE_LIFETIMES - 1] += cost.allocations;
}

void ledger_outlive(struct ledger *ledger, const struct block *block)
{
    if (block->row != ROW_NONE && ledger->intervals.is_wanted)
        intervals_add_last(&ledger->intervals, &ledger->timeline, block->row, block->shown,
                           ledger_cost(ledger, block));
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

void ledger_end_time(struct ledger *ledger, uint64_t end_ns)
{
    lengthen(ledger, end_ns);
}

void ledger_close(struct ledger *ledger)
{
    ledger_end_growth(ledger);
    for (uint32_t i = 0; i < ledger->rows.count; i++)
        ledger_touch(ledger, &ledger->rows.rows[i]);
    sum_owners(ledger);
}
