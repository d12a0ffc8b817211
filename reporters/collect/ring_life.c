/*
 * Rings come and go. Drain thread.
 *
 * What holds: a ring becomes free only when everything that was in it has been written, and every
 * slot below its cursor is filled: else its next lap would show the records of the one before.
 */
#include "collect/ring_life.h"

#include "collect/drain.h"
#include "collect/proc_files.h"
#include "collect/process_life.h"
#include "memtrack/format.h"

enum {
    FREE_RINGS = 8,
    RINGS_AT_ONCE = 32, /* then those who wait for one are woken */
    IDLE_NS = 1000000000,
    LOOK_NS = 100000000,      /* between looks at idle threads */
    SHORT_LOOK_NS = 10000000, /* the same when rings are short */
};

static void write_thread(struct drain *drain, const struct ring_reader *reader)
{
    struct records *records = &drain->sink.records;

    records_begin(records, RECORD_THREAD);
    records_field_number(records, THREAD_STREAM, reader->stream.number);
    records_field_number(records, THREAD_PROCESS, reader->process->number);
    records_field_number(records, THREAD_TID, reader->tid);
    if (reader->tid == reader->process->inner_pid)
        records_field_number(records, THREAD_MAIN, 1);
    records_end(records);
}

/* A thread has one ring: an older one of the same thread id is a dead thread's. */
static void leave_older_ring(struct drain *drain, const struct ring_reader *newer)
{
    for (uint32_t i = 0; i < drain->session->pool.rings_ready; i++) {
        struct ring_reader *reader = &drain->readers[i];

        if (reader != newer && reader->is_active && !reader->is_gone &&
            reader->process == newer->process && reader->tid == newer->tid)
            ring_life_mark_gone(drain, reader);
    }
}

static bool begin_stream(struct drain *drain, struct ring_reader *reader)
{
    struct process *process = process_life_find(drain, reader->entry->process);

    if (process == NULL)
        return false;
    ring_reader_begin(reader, &drain->sink, process, reader->entry->tid);
    reader->moved_ns = drain->now_ns;
    write_thread(drain, reader);
    leave_older_ring(drain, reader);
    return true;
}

/* A thread that died, or whose process did, between taking the ring and saying so. */
static void look_at_claiming(struct drain *drain, struct ring_reader *reader)
{
    uint32_t claiming = RING_CLAIMING;

    if (reader->claiming_ns == 0)
        reader->claiming_ns = drain->now_ns;
    if (drain->now_ns - reader->claiming_ns < IDLE_NS ||
        process_life_find(drain, reader->entry->process) != NULL)
        return;
    atomic_compare_exchange_strong(&reader->entry->state, &claiming, RING_FREE);
    reader->claiming_ns = 0;
}

bool ring_life_look(struct drain *drain, struct ring_reader *reader)
{
    uint32_t state;

    if (reader->is_leaving) {
        drain->free_rings++;
        if (!atomic_load_explicit(&reader->is_given_back, memory_order_acquire))
            return false;
        ring_reader_end(reader);
        pool_wake(&drain->session->pool.header->rings_ready, 1); /* who waits for one */
    }
    if (reader->is_active)
        return true;
    state = atomic_load_explicit(&reader->entry->state, memory_order_acquire);
    if (state == RING_OWNED)
        return begin_stream(drain, reader);
    if (state == RING_FREE)
        drain->free_rings++;
    if (state == RING_CLAIMING)
        look_at_claiming(drain, reader);
    else
        reader->claiming_ns = 0;
    return false;
}

void ring_life_mark_gone(struct drain *drain, struct ring_reader *reader)
{
    reader->is_gone = true;
    ring_reader_repair(reader, &drain->sink);
}

void ring_life_write_losses(const struct ring_reader *reader, struct records *records,
                            uint64_t *lost)
{
    uint64_t count = atomic_load_explicit(&reader->entry->lost, memory_order_relaxed);
    uint64_t repaired = atomic_load_explicit(&reader->entry->repaired, memory_order_relaxed);

    records_begin(records, RECORD_THREAD);
    records_field_number(records, THREAD_STREAM, reader->stream.number);
    records_field_number(records, THREAD_PROCESS, reader->process->number);
    records_field_number(records, THREAD_LOST, count);
    records_field_number(records, THREAD_REPAIRED, repaired);
    records_end(records);
    *lost += count;
}

void ring_life_end(struct drain *drain, struct ring_reader *reader)
{
    /* Of a cursor that is more than a lap ahead, the first repair has not seen the end. */
    if (reader->hole_count > 0 && !reader->is_leaving)
        ring_reader_repair(reader, &drain->sink);
    if (reader->is_leaving || reader->is_stuck || reader->hole_count > 0)
        return;
    ring_life_write_losses(reader, &drain->sink.records, &drain->sink.counts.lost);
    /* The next owner goes on where we are, whatever this one has left there. */
    atomic_store_explicit(&reader->entry->cursor, reader->position, memory_order_relaxed);
    reader->is_leaving = true;
    ring_reader_flush(reader, &drain->sink, true);
}

/* Look at threads that record nothing, or, when rings are short, at all. */
static void look_at_threads(struct drain *drain, bool is_short)
{
    drain->reaped_ns = drain->now_ns;
    drain->is_asked = false;
    for (uint32_t i = 0; i < drain->session->pool.rings_ready; i++) {
        struct ring_reader *reader = &drain->readers[i];
        const struct process *process = reader->process;

        if (!reader->is_active || reader->is_gone)
            continue;
        if (reader->position != reader->cursor_seen) {
            reader->cursor_seen = reader->position;
            reader->moved_ns = drain->now_ns;
        }
        if (!is_short && drain->now_ns - reader->moved_ns < IDLE_NS)
            continue;
        reader->moved_ns = drain->now_ns;
        if (proc_thread_is_gone(atomic_load_explicit(&process->pid, memory_order_relaxed),
                                process->inner_pid, reader->tid))
            ring_life_mark_gone(drain, reader);
    }
}

/*
 * How many rings should be free: some, and one for each thread that has asked since we looked. Not
 * more than there are already: the number is the programs' to write.
 */
static uint32_t wanted_rings(struct drain *drain)
{
    uint32_t requests =
        atomic_load_explicit(&drain->session->pool.header->ring_requests, memory_order_relaxed);
    uint32_t count = requests - drain->ring_requests, most = drain->session->pool.rings_ready;

    drain->ring_requests = requests;
    drain->is_asked |= count > 0;
    return FREE_RINGS + (count < most ? count : most);
}

void ring_life_provide(struct drain *drain)
{
    uint32_t wanted = wanted_rings(drain);
    bool is_short = drain->free_rings < wanted;
    uint64_t since_ns = drain->now_ns - drain->reaped_ns;

    /* Who asks may be barred from what is free: a process can have mapped only some rings. */
    if (since_ns >= (is_short || drain->is_asked ? SHORT_LOOK_NS : LOOK_NS))
        look_at_threads(drain, is_short || drain->is_asked);
    if (!is_short)
        return;
    for (uint32_t i = 0; i < drain->session->pool.rings_ready; i++)
        drain->free_rings += drain->readers[i].is_gone && !drain->readers[i].is_leaving;
    while (drain->free_rings < wanted) {
        uint32_t count = wanted - drain->free_rings;

        if (count > RINGS_AT_ONCE)
            count = RINGS_AT_ONCE;
        if (!pool_add_rings(&drain->session->pool, count))
            return; /* threads wait for one, and in the end count what they lose */
        drain->free_rings += count;
    }
}
