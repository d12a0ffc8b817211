/*
 * Ranges: MAP, UNMAP, PROTECT, and the release of a range taken back. Runs in the tools.
 *
 * A range that is released or changed in part is cut: its parts are ranges of their own, each of
 * them counted. What holds: a range's bytes are in the ledger while it is in the tree, under the
 * name of its class.
 */
#include "memtrack/protocol.h"
#include "profile/replay_state.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

/* What cut_out() found of a range. */
struct piece {
    struct range range; /* only the part asked for */
    bool is_found;
};

bool replay_is_heap_class(uint8_t map_class)
{
    return map_class == CLASS_ANONYMOUS || map_class == CLASS_SHARED || map_class == CLASS_STACK;
}

/* No sum of an address and a length wraps around: addresses have 57 bits. */
static uint64_t end_of(uint64_t address, uint64_t bytes)
{
    return bytes > UINT64_MAX - address ? UINT64_MAX : address + bytes;
}

/* The holding of a class that is counted apart, or NULL. */
static struct holding *holding_of(struct ledger *ledger, uint8_t map_class)
{
    assert(ledger != NULL);
    if (map_class == CLASS_RESERVED)
        return &ledger->reserved;
    if (map_class == CLASS_FILE_PRIVATE || map_class == CLASS_FILE_SHARED)
        return &ledger->mapped_file;
    return NULL;
}

/* Put a range into the tree and into the ledger; its bytes are set to its length. */
static void insert(struct replay *replay, struct replay_process *process, struct range *range)
{
    struct holding *holding = holding_of(replay->ledger, range->map_class);

    range->block.bytes = range->end - range->start;
    range->block.row = ROW_NONE;
    if (range->is_counted && replay_is_heap_class(range->map_class))
        range->block.row =
            row_table_get(&replay->ledger->rows, replay->capture, range->stack, range->stream);
    if (range->is_counted && holding != NULL)
        ledger_change(holding, range->block.bytes, 0);
    ledger_hold(replay->ledger, &range->block);
    ranges_add(&process->ranges, range);
}

static void remove_whole(struct replay *replay, struct replay_process *process,
                         const struct range *range)
{
    struct holding *holding = holding_of(replay->ledger, range->map_class);

    if (range->is_counted && holding != NULL)
        ledger_change(holding, 0, range->block.bytes);
    ledger_drop(replay->ledger, &range->block);
    ranges_remove(&process->ranges, range->start);
}

/* Take the lowest part of [start, end) that is mapped out of the tree and the ledger. */
static struct piece cut_out(struct replay *replay, struct replay_process *process, uint64_t start,
                            uint64_t end)
{
    const struct range *found = ranges_first(&process->ranges, start, end);
    struct piece piece = {.is_found = found != NULL};
    struct range whole;

    if (found == NULL)
        return piece;
    whole = *found;
    remove_whole(replay, process, &whole);
    piece.range = whole;
    if (whole.start < start) {
        struct range below = whole;

        below.end = start;
        insert(replay, process, &below);
        piece.range.start = start;
    }
    if (whole.end > end) {
        struct range above = whole;

        above.start = end;
        insert(replay, process, &above);
        piece.range.end = end;
    }
    piece.range.block.bytes = piece.range.end - piece.range.start;
    return piece;
}

/* Release what is mapped of [start, end). undo: where it is remembered, or NULL. */
static void release(struct replay *replay, uint32_t stream, uint64_t start, uint64_t end,
                    struct undo *undo)
{
    struct replay_process *process = &replay->processes[replay->streams[stream].process];
    struct piece piece;

    while (start < end) {
        struct range_release *kept, done;

        piece = cut_out(replay, process, start, end);
        if (!piece.is_found)
            return;
        start = piece.range.end;
        done = (struct range_release){piece.range, {.block = piece.range.block, .stream = stream}};
        done.release.lifetime =
            ledger_count_release(replay->ledger, &done.release.block, stream, false);
        if (undo == NULL)
            continue;
        undo->ranges = memory_grow(undo->ranges, &undo->range_capacity, undo->range_count + 1,
                                   sizeof(*undo->ranges));
        kept = &undo->ranges[undo->range_count++];
        *kept = done;
    }
}

void replay_release_range(struct replay *replay, uint32_t stream, uint64_t address, uint64_t bytes)
{
    struct undo *undo = replay_history(&replay->streams[stream]);

    undo->key = address;
    undo->is_range = true;
    release(replay, stream, address, end_of(address, bytes), undo);
}

uint32_t replay_restore_range(struct replay *replay, uint32_t stream, const struct undo *undo)
{
    struct replay_process *process = &replay->processes[replay->streams[stream].process];
    uint32_t taken_count = 0;

    for (size_t i = 0; i < undo->range_count; i++) {
        struct range range = undo->ranges[i].range;

        if (ranges_first(&process->ranges, range.start, range.end) != NULL) {
            taken_count++;
            continue;
        }
        ledger_uncount_release(replay->ledger, &undo->ranges[i].release);
        insert(replay, process, &range);
    }
    return taken_count;
}

void replay_map(struct replay *replay, const struct event *event)
{
    const struct replay_stream *stream = &replay->streams[event->stream];
    struct replay_process *process = &replay->processes[event->process_index];
    struct range range = {
        .start = event->address,
        .end = end_of(event->address, event->bytes),
        .block = {.tick = replay->ledger->tick, .ordinal = ++replay->map_ordinal},
        .stream = event->stream,
        .stack = event->stack,
        .map_class = replay->capture->stacks[event->stack].map_class,
        .is_counted = stream->is_selected,
    };

    replay_settle_range(replay, event->stream, event->address, event->bytes);
    if (range.start >= range.end)
        return;
    release(replay, event->stream, range.start, range.end, NULL);
    insert(replay, process, &range);
    ledger_count_allocation(replay->ledger, &range.block);
}

void replay_unmap(struct replay *replay, const struct event *event)
{
    struct pending pending = {
        .is_set = true, .is_range = true, .key = event->address, .bytes = event->bytes};

    replay_settle_range(replay, event->stream, event->address, event->bytes);
    if (event->allocator == ALLOCATOR_MREMAP || event->allocator == ALLOCATOR_MMAP)
        replay_wait(replay, event->stream, pending);
    else
        replay_release_range(replay, event->stream, event->address, event->bytes);
}

/*
 * Change the class of one part. What becomes heap counts as allocated then, by the stack that mapped
 * it; what no longer is counts as released.
 */
static void change_class(struct replay *replay, uint32_t stream, struct range part,
                         uint8_t map_class)
{
    struct replay_process *process = &replay->processes[replay->streams[stream].process];
    bool was_heap = replay_is_heap_class(part.map_class);
    bool is_heap = replay_is_heap_class(map_class);

    if (was_heap && !is_heap)
        ledger_count_release(replay->ledger, &part.block, stream, false);
    if (!was_heap && is_heap) {
        part.block.tick = replay->ledger->tick;
        part.block.ordinal = ++replay->map_ordinal;
    }
    part.map_class = map_class;
    insert(replay, process, &part);
    if (!was_heap && is_heap)
        ledger_count_allocation(replay->ledger, &part.block);
}

void replay_protect(struct replay *replay, const struct event *event)
{
    struct replay_process *process = &replay->processes[event->process_index];
    uint64_t at = event->address, end = end_of(event->address, event->bytes);

    replay_settle_range(replay, event->stream, event->address, event->bytes);
    while (at < end) {
        const struct range *next = ranges_first(&process->ranges, at, end);

        if (next == NULL)
            return;
        if (next->map_class == event->map_class) {
            at = next->end;
        } else {
            struct piece piece = cut_out(replay, process, at, end);

            at = piece.range.end;
            change_class(replay, event->stream, piece.range, event->map_class);
        }
    }
}

void replay_leak_ranges(struct replay *replay, struct replay_process *process, bool has_ended)
{
    uint64_t at = 0;
    const struct range *next;

    while ((next = ranges_first(&process->ranges, at, UINT64_MAX)) != NULL) {
        struct range range = *next;

        at = range.end;
        ledger_count_leak(replay->ledger, &range.block, true);
        if (has_ended)
            remove_whole(replay, process, &range);
        else
            ledger_outlive(replay->ledger, &range.block);
    }
}

void replay_copy_ranges(struct replay_process *child, const struct replay_process *parent)
{
    uint64_t at = 0;
    const struct range *next;

    while ((next = ranges_first(&parent->ranges, at, UINT64_MAX)) != NULL) {
        struct range range = *next;

        at = range.end;
        range.is_counted = false;
        range.block.row = ROW_NONE;
        ranges_add(&child->ranges, &range);
    }
}
