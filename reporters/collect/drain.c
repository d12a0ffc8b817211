/*
 * Rounds. Drain thread.
 *
 * A bound may be written when everything that the scan before had seen has been handed over: a
 * segment that one scan has seen is complete in the next, since each scan reads every ring up to a
 * cursor that it loads after the scan before has ended.
 */
#include "collect/drain.h"

#include "base/memory.h"
#include "collect/process_life.h"
#include "collect/ring_life.h"
#include "collect/snapshot.h"
#include "memtrack/format.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    POLL_NS = 4000000, /* threads ring long before their rings are full */
    POLL_MAX_NS = 20000000,
    HURRY_NS = 100000,   /* first poll after a process has ended: somebody waits for us */
    FLUSH_NS = 42000000, /* with a poll and the writing: at most 50 ms after the record */
    /*
     * Bounds wait behind all the events that wait to be packed. While there are many, they go out
     * more often: killed in the midst of it, the capture ended up to 103 ms before.
     */
    BUSY_SLOTS = RING_SLOT_COUNT * 8, /* since the last flush */
    BUSY_FLUSH_NS = 12000000,
    CALM_ROUNDS = 20, /* before the poll grows longer */
    /*
     * While a thread fills its ring, the next round comes when it should have got so far: before it
     * has to wake us, which costs it a system call.
     */
    PACE_SLOTS = RING_SLOT_COUNT / 16 * 6,
    HURRY_SLOTS = RING_SLOT_COUNT / 4, /* in one round: there is no time to sleep */
    NAP_MIN_NS = 50000,                /* about what it takes to fall asleep and wake up */
    SNAPSHOT_ROUNDS = 2,
    SNAPSHOT_MOST_ROUNDS = 500, /* while a thread is about to say a name */
};

void session_wake_main(struct session *session)
{
    uint64_t one = 1;
    ssize_t written = write(session->main_fd, &one, sizeof(one));

    (void)written; /* full: it is awake anyway */
}

struct drain *drain_create(struct session *session)
{
    struct drain *drain = memory_allocate(1, sizeof(*drain));
    struct pool *pool = &session->pool;

    drain->session = session;
    sink_init(&drain->sink, session->pack, &session->tick, session->start_ns);
    drain->readers = memory_allocate(pool->ring_count, sizeof(*drain->readers));
    drain->now_ns = drain->flushed_ns = drain->reaped_ns = session_now_ns();
    drain->hurry_ns = POLL_NS;
    return drain;
}

void drain_destroy(struct drain *drain)
{
    if (drain == NULL)
        return;
    for (uint32_t i = 0; i < drain->prepared_readers; i++) {
        struct ring_reader *reader = &drain->readers[i];

        if (!reader->is_active)
            continue;
        free(reader->stream.block);
        ring_reader_end(reader);
    }
    for (uint32_t i = 0; i < POOL_PROCESS_COUNT; i++) {
        code_map_finish(&drain->session->processes[i].codes);
        code_map_finish(&drain->session->processes[i].modules);
        text_map_finish(&drain->session->processes[i].texts);
    }
    sink_finish(&drain->sink);
    free(drain->readers);
    free(drain);
}

/* Readers of rings that have no memory yet cost none either. */
static void prepare_readers(struct drain *drain)
{
    struct pool *pool = &drain->session->pool;

    for (; drain->prepared_readers < pool->rings_ready; drain->prepared_readers++) {
        struct ring_reader *reader = &drain->readers[drain->prepared_readers];

        reader->entry = &pool->rings[drain->prepared_readers];
        reader->slots = pool_slots(pool, drain->prepared_readers);
    }
}

static void scan_rings(struct drain *drain)
{
    prepare_readers(drain);
    for (uint32_t i = 0; i < drain->session->pool.rings_ready; i++) {
        struct ring_reader *reader = &drain->readers[i];
        uint64_t before;

        if (!ring_life_look(drain, reader))
            continue;
        before = reader->position;
        if (ring_reader_scan(reader, &drain->sink)) {
            drain->has_read = true;
            drain->unflushed_slots += reader->position - before;
            atomic_fetch_add_explicit(&reader->process->activity, 1, memory_order_relaxed);
            if (reader->position - before > drain->most_slots)
                drain->most_slots = (uint32_t)(reader->position - before);
        }
        if (reader->is_gone)
            ring_life_end(drain, reader);
    }
}

static void write_bounds(struct drain *drain)
{
    struct records *records = &drain->sink.records;

    for (uint32_t i = 0; i < session_process_limit(drain->session); i++) {
        struct process *process = &drain->session->processes[i];

        if (process->has_stuck_ring || process->segment_before <= process->segment_bound)
            continue;
        records_begin(records, RECORD_BOUND);
        records_number(records, process->number);
        records_number(records, process->segment_before);
        records_end(records);
        process->segment_bound = process->segment_before;
    }
    sink_put_records(&drain->sink);
}

void drain_flush(struct drain *drain)
{
    for (uint32_t i = 0; i < drain->session->pool.rings_ready; i++) {
        struct ring_reader *reader = &drain->readers[i];

        if (reader->is_active && !reader->is_leaving)
            ring_reader_flush(reader, &drain->sink, false);
    }
    sink_put_records(&drain->sink);
    write_bounds(drain);
    drain->flushed_ns = drain->now_ns;
    drain->unflushed_slots = 0;
    /* The bounds are of the round before. */
    drain->uncovered_ns = drain->has_read ? drain->before_ns : 0;
}

/* What only the end of a capture says of those that live. */
static void write_counters(const struct drain *drain, struct records *records, uint64_t *lost)
{
    for (uint32_t i = 0; i < session_process_limit(drain->session); i++) {
        const struct process *process = &drain->session->processes[i];

        if (process->is_written)
            process_life_write_counters(drain, process, records, lost);
    }
    for (uint32_t i = 0; i < drain->prepared_readers; i++) {
        const struct ring_reader *reader = &drain->readers[i];

        if (reader->is_active && !reader->is_leaving)
            ring_life_write_losses(reader, records, lost);
    }
}

static bool has_stuck_ring(const struct drain *drain)
{
    for (uint32_t i = 0; i < session_process_limit(drain->session); i++)
        if (drain->session->processes[i].has_stuck_ring)
            return true;
    return false;
}

/* Programs cannot wake the main thread, so they wake us. */
static void pass_on_requests(struct drain *drain)
{
    /* Relaxed: the main thread looks at each request itself. */
    uint32_t requests =
        atomic_load_explicit(&drain->session->pool.header->requests, memory_order_relaxed);

    if (requests == drain->requests)
        return;
    drain->requests = requests;
    session_wake_main(drain->session);
}

/*
 * What was recorded before a snapshot was asked for is read by the first round that begins after
 * that, and within the bounds of the second.
 */
static void look_for_snapshots(struct drain *drain, uint64_t asked)
{
    struct sink_counts counts;
    struct records records = {0};

    if (asked == drain->snapshots_done)
        return;
    if (drain->snapshots == 0) {
        drain->snapshots = asked;
        drain->snapshot_rounds = 0;
    }
    if (++drain->snapshot_rounds < SNAPSHOT_ROUNDS ||
        (has_stuck_ring(drain) && drain->snapshot_rounds < SNAPSHOT_MOST_ROUNDS))
        return;
    drain_flush(drain);
    counts = drain->sink.counts;
    write_counters(drain, &records, &counts.lost);
    snapshots_pass_drain(drain->session->snapshots, drain->snapshots, &records, &counts);
    records_finish(&records);
    drain->snapshots_done = drain->snapshots;
    drain->snapshots = 0;
}

static bool is_flush_due(const struct drain *drain)
{
    uint64_t flushed_ns = drain->now_ns - drain->flushed_ns;

    return flushed_ns >= FLUSH_NS ||
           (drain->uncovered_ns != 0 && drain->now_ns - drain->uncovered_ns >= FLUSH_NS) ||
           (drain->unflushed_slots >= BUSY_SLOTS && flushed_ns >= BUSY_FLUSH_NS);
}

void drain_round(struct drain *drain)
{
    uint64_t snapshots_asked_for = snapshots_asked(drain->session->snapshots);
    struct pool_header *header = drain->session->pool.header;

    /* Relaxed: waiters only look whether it moves. */
    atomic_fetch_add_explicit(&header->heartbeat, 1, memory_order_relaxed);
    drain->before_ns = drain->now_ns;
    drain->now_ns = session_now_ns();
    drain->has_read = drain->has_ending = false;
    drain->most_slots = drain->free_rings = 0;
    pass_on_requests(drain);
    process_life_begin_round(drain);
    scan_rings(drain);
    atomic_store_explicit(&drain->session->forks, drain->sink.counts.forks, memory_order_relaxed);
    process_life_end_round(drain);
    ring_life_provide(drain);
    /* What was read now may have been recorded right after the look before. */
    if (drain->has_read && drain->uncovered_ns == 0)
        drain->uncovered_ns = drain->before_ns;
    if (is_flush_due(drain))
        drain_flush(drain);
    look_for_snapshots(drain, snapshots_asked_for);
}

/*
 * How long to sleep until the ring that is filled fastest is filled so far, at the pace of this round;
 * POLL_NS at most.
 */
static uint64_t nap_ns(const struct drain *drain)
{
    uint64_t period_ns = drain->now_ns - drain->before_ns;
    uint64_t due_ns, now_ns;

    if (drain->most_slots == 0)
        return POLL_NS;
    due_ns = drain->now_ns + period_ns * PACE_SLOTS / drain->most_slots;
    now_ns = session_now_ns();
    if (due_ns < now_ns + NAP_MIN_NS)
        return drain->most_slots < HURRY_SLOTS ? NAP_MIN_NS : 0;
    return due_ns - now_ns < POLL_NS ? due_ns - now_ns : POLL_NS;
}

/* How long to sleep after a round. */
static uint64_t next_poll_ns(struct drain *drain)
{
    uint64_t poll_ns = drain->hurry_ns;

    if (drain->snapshots != 0)
        return drain->snapshot_rounds < SNAPSHOT_ROUNDS ? 0 : HURRY_NS;
    drain->calm_rounds = drain->has_read ? 0 : drain->calm_rounds + 1;
    if (drain->has_ending)
        poll_ns = HURRY_NS;
    if (poll_ns < POLL_NS) {
        drain->hurry_ns = poll_ns * 2;
        return poll_ns;
    }
    return drain->calm_rounds > CALM_ROUNDS ? POLL_MAX_NS : nap_ns(drain);
}

static void *drain_run(void *argument)
{
    struct drain *drain = argument;
    struct pool *pool = &drain->session->pool;

    (void)prctl(PR_SET_NAME, "memtrack-drain"); /* for who looks at it; no matter if not */
    (void)prctl(PR_SET_TIMERSLACK, 1UL);        /* else a nap may be longer by 50 us */
    while (!atomic_load_explicit(&drain->is_stopping, memory_order_acquire)) {
        uint32_t heard = pool_doorbell(pool);
        uint64_t sleep_ns;

        drain_round(drain);
        sleep_ns = next_poll_ns(drain);
        if (sleep_ns != 0)
            pool_await_doorbell(pool, heard, sleep_ns);
    }
    drain_round(drain); /* what was recorded before we were told to stop */
    drain_round(drain); /* and what waited for a name */
    drain_flush(drain);
    while (drain->snapshots_done != snapshots_asked(drain->session->snapshots))
        drain_round(drain);
    return NULL;
}

bool drain_start(struct drain *drain, struct error *err)
{
    int status = pthread_create(&drain->thread, NULL, drain_run, drain);

    if (status != 0)
        error_set(err, "the collector cannot start a thread: %s", strerror(status));
    return status == 0;
}

void drain_stop(struct drain *drain)
{
    atomic_store_explicit(&drain->is_stopping, true, memory_order_release);
    pool_ring_doorbell(&drain->session->pool);
    pthread_join(drain->thread, NULL);
}
