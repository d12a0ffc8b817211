/*
 * Reading a ring. Drain thread.
 *
 * The order of a scan matters: the cursor first, then the noted holes, then the rest. So a hole that
 * is found filled was filled before whatever stands behind the cursor that was seen.
 */
#include "collect/ring_reader.h"

#include "collect/decode.h"
#include "collect/process.h"
#include "collect/slots.h"

#include <string.h>

void ring_reader_begin(struct ring_reader *reader, struct sink *sink, struct process *process,
                       uint32_t tid)
{
    reader->is_active = true;
    reader->is_gone = reader->is_leaving = reader->is_stuck = false;
    atomic_store_explicit(&reader->is_given_back, false, memory_order_relaxed);
    reader->handed_position = reader->position;
    reader->hole_count = 0;
    reader->process = process;
    reader->tid = tid;
    reader->cursor_seen = reader->position;
    reader->stream = (struct stream){.number = ++sink->stream_count, .process = process->number};
    memset(reader->stack_cache, 0, sizeof(reader->stack_cache));
    memset(reader->native_memos, 0, sizeof(reader->native_memos));
    process->ring_count++;
}

void ring_reader_end(struct ring_reader *reader)
{
    chain_finish(&reader->chain);
    chain_finish(&reader->native_chain);
    blob_finish(&reader->blob);
    reader->process->ring_count--;
    reader->process = NULL;
    reader->is_active = reader->is_leaving = false;
}

/* The thread's cursor, as far as it can be true. */
static uint64_t load_cursor(const struct ring_reader *reader, struct sink *sink)
{
    uint64_t cursor = atomic_load_explicit(&reader->entry->cursor, memory_order_acquire);
    uint64_t limit =
        atomic_load_explicit(&reader->released, memory_order_acquire) + RING_SLOT_COUNT;

    if (cursor < reader->position) {
        sink->counts.faults++;
        return reader->position;
    }
    if (cursor > limit) {
        sink->counts.faults++;
        return limit;
    }
    return cursor;
}

static void remove_hole(struct ring_reader *reader, uint32_t index)
{
    reader->hole_count--;
    memmove(&reader->holes[index], &reader->holes[index + 1],
            (reader->hole_count - index) * sizeof(reader->holes[0]));
}

/* Returns false when a name in a hole is not known. */
static bool read_holes(struct ring_reader *reader, struct sink *sink)
{
    for (uint32_t i = 0; i < reader->hole_count;) {
        struct ring_hole *hole = &reader->holes[i];
        enum decode_stop stop = decode_run(reader, sink, &hole->from, hole->to);

        if (stop == DECODE_AT_UNKNOWN_NAME)
            return false;
        if (stop == DECODE_AT_END)
            remove_hole(reader, i);
        else
            i++;
    }
    return true;
}

/*
 * The slot at the position is not filled. When a filled head stands behind it and the slot is not
 * filled even when looked at after that head, it begins a hole: note it and pass it.
 * Returns false when there is nothing to read behind it now. ret_is_full: no room for the hole.
 */
static bool pass_hole(struct ring_reader *reader, struct sink *sink, uint64_t end,
                      bool *ret_is_full)
{
    uint64_t next = reader->position + 1;

    for (; next < end; next++) {
        uint64_t w0 = slots_load(reader->slots, next);

        if (slots_is_committed(w0, next) && (w0 & SLOT_HEAD) != 0)
            break;
    }
    if (next >= end)
        return false;
    if (slots_is_committed(slots_load(reader->slots, reader->position), reader->position))
        return true; /* meanwhile it is */
    if (reader->hole_count == RING_MAX_HOLES) {
        *ret_is_full = true;
        return false;
    }
    reader->holes[reader->hole_count++] = (struct ring_hole){reader->position, next};
    reader->position = next;
    sink->counts.holes++;
    return true;
}

/* How far slots may be given back. */
static uint64_t consumed_position(const struct ring_reader *reader)
{
    return reader->hole_count > 0 ? reader->holes[0].from : reader->position;
}

bool ring_reader_scan(struct ring_reader *reader, struct sink *sink)
{
    uint64_t begin = reader->position, end = load_cursor(reader, sink);
    uint64_t consumed = consumed_position(reader);
    bool is_stuck = !read_holes(reader, sink);
    bool has_hole_moved = consumed_position(reader) != consumed;

    while (!is_stuck && reader->position < end) {
        enum decode_stop stop = decode_run(reader, sink, &reader->position, end);

        if (stop == DECODE_AT_UNKNOWN_NAME)
            is_stuck = true;
        else if (stop == DECODE_AT_UNFILLED && !pass_hole(reader, sink, end, &is_stuck))
            break;
    }
    /* Relaxed: it only tells the thread whether to wake us. */
    atomic_store_explicit(&reader->entry->seen, reader->position, memory_order_relaxed);
    sink->counts.slots += reader->position - begin;
    if (is_stuck)
        process_note_stuck(reader->process,
                           reader->is_stuck && reader->stuck_position == reader->position);
    reader->is_stuck = is_stuck;
    reader->stuck_position = reader->position;
    /* A thread that has filled a hole to get on waits for its slots. */
    if (has_hole_moved || reader->position - reader->handed_position >= RING_FLUSH_SLOTS)
        ring_reader_flush(reader, sink, false);
    return reader->position != begin;
}

void ring_reader_repair(struct ring_reader *reader, struct sink *sink)
{
    uint64_t end = load_cursor(reader, sink);

    for (uint64_t n = consumed_position(reader); n < end; n++) {
        struct slot *slot = slots_at(reader->slots, n);

        if (slots_is_committed(slots_load(reader->slots, n), n))
            continue;
        atomic_store_explicit(&slot->w1, 0, memory_order_relaxed);
        /* Release: as the thread would have stored it. */
        atomic_store_explicit(&slot->w0,
                              SLOT_HEAD | (uint64_t)OP_NOP << SLOT_OP_SHIFT | slots_lap(n),
                              memory_order_release);
    }
}

void ring_reader_flush(struct ring_reader *reader, struct sink *sink, bool is_last)
{
    uint64_t consumed = consumed_position(reader);
    struct ring_release release = {.released = &reader->released, .consumed = consumed};

    /* The rest of a hole may have been passed by now without a record to show for it. */
    if (consumed != atomic_load_explicit(&reader->released, memory_order_relaxed) || is_last)
        release.entry = reader->entry;
    if (is_last)
        release.is_given_back = &reader->is_given_back;
    stream_flush(&reader->stream, sink, &release);
    reader->handed_position = reader->position;
}
