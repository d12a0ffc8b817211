/*
 * The order of events (docs/format.md section 3) out of the sections of all streams.
 *
 * Runs in the tools. A stream's records between two SYNCs are a run: one segment, one tick. Runs of
 * a process go by segment, so each process has a heap of its streams; processes go by tick, so there
 * is a heap of processes. What holds: the stream on top of a process's heap has its section
 * unpacked and stands before a SYNC, or is the current one; a process's tick never falls. A forked
 * child joins when its parent has come to the child's first segment, so that the parent's blocks
 * can be copied as they were.
 *
 * A capture that is read along gives the same order. Inside a process, because runs up to its bound
 * are complete, and what comes later is of later segments. Between processes, because the next one
 * is always that of the smallest (tick, process) of all: one that was not known yet is of a later
 * tick, or its key is smaller than that of a run which was begun without it, and this is seen when
 * it comes (push_process()). A child that comes when its parent is beyond its first segment is
 * seen as well (add_processes()). Of a capture that can be read only once such a run gets the tick
 * of the one before it, as if its process had come to that tick, and such a child waits for nobody.
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
    bool is_queued;   /* in its process's heap */
};

struct merge_process {
    struct heap streams;    /* by segment, then stream */
    uint32_t tick;          /* largest so far */
    uint64_t segment;       /* of the run begun last; 0: none yet */
    uint32_t first_waiting; /* child that waits for this process, by first segment; or none */
    uint32_t next_waiting;  /* of the same parent */
    bool is_ordered;        /* in the heap of processes */
    bool is_held;           /* waits for its parent, or is about to join */
    bool is_placed;         /* it is known whether it has to */
};

struct capture_merge {
    const struct capture *capture;
    struct merge_stream *streams;
    struct merge_process *processes;
    struct heap order;      /* of processes: by tick, then index */
    uint32_t *next_section; /* of the same stream, or none */
    uint32_t linked_count;  /* sections that have been linked so far, when it grows */
    uint32_t *joining;      /* processes that have stopped waiting */
    uint32_t joining_count;
    uint32_t stream_count, process_count; /* those of the capture that are known here */
    size_t stream_capacity, process_capacity, joining_capacity, next_capacity;
    struct heap_key highest; /* of the runs begun so far */
    uint32_t limit_tick;     /* no run beyond it is begun */
    bool is_growing;         /* there is more to come */
    bool is_late;            /* and it has come too late */
    uint64_t late_count;     /* so often since it was last asked */
    uint8_t *payload;        /* room for one of a capture that is not in memory */
    size_t payload_capacity;
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

/*
 * Sections in file order are each stream's sections in its own order. One that a stream is in, or has
 * before it, stays where it is.
 */
static bool link_sections(struct capture_merge *merge)
{
    const struct capture *capture = merge->capture;

    merge->next_section = memory_grow(merge->next_section, &merge->next_capacity,
                                      (size_t)capture->section_count + 1, sizeof(uint32_t));
    for (uint32_t i = 0; i < merge->stream_count; i++)
        merge->streams[i].section = none;
    for (uint32_t i = capture->section_count; i-- > 0;) {
        struct merge_stream *stream = &merge->streams[capture->sections[i].stream];

        merge->next_section[i] = stream->section;
        stream->section = i;
    }
    for (uint32_t i = 0; i < merge->stream_count; i++) {
        struct merge_stream *stream = &merge->streams[i];

        if (stream->section == none || stream->unpacked != NULL)
            continue;
        if (capture->sections[stream->section].first_segment < stream->segment)
            return spoil(merge, stream, "segment smaller than the one before");
        stream->segment = capture->sections[stream->section].first_segment;
    }
    return true;
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
    struct events_payload payload = section->events;
    struct events_fault fault;
    struct decode_sync sync;
    size_t capacity = 0;

    /* Without zeroing it: all of it is written. */
    stream->unpacked = memory_grow(NULL, &capacity, size_bytes, 1);
    stream->decoder = (struct decoder){stream->unpacked, stream->unpacked + size_bytes,
                                       merge->capture->stack_count};
    if (payload.bytes == NULL) {
        merge->payload =
            memory_grow(merge->payload, &merge->payload_capacity, payload.payload_bytes, 1);
        if (!capture_read_at(merge->capture, section->offset, merge->payload,
                             payload.payload_bytes))
            return spoil(merge, stream, "file cut off");
        payload.bytes = merge->payload;
    }
    if (!events_unpack(&merge->unpacker, &payload, stream->unpacked, &fault))
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

/* Have all events of a process below a segment been given out? */
static bool is_beyond(const struct capture_merge *merge, uint32_t process_index, uint64_t segment)
{
    const struct heap *streams = &merge->processes[process_index].streams;

    if (streams->count > 0)
        return heap_top(streams).value >= segment;
    return !merge->is_growing || segment == 0 ||
           merge->capture->processes[process_index].bound_segment >= segment - 1;
}

/* Children whose first segment has come, or all when the process has no more events. */
static void release_children(struct capture_merge *merge, uint32_t process_index)
{
    struct merge_process *process = &merge->processes[process_index];

    while (process->first_waiting != none) {
        uint32_t child = process->first_waiting;

        if (!is_beyond(merge, process_index, merge->capture->processes[child].first_segment))
            return;
        process->first_waiting = merge->processes[child].next_waiting;
        merge->joining[merge->joining_count++] = child;
    }
}

static bool is_before(struct heap_key left, struct heap_key right)
{
    return left.value < right.value || (left.value == right.value && left.id < right.id);
}

/* Something should have been before what has been given out. */
static void note_late(struct capture_merge *merge)
{
    merge->is_late = true;
    merge->late_count++;
}

/* A process that has events takes part. has_come: just now; else the order has had it in mind. */
static bool push_process(struct capture_merge *merge, uint32_t index, bool has_come)
{
    struct heap_key key = {0, index};

    if (!prepare_top(merge, index, &key))
        return false;
    if (has_come && is_before(key, merge->highest)) {
        note_late(merge);
        merge->processes[index].tick = (uint32_t)merge->highest.value;
        key.value = merge->highest.value;
    }
    heap_push(&merge->order, key);
    merge->processes[index].is_ordered = true;
    return true;
}

/* Let the processes that have stopped waiting take part. has_come: as for push_process(). */
static bool join_processes(struct capture_merge *merge, bool has_come)
{
    while (merge->joining_count > 0) {
        uint32_t index = merge->joining[--merge->joining_count];

        merge->processes[index].is_held = false;
        release_children(merge, index);
        if (merge->processes[index].streams.count > 0 && !push_process(merge, index, has_come))
            return false;
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

    if (process->is_late_child)
        return UINT32_MAX;
    /* A parent is older than its child: that also keeps a forged capture from going in circles. */
    if (process->how != PROCESS_BY_FORK || process->parent_number >= process->number)
        return UINT32_MAX;
    return capture_process_index(capture, process->parent_number);
}

bool capture_lacks_parent(const struct capture *capture, uint32_t process_index)
{
    const struct capture_process *process = &capture->processes[process_index];

    return process->how == PROCESS_BY_FORK && process->parent_number != 0 &&
           process->parent_number < process->number &&
           capture_process_index(capture, process->parent_number) == UINT32_MAX;
}

/* Room for the streams of the capture. */
static void add_streams(struct capture_merge *merge)
{
    const struct capture *capture = merge->capture;

    merge->streams = memory_grow(merge->streams, &merge->stream_capacity,
                                 (size_t)capture->thread_count + 1, sizeof(*merge->streams));
    for (uint32_t i = merge->stream_count; i < capture->thread_count; i++)
        merge->streams[i] = (struct merge_stream){.section = none};
    merge->stream_count = capture->thread_count;
    /* One may have been announced by its number alone before its process was. */
    for (uint32_t i = 0; i < merge->stream_count; i++)
        merge->streams[i].process = capture->threads[i].process_index;
}

/* Let a process wait for its parent, or join. */
static void place_process(struct capture_merge *merge, uint32_t index)
{
    uint32_t parent = capture_fork_parent(merge->capture, index);

    if (parent == none && merge->is_growing && capture_lacks_parent(merge->capture, index))
        return;
    merge->processes[index].is_placed = true;
    if (parent != none && merge->processes[parent].segment != 0 &&
        merge->processes[parent].segment >= merge->capture->processes[index].first_segment) {
        note_late(merge);
        if (merge->capture->is_read_once) {
            merge->capture->processes[index].is_late_child = true;
            parent = none;
        }
    }
    if (parent == none)
        merge->joining[merge->joining_count++] = index;
    else
        wait_for_parent(merge, index, parent);
}

/* Let new processes wait for their parents, or join. */
static void add_processes(struct capture_merge *merge)
{
    uint32_t known_count = merge->process_count, count = merge->capture->process_count;

    merge->processes = memory_grow(merge->processes, &merge->process_capacity, (size_t)count + 1,
                                   sizeof(*merge->processes));
    merge->joining = memory_grow(merge->joining, &merge->joining_capacity, (size_t)count + 1,
                                 sizeof(*merge->joining));
    for (uint32_t i = known_count; i < count; i++)
        merge->processes[i] =
            (struct merge_process){.first_waiting = none, .next_waiting = none, .is_held = true};
    merge->process_count = count;
    for (uint32_t i = count; i-- > 0;)
        if (!merge->processes[i].is_placed)
            place_process(merge, i);
}

/*
 * Streams that have something to give out, each into the heap of its process. Returns false where a
 * bound has not held what it said.
 */
static bool queue_streams(struct capture_merge *merge)
{
    for (uint32_t i = 0; i < merge->stream_count; i++) {
        struct merge_stream *stream = &merge->streams[i];
        struct heap *heap = &merge->processes[stream->process].streams;

        if (stream->is_queued || !has_run(merge, stream))
            continue;
        /* It must not come before what has been prepared, and a bound says that it does not. */
        if (heap->count > 0 && merge->processes[stream->process].is_ordered &&
            is_before((struct heap_key){stream->segment, i}, heap_top(heap)))
            return false;
        stream->is_queued = true;
        heap_push(heap, (struct heap_key){stream->segment, i});
    }
    return true;
}

static struct capture_merge *create(const struct capture *capture)
{
    struct capture_merge *merge = memory_allocate(1, sizeof(*merge));

    merge->capture = capture;
    merge->limit_tick = UINT32_MAX;
    return merge;
}

struct capture_merge *capture_merge_open(const struct capture *capture)
{
    struct capture_merge *merge = create(capture);

    add_streams(merge);
    add_processes(merge);
    /* Nothing has been read: no segment is smaller than 0, and nothing has been prepared. */
    (void)link_sections(merge);
    (void)queue_streams(merge);
    return merge;
}

struct capture_merge *capture_merge_follow(const struct capture *capture)
{
    struct capture_merge *merge = create(capture);

    merge->is_growing = true;
    return merge;
}

/* Take the sections that have been read out of the capture's list. */
static void drop_sections(const struct capture_merge *merge, struct capture *capture)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < capture->section_count; i++) {
        uint32_t stream = capture->sections[i].stream;

        if (i >= merge->linked_count ||
            (merge->streams[stream].section != none && i >= merge->streams[stream].section))
            capture->sections[kept++] = capture->sections[i];
    }
    capture->section_count = kept;
}

/* Processes that had nothing to give out, or were not there. */
static bool add_ready(struct capture_merge *merge)
{
    for (uint32_t i = 0; i < merge->process_count; i++) {
        struct merge_process *process = &merge->processes[i];

        if (process->is_held)
            continue;
        release_children(merge, i);
        if (!process->is_ordered && process->streams.count > 0 && !push_process(merge, i, true))
            return false;
    }
    return join_processes(merge, true);
}

bool capture_merge_extend(struct capture_merge *merge, struct capture *capture, uint32_t limit_tick)
{
    drop_sections(merge, capture);
    merge->limit_tick = limit_tick;
    merge->is_growing = limit_tick != UINT32_MAX;
    add_streams(merge);
    add_processes(merge);
    if (!link_sections(merge))
        return false;
    merge->linked_count = capture->section_count;
    if (!queue_streams(merge) || !add_ready(merge))
        return false;
    capture->late_count += merge->late_count;
    merge->late_count = 0;
    return capture->is_read_once || !merge->is_late;
}

void capture_merge_close(struct capture_merge *merge)
{
    if (merge == NULL)
        return;
    for (uint32_t i = 0; i < merge->stream_count; i++)
        free(merge->streams[i].unpacked);
    for (uint32_t i = 0; i < merge->process_count; i++)
        heap_finish(&merge->processes[i].streams);
    heap_finish(&merge->order);
    free(merge->streams);
    free(merge->processes);
    free(merge->joining);
    events_unpacker_finish(&merge->unpacker);
    free(merge->next_section);
    free(merge->payload);
    free(merge);
}

/* Begin the run that is next of all. */
static void begin_run(struct capture_merge *merge)
{
    uint32_t process_index = heap_top(&merge->order).id;
    struct merge_process *process = &merge->processes[process_index];
    uint32_t stream_index = heap_top(&process->streams).id;
    struct merge_stream *stream = &merge->streams[stream_index];

    merge->highest = heap_top(&merge->order);
    process->tick = (uint32_t)merge->highest.value;
    process->segment = stream->segment;
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
    stream->is_queued = stream_goes_on;
    release_children(merge, process_index);
    if (process->streams.count == 0) {
        heap_pop(&merge->order);
        process->is_ordered = false;
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
            if (!join_processes(merge, false) || merge->order.count == 0 ||
                heap_top(&merge->order).value > merge->limit_tick)
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
