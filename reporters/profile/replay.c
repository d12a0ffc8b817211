/*
 * Events in their order, told to blocks and ranges. Runs in the tools.
 *
 * A release by realloc, mremap or a fixed mmap waits until its thread's next event: UNDO drops it,
 * anything else makes it take place just before. A forked child shares its parent's blocks,
 * as they were after the parent's events below the child's first segment. A process's blocks go
 * when it ends. What holds: no event is told before what is earlier in time has been done.
 */
#include "profile/replay.h"

#include "base/memory.h"
#include "capture/load.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "profile/replay_state.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t none = UINT32_MAX; /* of indexes */

static bool is_process_selected(const struct replay *replay, uint32_t index)
{
    uint32_t wanted = replay->options->process_number;

    return wanted == 0 || replay->capture->processes[index].number == wanted;
}

struct undo *replay_history(struct replay_stream *stream)
{
    struct undo oldest;

    if (stream->undos == NULL)
        stream->undos = memory_allocate(UNDO_DEPTH, sizeof(*stream->undos));
    oldest = stream->undos[UNDO_DEPTH - 1];
    memmove(stream->undos + 1, stream->undos, (UNDO_DEPTH - 1) * sizeof(*stream->undos));
    stream->undos[0] = (struct undo){
        .is_used = true, .ranges = oldest.ranges, .range_capacity = oldest.range_capacity};
    return &stream->undos[0];
}

void replay_wait(struct replay *replay, uint32_t stream, struct pending pending)
{
    struct replay_process *process = &replay->processes[replay->streams[stream].process];

    replay->streams[stream].pending = pending;
    process->pending = memory_grow(process->pending, &process->pending_capacity,
                                   process->pending_count + 1, sizeof(*process->pending));
    process->pending[process->pending_count++] = stream;
}

/* A thread's release waits no longer. */
static struct pending stop_waiting(struct replay *replay, uint32_t stream)
{
    struct replay_process *process = &replay->processes[replay->streams[stream].process];
    struct pending pending = replay->streams[stream].pending;
    size_t at = 0;

    while (process->pending[at] != stream)
        at++;
    process->pending_count--;
    memmove(process->pending + at, process->pending + at + 1,
            (process->pending_count - at) * sizeof(*process->pending));
    replay->streams[stream].pending.is_set = false;
    return pending;
}

/* A thread's release takes place. */
static void settle(struct replay *replay, uint32_t stream)
{
    struct pending pending = stop_waiting(replay, stream);

    if (pending.is_range)
        replay_release_range(replay, stream, pending.key, pending.bytes);
    else
        replay_release_block(replay, stream, pending.key);
}

void replay_settle_block(struct replay *replay, uint32_t stream, uint64_t key)
{
    const struct replay_process *process = &replay->processes[replay->streams[stream].process];

    for (size_t i = 0; i < process->pending_count; i++) {
        const struct pending *pending = &replay->streams[process->pending[i]].pending;

        if (!pending->is_range && pending->key == key) {
            settle(replay, process->pending[i]);
            return; /* only one can wait for a block: the next one would have settled it */
        }
    }
}

void replay_settle_range(struct replay *replay, uint32_t stream, uint64_t address, uint64_t bytes)
{
    const struct replay_process *process = &replay->processes[replay->streams[stream].process];
    size_t i = 0;

    while (i < process->pending_count) {
        const struct pending *pending = &replay->streams[process->pending[i]].pending;

        /* Overlap, said without sums that could wrap around. */
        if (pending->is_range &&
            (pending->key >= address ? pending->key - address < bytes
                                     : address - pending->key < pending->bytes))
            settle(replay, process->pending[i]);
        else
            i++;
    }
}

static bool is_same(bool is_range, uint64_t left, uint64_t right)
{
    return is_range ? left == right : replay_is_same_block(left, right);
}

static void undo_release(struct replay *replay, const struct event *event)
{
    struct replay_stream *stream = &replay->streams[event->stream];
    bool is_range = event->domain == DOMAIN_MAP;
    uint64_t key = is_range ? event->address : replay_key(event->domain, event->address);
    uint32_t wrong = 1;

    if (stream->pending.is_set) {
        if (stream->pending.is_range == is_range && is_same(is_range, stream->pending.key, key)) {
            stop_waiting(replay, event->stream);
            return;
        }
        settle(replay, event->stream);
    }
    for (unsigned i = 0; i < UNDO_DEPTH && stream->undos != NULL; i++) {
        struct undo *undo = &stream->undos[i];

        if (!undo->is_used || undo->is_range != is_range || !is_same(is_range, undo->key, key))
            continue;
        wrong = is_range ? replay_restore_range(replay, event->stream, undo)
                         : !replay_restore_block(replay, event->stream, undo);
        undo->is_used = false;
        break;
    }
    /* Of a block left out, whose release was recorded because it is not as small as was asked for. */
    if (stream->is_selected && !(replay->leaves_out && !is_range) &&
        !replay->capture->processes[event->process_index].is_late_child)
        replay->ledger->totals.order_violations += wrong;
}

/* Give a child what its parent has now. */
static void leave_to_child(struct replay *replay, uint32_t child_index, uint32_t parent_index)
{
    struct replay_process *child = &replay->processes[child_index];
    struct replay_process *parent = &replay->processes[parent_index];

    child->needs_copy = false;
    child->inherited = legacy_leave(&parent->legacy, &parent->blocks, &parent->inherited);
    replay_copy_ranges(child, parent);
}

/* Give a child its blocks, unless it has them: first its parent, which may be without events. */
static void inherit(struct replay *replay, uint32_t child)
{
    while (replay->processes[child].needs_copy) {
        uint32_t oldest = child;
        uint32_t parent = capture_fork_parent(replay->capture, oldest);

        while (replay->processes[parent].needs_copy) {
            oldest = parent;
            parent = capture_fork_parent(replay->capture, oldest);
        }
        leave_to_child(replay, oldest, parent);
    }
}

/* Give their blocks to the children of a process whose first segment is not beyond this one. */
static void fork_children(struct replay *replay, uint32_t parent_index, uint64_t segment)
{
    struct replay_process *parent = &replay->processes[parent_index];

    while (parent->first_child != none &&
           replay->capture->processes[parent->first_child].first_segment <= segment) {
        uint32_t child = parent->first_child;

        parent->first_child = replay->processes[child].next_child;
        /* One that records nothing and forks nobody needs none. */
        if (replay->processes[child].has_events || replay->processes[child].first_child != none)
            inherit(replay, child);
    }
    if (parent->first_child == none)
        legacy_finish(&parent->legacy);
    parent->fork_segment = parent->first_child != none
                               ? replay->capture->processes[parent->first_child].first_segment
                               : UINT64_MAX;
}

/* An event of a segment in which there may be something to do first. */
static void enter_segment(struct replay *replay, const struct event *event)
{
    struct replay_process *process = &replay->processes[event->process_index];

    if (!process->has_begun)
        inherit(replay, event->process_index);
    process->has_begun = true;
    fork_children(replay, event->process_index, event->segment);
}

/* No release of a process waits any longer. */
static void settle_all(struct replay *replay, const struct replay_process *process)
{
    while (process->pending_count > 0)
        settle(replay, process->pending[0]);
}

/* What is live in a process has never been released; when the process has ended it goes. */
static void leak_all(struct replay *replay, uint32_t process_index, bool has_ended)
{
    struct replay_process *process = &replay->processes[process_index];

    settle_all(replay, process);
    for (size_t i = 0; i < process->blocks.slot_count; i++) {
        const struct live_block *live = &process->blocks.slots[i];

        if (live->key == 0)
            continue;
        ledger_count_leak(replay->ledger, &live->block, false);
        if (has_ended)
            ledger_drop(replay->ledger, &live->block);
        else
            ledger_outlive(replay->ledger, &live->block);
    }
    replay_leak_ranges(replay, process, has_ended);
    pools_end_process(&replay->pools, process_index);
    live_blocks_finish(&process->blocks);
    ranges_finish(&process->ranges);
    inherited_finish(&process->inherited);
    legacy_finish(&process->legacy);
}

void replay_end_processes(struct replay *replay, uint64_t time_ns)
{
    if (time_ns > replay->reached_ns)
        replay->reached_ns = time_ns;
    while (replay->next_end < replay->end_count) {
        uint32_t index = replay->ends[replay->next_end];
        uint64_t ended_ns = replay->capture->processes[index].ended_ns;

        if (ended_ns >= time_ns)
            return;
        replay->next_end++;
        ledger_advance(replay->ledger, ended_ns, replay->ledger->tick);
        fork_children(replay, index, UINT64_MAX);
        marks_end_process(&replay->marks, replay->ledger, index);
        leak_all(replay, index, true);
        replay->processes[index].is_over = true;
    }
}

/*
 * Index + 1 of the last tick in the capture's table that is not beyond this one; 0: none, or it is not
 * kept any more.
 */
static uint32_t tick_position(const struct capture *capture, uint32_t tick)
{
    uint32_t count = capture_ticks_until(capture, tick);

    return count > 0 ? capture->tick_base + count : 0;
}

static void enter_tick(struct replay *replay, uint32_t tick)
{
    uint32_t position = tick_position(replay->capture, tick);
    const struct capture *capture = replay->capture;
    uint64_t time_ns = position > 0 ? capture->ticks[position - capture->tick_base - 1].time_ns : 0;

    /* Time does not go back: what comes late is of now. */
    if (capture->is_read_once && replay->tick != UINT64_MAX && tick < replay->tick)
        return;
    replay->is_late |= position == 0 && capture->tick_base > 0;
    replay->tick = tick;
    replay_end_processes(replay, time_ns);
    ledger_advance(replay->ledger, time_ns, position);
}

void replay_reach(struct replay *replay, uint32_t tick)
{
    if (replay->tick == UINT64_MAX || tick > replay->tick)
        enter_tick(replay, tick);
}

void replay_prepare(struct replay *replay, const struct event *event)
{
    const struct replay_stream *stream = &replay->streams[event->stream];

    if (event->tick != replay->tick)
        enter_tick(replay, event->tick);
    if (event->segment >= replay->processes[event->process_index].fork_segment)
        enter_segment(replay, event);
    if (stream->pending.is_set && event->op != EVENT_UNDO && event->op != EVENT_NOTE &&
        event->op != EVENT_FAIL)
        settle(replay, event->stream);
}

/* A note: NOTE_LOST only counts when the thread's own count is missing. */
static void take_note(struct replay *replay, const struct event *event)
{
    if (event->note == NOTE_LOST)
        replay->streams[event->stream].noted_lost += event->bytes;
    if (event->note == NOTE_MARK && is_process_selected(replay, event->process_index))
        marks_take(&replay->marks, replay->ledger, event);
}

/* A block that the rows do not show: of a pool, or of the heap when pools are shown. */
static void take_hidden_block(struct replay *replay, const struct event *event)
{
    if (event->domain == DOMAIN_POOL && replay->streams[event->stream].is_selected)
        pools_take(&replay->pools, replay->capture, event);
}

static void take_failure(struct replay *replay, const struct event *event)
{
    struct ledger *ledger = replay->ledger;

    if (!replay->streams[event->stream].is_selected)
        return;
    ledger->totals.failed_allocations++;
    ledger->timeline.samples[ledger->timeline.bucket_count - 1].failed_allocations++;
    failures_add(&replay->failures, event->stack, event->stream + 1, event->bytes, ledger->now_ns);
}

void replay_rare(struct replay *replay, const struct event *event)
{
    if (event->op != EVENT_NOTE && !replay_is_shown(replay, event->domain)) {
        take_hidden_block(replay, event);
        return;
    }
    switch (event->op) {
    case EVENT_MAP:
        replay_map(replay, event);
        break;
    case EVENT_UNMAP:
        replay_unmap(replay, event);
        break;
    case EVENT_PROTECT:
        replay_protect(replay, event);
        break;
    case EVENT_UNDO:
        undo_release(replay, event);
        break;
    case EVENT_FAIL:
        take_failure(replay, event);
        break;
    default:
        take_note(replay, event);
        break;
    }
}

/*
 * Events that were lost. A thread's count is written when its ring is given up; in a capture that
 * was cut off before that, there is what it noted by then.
 */
static void count_lost(const struct replay *replay, struct ledger *ledger)
{
    for (uint32_t i = 0; i < replay->capture->thread_count; i++) {
        uint64_t lost = replay->capture->threads[i].lost;

        if (lost < replay->streams[i].noted_lost)
            lost = replay->streams[i].noted_lost;
        if (replay->streams[i].is_selected)
            ledger->totals.lost_events += lost;
    }
}

void replay_end_time(struct replay *replay, uint64_t end_ns)
{
    if (replay->is_at_end)
        return;
    replay->is_at_end = true;
    replay_end_processes(replay, end_ns);
    marks_end(&replay->marks, replay->ledger, replay->options->process_number, end_ns);
    for (uint32_t i = 0; i < replay->capture->process_count; i++)
        settle_all(replay, &replay->processes[i]);
    ledger_end_time(replay->ledger, end_ns);
}

void replay_end(struct replay *replay, uint64_t end_ns)
{
    replay_end_time(replay, end_ns);
    for (uint32_t i = 0; i < replay->capture->process_count; i++)
        leak_all(replay, i, false);
    count_lost(replay, replay->ledger);
}

/* What is live now is so to the end. */
static void outlive(void *user, const struct block *block, bool is_range)
{
    struct ledger *ledger = user;

    ledger_count_leak(ledger, block, is_range);
    ledger_outlive(ledger, block);
}

void replay_end_copy(const struct replay *replay, struct ledger *copy)
{
    ledger_end_time(copy, copy->now_ns);
    replay_each_live(replay, outlive, copy);
    count_lost(replay, copy);
}

struct replay *replay_open(const struct capture *capture, const struct profile_options *options,
                           struct ledger *ledger)
{
    struct replay *replay = memory_allocate(1, sizeof(*replay));

    replay->capture = capture;
    replay->options = options;
    replay->ledger = ledger;
    replay->tick = UINT64_MAX;
    replay->slow_count = 1;
    replay->first_domain = options->shows_pools ? DOMAIN_POOL : DOMAIN_HEAP;
    replay->domain_count = options->shows_pools ? 1 : DOMAIN_MAP - DOMAIN_HEAP + 1;
    (void)replay_extend(replay); /* nothing has been told: nothing can be too late */
    return replay;
}

bool replay_is_right(const struct replay *replay)
{
    return !replay->is_late || replay->capture->is_read_once;
}

struct marks *replay_marks(struct replay *replay)
{
    return &replay->marks;
}

struct failures *replay_failures(struct replay *replay)
{
    return &replay->failures;
}

struct pools *replay_pools(struct replay *replay)
{
    return &replay->pools;
}

void replay_close(struct replay *replay)
{
    if (replay == NULL)
        return;
    marks_finish(&replay->marks);
    pools_finish(&replay->pools);
    failures_finish(&replay->failures);
    for (uint32_t i = 0; i < replay->stream_count; i++) {
        for (unsigned k = 0; k < UNDO_DEPTH && replay->streams[i].undos != NULL; k++)
            free(replay->streams[i].undos[k].ranges);
        free(replay->streams[i].undos);
    }
    for (uint32_t i = 0; i < replay->process_count; i++) {
        live_blocks_finish(&replay->processes[i].blocks);
        ranges_finish(&replay->processes[i].ranges);
        inherited_finish(&replay->processes[i].inherited);
        legacy_finish(&replay->processes[i].legacy);
        free(replay->processes[i].pending);
    }
    free(replay->streams);
    free(replay->processes);
    free(replay->ends);
    free(replay);
}
