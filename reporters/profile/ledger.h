/*
 * The sums: what is live and what was, by row, thread, process and allocator, and the exact peak.
 *
 * It is told of changes in their order and does not know events. Rows are the only thing that
 * grows. Not thread-safe.
 */
#ifndef PROFILE_LEDGER_H
#define PROFILE_LEDGER_H

#include "profile/births.h"
#include "profile/block.h"
#include "profile/estimate.h"
#include "profile/intervals.h"
#include "profile/profile.h"
#include "profile/row_table.h"
#include "profile/timeline.h"

#include <stdbool.h>
#include <stdint.h>

/* What one owner holds, and the most it ever held. */
struct holding {
    uint64_t live_bytes, peak_bytes;
};

#define LEDGER_SHORT_NS \
    UINT64_C(1000000) /* the first of lifetimes ends; others are 10 times longer */

struct ledger {
    const struct capture *capture;    /* the owner's */
    const struct capture_tick *ticks; /* the capture's; one of time 0 when it has none */
    uint32_t tick_base;               /* as in the capture */
    struct row_table rows;
    struct timeline_heap heap;
    struct timeline timeline;
    struct intervals intervals;
    uint64_t now_ns;
    uint32_t tick; /* index in capture.ticks + 1 of now_ns; 0: before the first */
    /* The peak: see ledger.c. */
    uint64_t generation;
    uint64_t grown_ns;   /* when the heap last grew */
    uint64_t high_bytes; /* the heap at its highest since this was last set */
    struct profile_totals totals;
    struct profile_allocator allocators[256];
    struct holding allocator_holdings[256];
    struct profile_owner *threads, *processes;
    struct holding *thread_holdings, *process_holdings;
    size_t thread_capacity, process_capacity, thread_holding_capacity, process_holding_capacity;
    struct holding reserved, mapped_file;
    uint64_t size_allocations[PROFILE_SIZE_CLASSES], size_bytes[PROFILE_SIZE_CLASSES];
    uint64_t lifetimes[PROFILE_LIFETIMES];
    /*
     * Of sums of bytes, as estimate_variance() in the capture's unit: of what is live now, and of the
     * views.
     */
    uint64_t live_variance, variances[VIEW_COUNT];
    const struct births *leaks_born; /* the owner's: others are no leaks; NULL: all are */
};

/* Begin. Context: tool. */
void ledger_init(struct ledger *ledger, const struct capture *capture, bool has_intervals);

/* The capture's tables have grown, or moved. Context: tool. */
void ledger_extend(struct ledger *ledger);

/*
 * Return a ledger that says the same, to be brought to an end while this one goes on: what is live may
 * be told to it, but nothing can be allocated. To be given to ledger_finish(). Context: tool.
 */
struct ledger ledger_copy(const struct ledger *ledger);

/* Give it back; all zero bytes is allowed. Context: tool. */
void ledger_finish(struct ledger *ledger);

/* Go on to an instant. tick: as in the struct. Context: tool. */
void ledger_advance(struct ledger *ledger, uint64_t time_ns, uint32_t tick);

/* The heap is higher than ever and stops growing: it is a new peak. Context: tool. */
void ledger_note_peak(struct ledger *ledger);

/* A release by a thread, as it was counted. */
struct release {
    struct block block;
    uint32_t stream;   /* who released it */
    uint8_t lifetime;  /* index in lifetimes */
    bool is_temporary; /* so soon that it counts as temporary */
};

/* The release did not happen. Context: tool. */
void ledger_uncount_release(struct ledger *ledger, const struct release *release);

/* A block, or what is left of a range, was never released. Context: tool. */
void ledger_count_leak(struct ledger *ledger, const struct block *block, bool is_range);

/* It is there still after all events: every sample from its first one on shows it. Context: tool. */
void ledger_outlive(struct ledger *ledger, const struct block *block);

/*
 * There are no more changes: every sample up to the end of time is there, and what is live may be
 * told by ledger_outlive(). end_ns: not before any instant that was told. Context: tool.
 */
void ledger_end_time(struct ledger *ledger, uint64_t end_ns);

/* All events have been told, leaks too. Rows' peaks and intervals are right from here on. Context: tool. */
void ledger_close(struct ledger *ledger);

/*
 * What follows is done for every event: inline, since calls would cost as much as what they do.
 */

/* A holding changes. Context: tool. */
static inline void ledger_change(struct holding *holding, uint64_t added_bytes,
                                 uint64_t removed_bytes)
{
    holding->live_bytes += added_bytes - removed_bytes;
    if (added_bytes > 0 && holding->live_bytes > holding->peak_bytes)
        holding->peak_bytes = holding->live_bytes;
}

/* The owners of a row gain or lose bytes. */
static inline void ledger_change_owners(struct ledger *ledger, const struct row *row,
                                        uint64_t added_bytes, uint64_t removed_bytes)
{
    ledger_change(&ledger->thread_holdings[row->stream], added_bytes, removed_bytes);
    ledger_change(&ledger->process_holdings[row->process], added_bytes, removed_bytes);
    ledger_change(&ledger->allocator_holdings[row->allocator], added_bytes, removed_bytes);
}

/* The heap stops growing: was that a new peak? */
static inline void ledger_end_growth(struct ledger *ledger)
{
    if (ledger->heap.bytes > ledger->totals.peak_bytes)
        ledger_note_peak(ledger);
}

/* A row is about to change: see ledger.c. */
static inline void ledger_touch(const struct ledger *ledger, struct row *row)
{
    if (row->generation == ledger->generation)
        return;
    row->generation = ledger->generation;
    row->peak_bytes = row->live_bytes;
    row->peak_blocks = row->live_blocks;
}

/* Return what a block of a row, which is not ROW_NONE, costs: of a sample, what it stands for. */
static inline struct profile_cost ledger_cost(const struct ledger *ledger,
                                              const struct block *block)
{
    const struct row *row = &ledger->rows.rows[block->row];

    if (__builtin_expect(row->sampling != ROW_IS_WHOLE, false))
        return estimate_cost(row_mean_bytes(row, ledger->capture), block->bytes, block->ordinal);
    return (struct profile_cost){block->bytes, 1};
}

/* Return what it adds to a variance. */
static inline uint64_t ledger_variance(const struct ledger *ledger, const struct block *block)
{
    const struct row *row = &ledger->rows.rows[block->row];

    if (__builtin_expect(row->sampling != ROW_IS_WHOLE, false))
        return estimate_variance(estimate_unit_bytes(ledger->capture),
                                 row_mean_bytes(row, ledger->capture), block->bytes);
    return 0;
}

/*
 * A block is there now; block->bytes and block->row say what and whose, shown is filled in. A
 * row of ROW_NONE changes nothing, here and below. Context: tool.
 */
static inline void ledger_hold(struct ledger *ledger, struct block *block)
{
    struct profile_cost cost;
    struct row *row;

    if (block->row == ROW_NONE)
        return;
    if (block->bytes == 0)
        ledger_end_growth(ledger);
    row = &ledger->rows.rows[block->row];
    cost = ledger_cost(ledger, block);
    ledger_touch(ledger, row);
    row->live_bytes += cost.bytes;
    row->live_blocks += (uint32_t)cost.allocations;
    ledger_change_owners(ledger, row, cost.bytes, 0);
    ledger->live_variance += ledger_variance(ledger, block);
    ledger->heap.bytes += cost.bytes;
    ledger->heap.blocks += cost.allocations;
    ledger->grown_ns = ledger->now_ns;
    if (ledger->heap.bytes > ledger->high_bytes)
        ledger->high_bytes = ledger->heap.bytes;
    block->shown = timeline_add(&ledger->timeline, ledger->now_ns, &ledger->heap);
}

/* A block is not there any more. Context: tool. */
static inline void ledger_drop(struct ledger *ledger, const struct block *block)
{
    struct profile_cost cost;
    struct row *row;
    uint32_t run;

    if (block->row == ROW_NONE)
        return;
    ledger_end_growth(ledger);
    row = &ledger->rows.rows[block->row];
    cost = ledger_cost(ledger, block);
    ledger_touch(ledger, row);
    row->live_bytes -= cost.bytes;
    row->live_blocks -= (uint32_t)cost.allocations;
    ledger_change_owners(ledger, row, 0, cost.bytes);
    ledger->live_variance -= ledger_variance(ledger, block);
    ledger->heap.bytes -= cost.bytes;
    ledger->heap.blocks -= cost.allocations;
    run = timeline_remove(&ledger->timeline);
    if (ledger->intervals.is_wanted)
        intervals_add(&ledger->intervals, &ledger->timeline, block->row, block->shown, run, cost);
}

/* So many bytes of a row, or what they stand for, are allocated. */
static inline void ledger_sum_allocation(struct ledger *ledger, struct row *row, uint64_t bytes,
                                         struct profile_cost cost)
{
    unsigned size_class = bytes == 0 ? 0 : 64 - (unsigned)__builtin_clzll(bytes);

    row->allocated_bytes += cost.bytes;
    row->allocations += cost.allocations;
    ledger->size_bytes[size_class] += cost.bytes;
    ledger->size_allocations[size_class] += cost.allocations;
}

/* It is there because the program allocated it just now. Context: tool. */
static inline void ledger_count_allocation(struct ledger *ledger, const struct block *block)
{
    if (block->row == ROW_NONE)
        return;
    ledger_sum_allocation(ledger, &ledger->rows.rows[block->row], block->bytes,
                          ledger_cost(ledger, block));
    ledger->variances[VIEW_ALLOCATED] += ledger_variance(ledger, block);
}

/* Add to, or with a step of -1 (all bits set) take from, what was temporary. Context: tool. */
static inline void ledger_step_temporary(struct ledger *ledger, const struct block *block,
                                         struct profile_cost cost, uint64_t step)
{
    struct profile_cost *temporary = &ledger->rows.extras[block->row].temporary;

    temporary->bytes += step * cost.bytes;
    temporary->allocations += step * cost.allocations;
    ledger->totals.temporary_allocations += step * cost.allocations;
}

/* The same with the counts of releases. */
static inline void ledger_step_release(struct ledger *ledger, const struct block *block,
                                       uint32_t stream, uint8_t lifetime, bool is_temporary,
                                       uint64_t step)
{
    struct profile_cost cost = ledger_cost(ledger, block);

    ledger->threads[stream].frees += step * cost.allocations;
    ledger->lifetimes[lifetime] += step * cost.allocations;
    if (is_temporary)
        ledger_step_temporary(ledger, block, cost, step);
}

/* Return when the next tick begins that is known; UINT64_MAX: none is. Context: tool. */
static inline uint64_t ledger_next_tick_ns(const struct ledger *ledger)
{
    const struct capture *capture = ledger->capture;

    return ledger->tick - capture->tick_base < capture->tick_count
               ? capture->ticks[ledger->tick - capture->tick_base].time_ns
               : UINT64_MAX;
}

/*
 * Index in lifetimes of how long has lived what was born in a tick. No branch depends on it: how long
 * a block lives is not to be foreseen.
 */
static inline uint8_t ledger_lifetime(const struct ledger *ledger, uint32_t tick)
{
    bool is_known = tick > ledger->tick_base; /* else before the first, or long ago */
    uint32_t index = (tick - ledger->tick_base - 1) & -(uint32_t)is_known;
    uint64_t born_ns = ledger->ticks[index].time_ns & -(uint64_t)is_known;
    uint64_t lived_ns = (ledger->now_ns - born_ns) & -(uint64_t)(tick != ledger->tick);

    return (uint8_t)((lived_ns >= LEDGER_SHORT_NS) + (lived_ns >= 10 * LEDGER_SHORT_NS) +
                     (lived_ns >= 100 * LEDGER_SHORT_NS) + (lived_ns >= 1000 * LEDGER_SHORT_NS));
}

/*
 * A block is not there because a thread released it.
 * is_temporary: so soon that it counts as temporary.
 * Returns its lifetime, as struct release has it. Context: tool.
 */
static inline uint8_t ledger_count_release(struct ledger *ledger, const struct block *block,
                                           uint32_t stream, bool is_temporary)
{
    uint8_t lifetime = ledger_lifetime(ledger, block->tick);

    if (block->row != ROW_NONE)
        ledger_step_release(ledger, block, stream, lifetime, is_temporary, 1);
    return lifetime;
}

#endif
