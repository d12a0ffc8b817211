/*
 * Blocks: ALLOC, FREE, and the release of a block taken back. Nearly all events are of these, so the
 * loop over them is here too, with nothing in it that others need. Runs in the tools.
 */
#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "profile/replay_state.h"

enum {
    PREFETCH_AHEAD = 16, /* events; far enough for a cache miss to be over */
    MOST_SLOW = 512, /* events, before it is looked again whether nothing is to be seen of them */
};

static uint64_t key_of(const struct event *event)
{
    return replay_key(event->domain, event->address);
}

/*
 * May a block that was there at a tick have been released while nothing was recorded? Now may be any
 * instant of the tick in force.
 */
static __attribute__((cold, noinline)) bool was_silent_since(const struct ledger *ledger,
                                                             uint32_t tick)
{
    uint32_t base = ledger->tick_base;
    uint64_t born_ns = 0, next_ns = ledger_next_tick_ns(ledger);

    if (tick > base)
        born_ns = ledger->ticks[tick - base - 1].time_ns;
    else if (base > 0) /* there had been no silence when its tick was forgotten */
        born_ns = ledger->ticks[0].time_ns;
    return capture_has_silence(ledger->capture, born_ns,
                               next_ns != UINT64_MAX ? next_ns - 1 : next_ns);
}

static inline void replay_alloc(struct replay *replay, struct replay_process *process,
                                struct replay_stream *stream, const struct event *event)
{
    struct ledger *ledger = replay->ledger;
    uint64_t key = key_of(event);
    struct live_block *live;
    bool is_new;

    if (process->pending_count > 0)
        replay_settle_block(replay, event->stream, key);
    legacy_touch(&process->legacy, key);
    live = live_blocks_put(&process->blocks, key, &is_new);
    if (!is_new || (process->inherited.count > 0 && inherited_remove(&process->inherited, key)))
        ledger->totals.order_violations +=
            stream->is_selected && !was_silent_since(ledger, is_new ? 0 : live->block.tick);
    if (!is_new)
        ledger_drop(ledger, &live->block);
    stream->ordinal++;
    live->block = (struct block){
        .bytes = event->bytes,
        .row = ROW_NONE,
        .tick = ledger->tick,
        .ordinal = stream->ordinal,
    };
    if (!stream->is_selected)
        return;
    live->block.row = row_table_get(&ledger->rows, replay->capture, event->stack, event->stream);
    ledger_count_allocation(ledger, &live->block);
    ledger_hold(ledger, &live->block);
}

/* Released by the thread that allocated it, with few enough other allocations in between? */
static bool is_temporary(const struct replay *replay, const struct block *block, uint32_t stream)
{
    uint32_t between;

    if (block->row == ROW_NONE || replay->ledger->rows.rows[block->row].stream != stream ||
        replay->is_estimate)
        return false;
    /* Exact up to 2^32 allocations in between. */
    between = replay->streams[stream].ordinal - block->ordinal;
    return between <= replay->options->temporary_threshold;
}

/*
 * Take a block away. ret_release: what was counted, or NULL. It is read where it lies and copied only
 * for those who want it: a copy of what was stored field by field a moment ago is slow.
 */
static inline void take_block(struct replay *replay, struct replay_process *process,
                              struct live_block *live, uint32_t stream, struct release *ret_release)
{
    bool is_soon = is_temporary(replay, &live->block, stream);
    uint8_t lifetime = ledger_count_release(replay->ledger, &live->block, stream, is_soon);

    ledger_drop(replay->ledger, &live->block);
    if (ret_release != NULL)
        *ret_release = (struct release){live->block, stream, lifetime, is_soon};
    live_blocks_remove(&process->blocks, live);
}

void replay_release_block(struct replay *replay, uint32_t stream, uint64_t key)
{
    struct replay_process *process = &replay->processes[replay->streams[stream].process];
    struct live_block *live = live_blocks_find(&process->blocks, key);
    struct undo *undo = replay_history(&replay->streams[stream]);

    undo->key = key;
    legacy_touch(&process->legacy, key);
    if (live != NULL)
        take_block(replay, process, live, stream, &undo->release);
    else
        undo->was_inherited = inherited_remove(&process->inherited, key);
}

bool replay_restore_block(struct replay *replay, uint32_t stream, const struct undo *undo)
{
    struct replay_process *process = &replay->processes[replay->streams[stream].process];
    struct live_block *live;
    bool is_new;

    if (live_blocks_find(&process->blocks, undo->key) != NULL)
        return false;
    legacy_touch(&process->legacy, undo->key);
    if (undo->was_inherited) {
        inherited_add(&process->inherited, undo->key);
        return true;
    }
    ledger_uncount_release(replay->ledger, &undo->release);
    live = live_blocks_put(&process->blocks, undo->key, &is_new);
    live->block = undo->release.block;
    ledger_hold(replay->ledger, &live->block);
    return true;
}

/* Return the key of the block that is released by another domain than it came from; 0: none. */
static __attribute__((noinline)) uint64_t key_elsewhere(const struct replay_process *process,
                                                        const struct event *event)
{
    if (!replay_shares_addresses(event->domain))
        return 0;
    for (uint8_t domain = DOMAIN_HEAP; replay_shares_addresses(domain); domain++) {
        uint64_t key = replay_key(domain, event->address);

        if (live_blocks_find(&process->blocks, key) != NULL ||
            inherited_has(&process->inherited, key))
            return key;
    }
    return 0;
}

static inline void replay_free(struct replay *replay, struct replay_process *process,
                               const struct event *event)
{
    uint64_t key = key_of(event);
    struct live_block *live;

    if (process->pending_count > 0)
        replay_settle_block(replay, event->stream, key);
    legacy_touch(&process->legacy, key);
    live = live_blocks_find(&process->blocks, key);
    if (live == NULL && !inherited_has(&process->inherited, key)) {
        key = key_elsewhere(process, event);
        if (key == 0) {
            replay->ledger->totals.unknown_frees +=
                replay->streams[event->stream].is_selected && !replay->leaves_out &&
                !replay->capture->processes[event->process_index].is_late_child;
            return;
        }
        legacy_touch(&process->legacy, key);
        live = live_blocks_find(&process->blocks, key);
    }
    if (replay_is_realloc(event->allocator) && replay->is_partial)
        replay_release_block(replay, event->stream, key);
    else if (replay_is_realloc(event->allocator))
        replay_wait(replay, event->stream, (struct pending){.is_set = true, .key = key});
    else if (live != NULL)
        take_block(replay, process, live, event->stream, NULL);
    else
        inherited_remove(&process->inherited, key);
}

/* One after the other, whatever they are. */
static void tell_events(struct replay *replay, const struct event *events, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct event *event = &events[i];
        struct replay_stream *stream = &replay->streams[event->stream];
        struct replay_process *process = &replay->processes[event->process_index];

        if (i + PREFETCH_AHEAD < count)
            live_blocks_prefetch(&process->blocks, key_of(event + PREFETCH_AHEAD));
        if (event->tick != replay->tick || event->segment >= process->fork_segment ||
            stream->pending.is_set)
            replay_prepare(replay, event);
        if (event->op == EVENT_ALLOC && replay_is_shown(replay, event->domain))
            replay_alloc(replay, process, stream, event);
        else if (event->op == EVENT_FREE && replay_is_shown(replay, event->domain))
            replay_free(replay, process, event);
        else
            replay_rare(replay, event);
    }
}

/*
 * Where there is something to be seen of an event there often is of the next ones too: the more have
 * been, the more are told before it is looked again.
 */
void replay_events(struct replay *replay, const struct event *events, uint32_t count)
{
    uint32_t i = 0;

    while (i < count) {
        uint32_t quiet_count = replay_quiet(replay, events + i, count - i);
        uint32_t slow_count;

        if (quiet_count > replay->slow_count)
            replay->slow_count = 1;
        else if (replay->slow_count < MOST_SLOW)
            replay->slow_count *= 2;
        i += quiet_count;
        slow_count = count - i < replay->slow_count ? count - i : replay->slow_count;
        tell_events(replay, events + i, slow_count);
        i += slow_count;
    }
}
