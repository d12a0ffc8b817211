/*
 * Threads and processes of the capture that the replay has not known yet. Runs in the tools: once
 * where the whole capture is there, again and again where it is read along.
 *
 * What holds: what is told of ends, forks and silences is what would be told if the whole capture had
 * been known from the start; where that cannot be, replay_extend() says so. Of a capture that can be
 * read only once an end that comes late is told at once, and a child that does has no blocks.
 */
#include "base/memory.h"
#include "capture/load.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "profile/replay.h"
#include "profile/replay_state.h"

static const uint32_t none = UINT32_MAX; /* of indexes */

static bool is_selected(const struct capture *capture, const struct profile_options *options,
                        uint32_t stream)
{
    const struct capture_thread *thread = &capture->threads[stream];

    if (options->process_number != 0 &&
        capture->processes[thread->process_index].number != options->process_number)
        return false;
    return options->tid == 0 || thread->tid == options->tid;
}

static void add_streams(struct replay *replay)
{
    const struct capture *capture = replay->capture;
    uint32_t known_count = replay->stream_count;

    replay->streams = memory_grow_zeroed(replay->streams, &replay->stream_capacity,
                                         capture->thread_count, sizeof(*replay->streams));
    replay->stream_count = capture->thread_count;
    for (uint32_t i = known_count; i < replay->stream_count; i++)
        replay->streams[i].is_selected = is_selected(capture, replay->options, i);
    /* One may have been announced by its number alone before its process was. */
    for (uint32_t i = 0; i < replay->stream_count; i++)
        replay->streams[i].process = capture->threads[i].process_index;
}

/* Put a forked child into its parent's list, which is by first segment, then index. */
static bool add_child(struct replay *replay, uint32_t index, uint32_t parent_index)
{
    const struct capture_process *processes = replay->capture->processes;
    struct replay_process *child = &replay->processes[index];
    struct replay_process *parent = &replay->processes[parent_index];
    uint32_t *link = &parent->first_child;

    child->needs_copy = true;
    while (*link != none &&
           (processes[*link].first_segment < processes[index].first_segment ||
            (processes[*link].first_segment == processes[index].first_segment && *link < index)))
        link = &replay->processes[*link].next_child;
    child->next_child = *link;
    *link = index;
    if (parent->has_begun)
        parent->fork_segment = processes[parent->first_child].first_segment;
    return !parent->is_over;
}

/*
 * Which processes record anything is not known of a capture that goes on: then each child gets its
 * blocks, which cost little as long as it shares them.
 */
static void note_events(struct replay *replay, uint32_t known_count)
{
    const struct capture *capture = replay->capture;

    for (uint32_t i = known_count; i < replay->process_count; i++)
        replay->processes[i].has_events = capture->is_followed;
    for (uint32_t i = 0; i < capture->section_count && !capture->is_followed; i++)
        replay->processes[replay->streams[capture->sections[i].stream].process].has_events = true;
}

/* A child of one whose blocks are gone, of a capture that is read once. */
static bool is_orphan(const struct replay *replay, uint32_t parent)
{
    return replay->capture->is_read_once && parent != none && replay->processes[parent].is_over;
}

static bool add_processes(struct replay *replay)
{
    uint32_t known_count = replay->process_count, count = replay->capture->process_count;
    bool is_in_time = true;

    replay->processes = memory_grow_zeroed(replay->processes, &replay->process_capacity, count,
                                           sizeof(*replay->processes));
    replay->process_count = count;
    for (uint32_t i = known_count; i < count; i++)
        replay->processes[i].first_child = replay->processes[i].next_child = none;
    note_events(replay, known_count);
    for (uint32_t i = count; i-- > 0;) {
        uint32_t parent = capture_fork_parent(replay->capture, i);

        if (replay->processes[i].is_placed)
            continue;
        /* No events of one whose parent is still to come are given out before it has. */
        replay->processes[i].is_placed =
            parent != none || !capture_lacks_parent(replay->capture, i);
        if (is_orphan(replay, parent))
            replay->capture->processes[i].is_late_child = true;
        else if (parent != none)
            is_in_time &= add_child(replay, i, parent);
    }
    return is_in_time;
}

/* Ends that are new go among those not yet told: by time, then by index. */
static bool add_ends(struct replay *replay)
{
    const struct capture_process *processes = replay->capture->processes;
    bool is_in_time = true;

    replay->ends = memory_grow(replay->ends, &replay->end_capacity,
                               (size_t)replay->process_count + 1, sizeof(*replay->ends));
    for (uint32_t i = 0; i < replay->process_count; i++) {
        uint64_t ended_ns = processes[i].ended_ns;
        bool is_new = replay->processes[i].ended_ns == 0;
        uint32_t at = replay->end_count;

        if (ended_ns == replay->processes[i].ended_ns)
            continue;
        is_in_time &= is_new && ended_ns >= replay->reached_ns;
        if (!is_in_time && !replay->capture->is_read_once)
            break;
        replay->processes[i].ended_ns = ended_ns;
        if (!is_new)
            continue;
        /* They end nearly in the order in which they began. */
        for (; at > replay->next_end && processes[replay->ends[at - 1]].ended_ns > ended_ns; at--)
            replay->ends[at] = replay->ends[at - 1];
        replay->ends[at] = i;
        replay->end_count++;
    }
    return is_in_time;
}

/* Was something left out in time? Of a capture that was cut all that matters is told where it begins. */
static bool has_silence(const struct capture *capture)
{
    for (uint32_t i = 0; i < capture->state_count; i++)
        if (capture->states[i].cause != CAUSE_LAST)
            return true;
    return false;
}

/* When nothing was recorded, and whether that was at any time. */
static bool take_states(struct replay *replay)
{
    const struct capture *capture = replay->capture;
    /* Once blocks are passed over in the midst of it, so are not all of their releases. */
    bool leaves_out =
        capture->session.min_size > 0 || capture->state_count > 0 || capture_has_budget(capture);
    bool has_told = replay->tick != UINT64_MAX;
    bool is_in_time =
        !has_told || leaves_out == replay->leaves_out || replay->capture->is_read_once;

    /* Now may have been any instant up to the next tick, which was known when it was told. */
    for (uint32_t i = replay->state_count; i < capture->state_count && has_told; i++)
        is_in_time &= capture->states[i].time_ns >= ledger_next_tick_ns(replay->ledger) &&
                      ledger_next_tick_ns(replay->ledger) != UINT64_MAX;
    replay->state_count = capture->state_count;
    if (leaves_out && !replay->leaves_out)
        replay->ledger->totals.unknown_frees = 0; /* what they were is not known any more */
    replay->leaves_out = leaves_out;
    replay->is_estimate = capture_is_estimate(capture);
    replay->is_partial = capture->session.min_size > 0 || capture_has_budget(capture) ||
                         replay->is_estimate || has_silence(capture);
    return is_in_time;
}

bool replay_extend(struct replay *replay)
{
    bool is_in_time;

    add_streams(replay);
    is_in_time = add_processes(replay);
    is_in_time &= take_states(replay);
    is_in_time &= add_ends(replay);
    is_in_time &= !replay->is_late;
    if (!replay->capture->is_read_once)
        return is_in_time;
    replay->ledger->totals.late_news += !is_in_time;
    replay->is_late = false;
    return true;
}

size_t replay_block_bytes(const struct replay *replay)
{
    size_t slot_count = 0;

    for (uint32_t i = 0; i < replay->process_count; i++)
        slot_count += replay->processes[i].blocks.slot_count;
    return slot_count * sizeof(struct live_block);
}
