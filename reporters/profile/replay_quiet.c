/*
 * Events below the peak: most of all there are. Runs in the tools.
 *
 * As long as the heap does not pass its peak, what a block does to rows and owners is summed up where
 * it lies, without asking what replay_events() has to ask of each event. What holds: what has been told
 * here leaves behind what replay_events() would.
 */
#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "profile/replay_state.h"

enum {
    PREFETCH_AHEAD = 16, /* events; far enough for a cache miss to be over */
    ROW_AHEAD = 8,       /* their rows, of which the numbers are there by then */
};

/* Events of one thread in one tick, from here on. */
struct span {
    struct replay *replay;
    struct ledger *ledger;
    struct live_blocks *blocks;
    const struct event *first;
    struct timeline_heap heap;
    uint64_t most_bytes; /* the peak so far */
    uint64_t high_bytes; /* of it, in the span */
    struct holding own;  /* of the thread */
    uint64_t free_count;
    uint32_t stream, ordinal;
};

static void begin(struct span *span, struct replay *replay, const struct event *first)
{
    struct ledger *ledger = replay->ledger;

    *span = (struct span){
        .replay = replay,
        .ledger = ledger,
        .blocks = &replay->processes[first->process_index].blocks,
        .first = first,
        .heap = ledger->heap,
        .most_bytes = ledger->totals.peak_bytes,
        .high_bytes = ledger->heap.bytes,
        .own = ledger->thread_holdings[first->stream],
        .stream = first->stream,
        .ordinal = replay->streams[first->stream].ordinal,
    };
}

/* What was summed up. */
static void end(const struct span *span, uint64_t told_count)
{
    struct ledger *ledger = span->ledger;
    struct holding *all = &ledger->process_holdings[span->first->process_index];
    struct replay_stream *stream = &span->replay->streams[span->stream];

    if (told_count == 0)
        return;
    if (all->live_bytes + (span->high_bytes - ledger->heap.bytes) > all->peak_bytes)
        all->peak_bytes = all->live_bytes + (span->high_bytes - ledger->heap.bytes);
    all->live_bytes += span->heap.bytes - ledger->heap.bytes;
    if (span->high_bytes > ledger->high_bytes)
        ledger->high_bytes = span->high_bytes;
    ledger->thread_holdings[span->stream] = span->own;
    ledger->heap = span->heap;
    ledger->threads[span->stream].frees += span->free_count;
    stream->ordinal = span->ordinal;
}

static inline bool take_allocation(struct span *span, const struct event *event)
{
    struct ledger *ledger = span->ledger;
    uint64_t key = replay_key(event->domain, event->address), bytes = event->bytes;
    struct live_block *live;
    struct row *row;
    uint32_t index;
    bool is_new;

    if (bytes > span->most_bytes - span->heap.bytes)
        return false;
    live = live_blocks_put(span->blocks, key, &is_new);
    if (!is_new)
        return false;
    index = row_table_get(&ledger->rows, span->replay->capture, event->stack, span->stream);
    row = &ledger->rows.rows[index];
    ledger_touch(ledger, row);
    row->live_bytes += bytes;
    row->live_blocks++;
    ledger_change(&ledger->allocator_holdings[row->allocator], bytes, 0);
    ledger_change(&span->own, bytes, 0);
    span->heap.bytes += bytes;
    span->heap.blocks++;
    if (span->heap.bytes > span->high_bytes)
        span->high_bytes = span->heap.bytes;
    live->block.bytes = bytes;
    live->block.row = index;
    live->block.tick = ledger->tick;
    live->block.ordinal = ++span->ordinal;
    live->block.shown = timeline_add(&ledger->timeline, ledger->now_ns, &span->heap);
    ledger_sum_allocation(ledger, row, bytes, (struct profile_cost){bytes, 1});
    return true;
}

/* A release by realloc may be taken back. */
static __attribute__((noinline)) void remember(struct span *span, uint64_t key,
                                               const struct release *release)
{
    struct undo *undo = replay_history(&span->replay->streams[span->stream]);

    undo->key = key;
    undo->release = *release;
}

/*
 * Is the event after this one, of which there are so many, its thread's next one, and does a release
 * that waits for it take place then?
 */
static bool is_followed(const struct span *span, const struct event *event, uint32_t left_count)
{
    const struct event *next = event + 1;

    return left_count > 1 && next->stream == span->stream && next->tick == event->tick &&
           next->segment == event->segment && (next->op == EVENT_ALLOC || next->op == EVENT_FREE);
}

/* Whose the block was. */
static inline void take_from_owners(struct span *span, struct row *row, uint64_t bytes)
{
    struct ledger *ledger = span->ledger;

    ledger_touch(ledger, row);
    row->live_bytes -= bytes;
    row->live_blocks--;
    ledger->allocator_holdings[row->allocator].live_bytes -= bytes;
    if (row->stream == span->stream)
        span->own.live_bytes -= bytes;
    else
        ledger->thread_holdings[row->stream].live_bytes -= bytes;
    span->heap.bytes -= bytes;
    span->heap.blocks--;
}

static inline bool take_release(struct span *span, const struct event *event, uint32_t left_count)
{
    struct ledger *ledger = span->ledger;
    uint64_t key = replay_key(event->domain, event->address);
    bool is_realloc = replay_is_realloc(event->allocator), is_soon;
    struct live_block *live;
    struct block *block;
    struct row *row;
    uint8_t lifetime;

    if (is_realloc && !is_followed(span, event, left_count))
        return false;
    live = live_blocks_find(span->blocks, key);
    if (live == NULL || live->block.row == ROW_NONE)
        return false;
    block = &live->block;
    row = &ledger->rows.rows[block->row];
    /* Of blocks that die in the tick of their birth, which most do, nothing has to be worked out. */
    lifetime = block->tick == ledger->tick ? 0 : ledger_lifetime(ledger, block->tick);
    is_soon = span->ordinal - block->ordinal <= span->replay->options->temporary_threshold &&
              row->stream == span->stream;
    span->free_count++;
    ledger->lifetimes[lifetime]++;
    if (is_soon)
        ledger_step_temporary(ledger, block, (struct profile_cost){block->bytes, 1}, 1);
    take_from_owners(span, row, block->bytes);
    if (ledger->intervals.is_wanted)
        intervals_add(&ledger->intervals, &ledger->timeline, block->row, block->shown,
                      timeline_remove(&ledger->timeline), (struct profile_cost){block->bytes, 1});
    else
        timeline_remove(&ledger->timeline);
    if (is_realloc)
        remember(span, key, &(struct release){*block, span->stream, lifetime, is_soon});
    live_blocks_remove(span->blocks, live);
    return true;
}

/* Begin to load what the events ahead will need. A release says stack 0: nothing is lost by it. */
static inline void prefetch(const struct span *span, const struct event *event, uint32_t left_count)
{
    const struct event *far = event + PREFETCH_AHEAD, *near = event + ROW_AHEAD;
    const struct row_table *rows = &span->ledger->rows;
    uint32_t latest;

    if (left_count <= PREFETCH_AHEAD)
        return;
    live_blocks_prefetch(span->blocks, replay_key(far->domain, far->address));
    __builtin_prefetch(&rows->latest[far->stack], 1);
    latest = rows->latest[near->stack];
    __builtin_prefetch(&rows->rows[latest - (latest > 0)], 1);
}

/* Is there nothing that has to be asked of each event? */
static bool is_possible(const struct replay *replay, const struct event *first)
{
    const struct replay_process *process = &replay->processes[first->process_index];

    return !replay->is_partial && process->pending_count == 0 && process->inherited.count == 0 &&
           process->legacy.changed == NULL && replay->streams[first->stream].is_selected &&
           replay->ledger->heap.bytes <= replay->ledger->totals.peak_bytes &&
           replay->capture->stack_count > 0;
}

uint32_t replay_quiet(struct replay *replay, const struct event *events, uint32_t count)
{
    uint64_t fork_segment = replay->processes[events->process_index].fork_segment;
    struct span span;
    uint32_t i = 0;

    if (!is_possible(replay, events))
        return 0;
    begin(&span, replay, events);
    for (; i < count; i++) {
        const struct event *event = &events[i];

        prefetch(&span, event, count - i);
        if (event->stream != span.stream || event->tick != replay->tick ||
            event->segment >= fork_segment || !replay_is_shown(replay, event->domain))
            break;
        if (event->op == EVENT_ALLOC
                ? !take_allocation(&span, event)
                : event->op != EVENT_FREE || !take_release(&span, event, count - i))
            break;
    }
    end(&span, i);
    return i;
}
