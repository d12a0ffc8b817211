/*
 * The order of events (docs/format.md section 3) out of the sections of all streams.
 *
 * Runs in the tools. A stream's records between two SYNCs are a run: one segment, one tick. Runs of
 * a process go by segment, so each process has a heap of its streams; processes go by tick, so there
 * is a heap of processes. What holds: the stream on top of a process's heap has its section
 * unpacked and stands before a SYNC, or is the current one; a process's tick never falls. A forked
 * child joins when its parent has come to the child's first segment, so that the parent's blocks
 * can be copied as they were.
 */
#include "capture/merge.h"

#include "base/memory.h"
#include "capture/decode.h"
#include "capture/events.h"
#include "capture/heap.h"
#include "capture/load.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"

#include <stdlib.h>

static const uint32_t none = UINT32_MAX; /* of indexes */

struct merge_stream {
    uint32_t section; /* the one it is in, or none */
    uint32_t process;
    uint8_t *unpacked; /* of the section; NULL: not yet needed */
    struct decoder decoder;
    uint64_t segment; /* of its next run */
};

struct merge_process {
    struct heap streams;    /* by segment, then stream */
    uint32_t tick;          /* largest so far */
    uint32_t first_waiting; /* child that waits for this process, by first segment; or none */
    uint32_t next_waiting;  /* of the same parent */
};

struct capture_merge {
    const struct capture *capture;
    struct merge_stream *streams;
    struct merge_process *processes;
    struct heap order;      /* of processes: by tick, then index */
    uint32_t *next_section; /* of the same stream, or none */
    uint32_t *joining;      /* processes that have stopped waiting */
    uint32_t joining_count;
    struct events_unpacker unpacker;
    struct event common; /* of the current run */
    bool is_in_run;
    struct capture_damage damage;
};

static bool spoil_at(struct capture_merge *merge, const struct merge_stream *stream,
                     uint64_t inside, const char *what, const char *remedy)
{
    const struct capture_section_entry *section = &merge->capture->sections[stream->section];

    capture_damage_set(&merge->damage, merge->capture->file, section->offset + inside, what,
                       remedy);
    return false;
}

static bool spoil(struct capture_merge *merge, const struct merge_stream *stream, const char *what)
{
    const struct events_payload *payload = &merge->capture->sections[stream->section].events;
    uint64_t inside = 0;

    /* Only there the records stand in the file as they were decoded. */
    if (!payload->is_packed && payload->coder == CODER_FIXED && stream->unpacked != NULL)
        inside = (uint64_t)(stream->decoder.at - stream->unpacked);
    return spoil_at(merge, stream, inside, what, capture_remedy_damaged);
}

/* Sections in file order are each stream's sections in its own order. */
static void link_sections(struct capture_merge *merge)
{
    const struct capture *capture = merge->capture;

    merge->next_section = memory_allocate(capture->section_count, sizeof(*merge->next_section));
    for (uint32_t i = capture->section_count; i-- > 0;) {
        struct merge_stream *stream = &merge->streams[capture->sections[i].stream];

        merge->next_section[i] = stream->section;
        stream->section = i;
        stream->segment = capture->sections[i].first_segment;
    }
}

/* Does the stream have a run that may be used? */
static bool has_run(const struct capture_merge *merge, const struct merge_stream *stream)
{
    return stream->section != none &&
           stream->segment <= merge->capture->processes[stream->process].bound_segment;
}

/* Unpack the section that a stream is about to begin. */
static bool unpack_section(struct capture_merge *merge, struct merge_stream *stream)
{
    const struct capture_section_entry *section = &merge->capture->sections[stream->section];
    size_t size_bytes = (size_t)section->events.record_count * EVENT_BYTES;
    struct events_fault fault;
    struct decode_sync sync;
    size_t capacity = 0;

    /* Without zeroing it: all of it is written. */
    stream->unpacked = memory_grow(NULL, &capacity, size_bytes, 1);
    stream->decoder = (struct decoder){stream->unpacked, stream->unpacked + size_bytes,
                                       merge->capture->stack_count};
    if (!events_unpack(&merge->unpacker, &section->events, stream->unpacked, &fault))
        return spoil_at(merge, stream, fault.inside_bytes, fault.what, fault.remedy);
    if (!decode_peek_sync(&stream->decoder, &sync) || sync.segment != section->first_segment)
        return spoil(merge, stream, "events that do not begin with their segment");
    return true;
}

/* Make the stream on top of a process's heap ready. ret_key: the process's place among others. */
static bool prepare_top(struct capture_merge *merge, uint32_t process_index,
                        struct heap_key *ret_key)
{
    const struct merge_process *process = &merge->processes[process_index];
    struct merge_stream *stream = &merge->streams[heap_top(&process->streams).id];
    struct decode_sync sync;

    if (stream->unpacked == NULL && !unpack_section(merge, stream))
        return false;
    if (!decode_peek_sync(&stream->decoder, &sync))
        return spoil(merge, stream, "events without a segment");
    *ret_key =
        (struct heap_key){sync.tick > process->tick ? sync.tick : process->tick, process_index};
    return true;
}

/* Children whose first segment has come, or all when the process has no more events. */
static void release_children(struct capture_merge *merge, uint32_t process_index)
{
    struct merge_process *process = &merge->processes[process_index];
    const struct heap *streams = &process->streams;

    while (process->first_waiting != none) {
        uint32_t child = process->first_waiting;

        if (streams->count > 0 &&
            heap_top(streams).value < merge->capture->processes[child].first_segment)
            return;
        process->first_waiting = merge->processes[child].next_waiting;
        merge->joining[merge->joining_count++] = child;
    }
}

/* Let the processes that have stopped waiting take part. */
static bool join_processes(struct capture_merge *merge)
{
    while (merge->joining_count > 0) {
        uint32_t index = merge->joining[--merge->joining_count];
        struct heap_key key;

        release_children(merge, index);
        if (merge->processes[index].streams.count == 0)
            continue;
        if (!prepare_top(merge, index, &key))
            return false;
        heap_push(&merge->order, key);
    }
    return true;
}

/* Put a forked child into its parent's list, which is by first segment, then index. */
static void wait_for_parent(struct capture_merge *merge, uint32_t child, uint32_t parent)
{
    const struct capture_process *processes = merge->capture->processes;
    uint32_t *link = &merge->processes[parent].first_waiting;

    while (*link != none && processes[*link].first_segment <= processes[child].first_segment)
        link = &merge->processes[*link].next_waiting;
    merge->processes[child].next_waiting = *link;
    *link = child;
}

uint32_t capture_fork_parent(const struct capture *capture, uint32_t process_index)
{
    const struct capture_process *process = &capture->processes[process_index];

    /* A parent is older than its child: that also keeps a forged capture from going in circles. */
    if (process->how != PROCESS_BY_FORK || process->parent_number >= process->number)
        return UINT32_MAX;
    return capture_process_index(capture, process->parent_number);
}

static void begin(struct capture_merge *merge)
{
    const struct capture *capture = merge->capture;

    for (uint32_t i = 0; i < capture->thread_count; i++) {
        struct merge_stream *stream = &merge->streams[i];

        if (has_run(merge, stream))
            heap_push(&merge->processes[stream->process].streams,
                      (struct heap_key){stream->segment, i});
    }
    for (uint32_t i = capture->process_count; i-- > 0;) {
        uint32_t parent = capture_fork_parent(capture, i);

        if (parent != none)
            wait_for_parent(merge, i, parent);
        else
            merge->joining[merge->joining_count++] = i;
    }
}

struct capture_merge *capture_merge_open(const struct capture *capture)
{
    struct capture_merge *merge = memory_allocate(1, sizeof(*merge));

    merge->capture = capture;
    merge->streams = memory_allocate(capture->thread_count, sizeof(*merge->streams));
    merge->processes = memory_allocate(capture->process_count, sizeof(*merge->processes));
    merge->joining = memory_allocate(capture->process_count, sizeof(*merge->joining));
    for (uint32_t i = 0; i < capture->thread_count; i++)
        merge->streams[i] =
            (struct merge_stream){.section = none, .process = capture->threads[i].process_index};
    for (uint32_t i = 0; i < capture->process_count; i++)
        merge->processes[i].first_waiting = merge->processes[i].next_waiting = none;
    link_sections(merge);
    begin(merge);
    return merge;
}

void capture_merge_close(struct capture_merge *merge)
{
    if (merge == NULL)
        return;
    for (uint32_t i = 0; i < merge->capture->thread_count; i++)
        free(merge->streams[i].unpacked);
    for (uint32_t i = 0; i < merge->capture->process_count; i++)
        heap_finish(&merge->processes[i].streams);
    heap_finish(&merge->order);
    free(merge->streams);
    free(merge->processes);
    free(merge->joining);
    events_unpacker_finish(&merge->unpacker);
    free(merge->next_section);
    free(merge);
}

/* Begin the run that is next of all. */
static void begin_run(struct capture_merge *merge)
{
    uint32_t process_index = heap_top(&merge->order).id;
    struct merge_process *process = &merge->processes[process_index];
    uint32_t stream_index = heap_top(&process->streams).id;
    struct merge_stream *stream = &merge->streams[stream_index];

    process->tick = (uint32_t)heap_top(&merge->order).value;
    merge->common = (struct event){.process_index = process_index,
                                   .stream = stream_index,
                                   .tick = process->tick,
                                   .segment = stream->segment};
    decode_skip_sync(&stream->decoder);
    merge->is_in_run = true;
}

/* Go to the stream's next run. ret_has_run: false at its end. Returns false on damage. */
static bool advance_stream(struct capture_merge *merge, struct merge_stream *stream,
                           enum decode_stop stop, bool *ret_has_run)
{
    uint64_t before = stream->segment;
    struct decode_sync sync = {0};

    if (stop == DECODE_WRONG)
        return spoil(merge, stream, "event that is not right");
    if (stop == DECODE_SYNC) {
        decode_peek_sync(&stream->decoder, &sync);
        stream->segment = sync.segment;
    } else {
        free(stream->unpacked);
        stream->unpacked = NULL;
        stream->section = merge->next_section[stream->section];
        if (stream->section != none)
            stream->segment = merge->capture->sections[stream->section].first_segment;
    }
    if (stream->segment < before)
        return spoil(merge, stream, "segment smaller than the one before");
    *ret_has_run = has_run(merge, stream);
    return true;
}

/* The current run is over: put its stream and its process where they now belong. */
static bool end_run(struct capture_merge *merge, enum decode_stop stop)
{
    uint32_t process_index = merge->common.process_index;
    struct merge_process *process = &merge->processes[process_index];
    struct merge_stream *stream = &merge->streams[merge->common.stream];
    bool stream_goes_on;
    struct heap_key key;

    merge->is_in_run = false;
    if (!advance_stream(merge, stream, stop, &stream_goes_on))
        return false;
    if (stream_goes_on)
        heap_replace_top(&process->streams,
                         (struct heap_key){stream->segment, merge->common.stream});
    else
        heap_pop(&process->streams);
    release_children(merge, process_index);
    if (process->streams.count == 0) {
        heap_pop(&merge->order);
        return true;
    }
    if (!prepare_top(merge, process_index, &key))
        return false;
    heap_replace_top(&merge->order, key);
    return true;
}

uint32_t capture_merge_next(struct capture_merge *merge, struct event *ret_events, uint32_t count,
                            struct capture_damage *ret_damage)
{
    uint32_t done = 0;

    while (done < count && !merge->damage.is_damaged) {
        enum decode_stop stop;

        if (!merge->is_in_run) {
            if (!join_processes(merge) || merge->order.count == 0)
                break;
            begin_run(merge);
        }
        done += decode_events(&merge->streams[merge->common.stream].decoder, &merge->common,
                              ret_events + done, count - done, &stop);
        if (stop != DECODE_FULL && !end_run(merge, stop))
            break;
    }
    if (done == 0 && merge->damage.is_damaged)
        *ret_damage = merge->damage;
    return done;
}
