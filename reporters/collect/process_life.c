/*
 * Processes found, bound and drained. Drain thread.
 *
 * What a slot of the pool's table says is copied once; later it is not looked at again but for its
 * counters, which are only numbers.
 */
#include "collect/process_life.h"

#include "collect/drain.h"
#include "collect/ring_life.h"
#include "memtrack/format.h"

static uint64_t since_start(const struct drain *drain, uint64_t ns)
{
    return ns > drain->session->start_ns ? ns - drain->session->start_ns : 0;
}

static struct process *find_known(struct drain *drain, uint32_t number)
{
    for (uint32_t i = 0; i < session_process_limit(drain->session); i++) {
        struct process *process = &drain->session->processes[i];
        enum process_phase phase = process_phase(process);

        if ((phase == PHASE_LIVE || phase == PHASE_ENDED) && process->is_written &&
            process->number == number)
            return process;
    }
    return NULL;
}

static void write_process(struct drain *drain, struct process *process)
{
    struct records *records = &drain->sink.records;
    uint32_t pid = atomic_load_explicit(&process->pid, memory_order_relaxed);

    records_begin(records, RECORD_PROCESS);
    records_field_number(records, PROCESS_NUMBER, process->number);
    if (pid != 0)
        records_field_number(records, PROCESS_PID, pid);
    records_field_number(records, PROCESS_INNER_PID, process->inner_pid);
    records_field_number(records, PROCESS_PARENT, process->parent_number);
    records_field_number(records, PROCESS_HOW, process->how);
    records_field_number(records, PROCESS_FIRST_SEGMENT, process->first_segment);
    records_field_number(records, PROCESS_STARTED_NS, since_start(drain, process->started_ns));
    records_field_number(records, PROCESS_TRACKED, 1);
    records_end(records);
    process->is_written = true;
}

/* Take over what a process says of itself. Its phase is FREE (a fork), WELCOME or ENDED. */
static void discover(struct drain *drain, struct process *process, enum process_phase phase)
{
    const struct pool_process *slot = &drain->session->pool.processes[process->slot];
    uint32_t number = atomic_load_explicit(&slot->number, memory_order_relaxed);

    if (number == 0 || find_known(drain, number) != NULL)
        return; /* nothing a target writes */
    process->number = number;
    process->inner_pid = slot->pid;
    if (slot->parent_number != 0 && slot->parent_number < number)
        process->parent_number = slot->parent_number;
    process->how = slot->how <= PROCESS_BY_ATTACH ? slot->how : PROCESS_BY_EXEC;
    process->first_segment = slot->first_segment & SLOT_PAYLOAD_MASK;
    process->started_ns = slot->started_ns;
    process->segment_seen = process->segment_before = process->segment_bound = 0;
    process->has_exit_code = process->has_name_given_up = process->has_stuck_ring = false;
    process->ring_count = 0;
    drain->discovered++;
    if (process->how == PROCESS_BY_FORK)
        atomic_fetch_add_explicit(&drain->session->fork_children, 1, memory_order_relaxed);
    session_use_slot(drain->session, process->slot);
    write_process(drain, process);
    sink_put_records(&drain->sink); /* before what the main thread has to say of it */
    /* It may have ended meanwhile: then it stays so. */
    if (phase != PHASE_ENDED)
        process_move_phase(process, phase, PHASE_LIVE);
    session_wake_main(drain->session);
}

static void discover_all(struct drain *drain)
{
    for (uint32_t i = 0; i < POOL_PROCESS_COUNT; i++) {
        struct process *process = &drain->session->processes[i];
        enum process_phase phase = process_phase(process);
        uint32_t state;

        if (phase == PHASE_LIVE || phase == PHASE_DRAINED || process->is_written)
            continue;
        state =
            atomic_load_explicit(&drain->session->pool.processes[i].state, memory_order_acquire);
        if (state == PROCESS_LIVE || state == PROCESS_DETACHED)
            discover(drain, process, phase);
    }
}

struct process *process_life_find(struct drain *drain, uint32_t number)
{
    struct process *process = find_known(drain, number);

    if (process == NULL && number != 0) {
        discover_all(drain);
        process = find_known(drain, number);
    }
    return process;
}

void process_life_begin_round(struct drain *drain)
{
    /* Each process adds 1 before it is LIVE. Relaxed: a late look costs a round. */
    if (atomic_load_explicit(&drain->session->pool.header->next_process, memory_order_relaxed) !=
        drain->discovered)
        discover_all(drain);
    for (uint32_t i = 0; i < session_process_limit(drain->session); i++) {
        struct process *process = &drain->session->processes[i];

        process->segment_before = process->segment_seen;
        process->has_stuck_ring = process->has_stuck_moved = false;
    }
}

/* Give back a ring that the process was about to take when it died. */
static void free_claiming(struct drain *drain, const struct process *process)
{
    for (uint32_t i = 0; i < drain->session->pool.rings_ready; i++) {
        struct ring_entry *entry = &drain->session->pool.rings[i];
        uint32_t claiming = RING_CLAIMING;

        if (!drain->readers[i].is_active && entry->process == process->number)
            atomic_compare_exchange_strong(&entry->state, &claiming, RING_FREE);
    }
}

/* Into a PROCESS record. */
static void put_counters(const struct drain *drain, const struct process *process,
                         struct records *records, uint64_t *lost)
{
    struct pool_process *slot = &drain->session->pool.processes[process->slot];

    for (uint32_t i = 0; i < POOL_COUNTER_COUNT; i++) {
        uint64_t value = atomic_load_explicit(&slot->counters[i], memory_order_relaxed);

        if (value != 0)
            records_field_number(records, PROCESS_COUNTER + i, value);
        if (i == COUNTER_LOST)
            *lost += value;
    }
}

void process_life_write_counters(const struct drain *drain, const struct process *process,
                                 struct records *records, uint64_t *lost)
{
    records_begin(records, RECORD_PROCESS);
    records_field_number(records, PROCESS_NUMBER, process->number);
    put_counters(drain, process, records, lost);
    records_end(records);
}

static void write_end(struct drain *drain, const struct process *process)
{
    struct records *records = &drain->sink.records;
    uint8_t end = process->end;
    int64_t code = process->end_code;

    if (end == END_UNKNOWN && process->has_exit_code) {
        end = END_CODE;
        code = process->exit_code;
    }
    records_begin(records, RECORD_PROCESS);
    records_field_number(records, PROCESS_NUMBER, process->number);
    records_field_number(records, PROCESS_ENDED_NS, since_start(drain, process->ended_ns));
    records_field_number(records, PROCESS_END, end);
    if (end == END_CODE || end == END_SIGNAL)
        records_field_number(records, PROCESS_END_CODE, (uint64_t)code);
    put_counters(drain, process, records, &drain->sink.counts.lost);
    records_end(records);
    /* Its rings are in the file, so all of its segments are. */
    records_begin(records, RECORD_BOUND);
    records_number(records, process->number);
    records_number(records, process->segment_seen);
    records_end(records);
}

/* A process that has ended, after a scan that began when it had. */
static void end_process(struct drain *drain, struct process *process)
{
    if (process->ring_count > 0) {
        for (uint32_t i = 0; i < drain->session->pool.rings_ready; i++) {
            struct ring_reader *reader = &drain->readers[i];

            if (reader->is_active && !reader->is_gone && reader->process == process)
                ring_life_mark_gone(drain, reader);
        }
        return;
    }
    if (process->is_written) {
        free_claiming(drain, process);
        write_end(drain, process);
    }
    code_map_finish(&process->codes);
    code_map_finish(&process->modules);
    text_map_finish(&process->texts);
    process->segment_seen = process->segment_before = process->segment_bound = 0;
    process->is_written = process->is_ending = false;
    process_set_phase(process, PHASE_DRAINED);
    session_wake_main(drain->session);
}

void process_life_end_round(struct drain *drain)
{
    for (uint32_t i = 0; i < session_process_limit(drain->session); i++) {
        struct process *process = &drain->session->processes[i];

        /* No ring that waits for a name has moved for a round: nobody will announce it. */
        process->has_name_given_up = process->has_stuck_ring && !process->has_stuck_moved;
        if (process->is_ending) {
            end_process(drain, process);
        } else if (process_phase(process) == PHASE_ENDED) {
            process->is_ending = drain->has_ending = true;
        }
    }
}
