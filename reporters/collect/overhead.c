/*
 * Sums of processor time. Main thread.
 *
 * What holds: sums never fall. What a process uses after the last look before its end is not seen.
 * Counters and cursors are the programs': a wrong one makes a wrong sum, no more.
 */
#include "collect/overhead.h"

#include "base/memory.h"

#include <stdlib.h>

enum {
    BLOCKS_PART = 4,
    LEAST_OWN_PART = 4, /* of a program's time: however much we think that we have taken */
    MILLION = 1000000,
};

static uint64_t read_clock(clockid_t clock)
{
    struct timespec used;

    if (clock_gettime(clock, &used) != 0)
        return 0;
    return (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
}

/* 0: it has ended. */
static uint64_t cpu_of(uint32_t pid)
{
    clockid_t clock;

    return pid != 0 && clock_getcpuclockid((pid_t)pid, &clock) == 0 ? read_clock(clock) : 0;
}

static uint64_t growth(uint64_t *before, uint64_t now)
{
    uint64_t grown = now > *before ? now - *before : 0;

    *before += grown;
    return grown;
}

static void look_at_process(struct overhead *overhead, struct session *session, uint32_t slot)
{
    struct overhead_process *seen = &overhead->processes[slot];
    struct process *process = &session->processes[slot];
    /* Relaxed: numbers that say only themselves. */
    uint32_t number = atomic_load_explicit(&process->number, memory_order_relaxed);
    uint32_t pid = atomic_load_explicit(&process->pid, memory_order_relaxed);

    if (process_phase(process) != PHASE_LIVE)
        return;
    if (seen->number != number)
        *seen = (struct overhead_process){.number = number};
    overhead->cpu_ns += growth(&seen->cpu_ns, cpu_of(pid));
    overhead->slow_ns +=
        growth(&seen->slow_ns,
               atomic_load_explicit(&session->pool.processes[slot].counters[COUNTER_SLOW_NS],
                                    memory_order_relaxed));
}

static uint64_t count_slots(const struct session *session)
{
    uint32_t ready = atomic_load_explicit(&session->pool.header->rings_ready, memory_order_acquire);
    uint64_t count = 0;

    for (uint32_t i = 0; i < ready && i < session->pool.ring_count; i++)
        count += atomic_load_explicit(&session->pool.rings[i].cursor, memory_order_relaxed);
    return count;
}

struct overhead_sums overhead_look(struct overhead *overhead, struct session *session,
                                   uint64_t idle_ns, bool is_sample)
{
    uint64_t slot_ns = is_sample ? OVERHEAD_PICK_NS : OVERHEAD_SLOT_NS, slots;
    uint64_t in_programs_ns, collector_ns = read_clock(CLOCK_PROCESS_CPUTIME_ID), least_ns;
    struct overhead_sums sums;

    if (overhead->processes == NULL)
        overhead->processes = memory_allocate(POOL_PROCESS_COUNT, sizeof(*overhead->processes));
    for (uint32_t i = 0; i < session_process_limit(session); i++)
        look_at_process(overhead, session, i);
    slots = growth(&overhead->slots, count_slots(session));
    overhead->events_ns += slots * slot_ns;
    overhead->blocks_ns += slots * (slot_ns + OVERHEAD_COLLECT_NS);
    in_programs_ns = overhead->events_ns + overhead->slow_ns;
    least_ns = overhead->cpu_ns / LEAST_OWN_PART;
    sums.own_ns = overhead->cpu_ns > in_programs_ns ? overhead->cpu_ns - in_programs_ns : 0;
    if (sums.own_ns < least_ns)
        sums.own_ns = least_ns;
    sums.recording_ns = in_programs_ns + (collector_ns > idle_ns ? collector_ns - idle_ns : 0);
    sums.blocks_ns = overhead->blocks_ns;
    return sums;
}

bool overhead_is_of_blocks(const struct overhead_sums *sums)
{
    return sums->blocks_ns >= sums->recording_ns / BLOCKS_PART;
}

bool overhead_exceeds(const struct overhead_sums *sums, uint64_t most_ppm)
{
    /* In this order nothing is too large; a millisecond of the programs' time is fine enough. */
    return sums->recording_ns > sums->own_ns / MILLION * most_ppm;
}

struct overhead_sums overhead_between(const struct overhead_sums *before,
                                      const struct overhead_sums *after)
{
    struct overhead_sums sums = {0};

    if (after->own_ns > before->own_ns)
        sums.own_ns = after->own_ns - before->own_ns;
    if (after->recording_ns > before->recording_ns)
        sums.recording_ns = after->recording_ns - before->recording_ns;
    sums.blocks_ns = after->blocks_ns - before->blocks_ns;
    return sums;
}

void overhead_finish(struct overhead *overhead)
{
    free(overhead->processes);
    *overhead = (struct overhead){0};
}
