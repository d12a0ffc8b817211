/*
 * Resident memory from /proc. Clock thread.
 *
 * It must cost the programs nothing: statm is a few counters, but smaps_rollup walks page tables
 * under the lock that mmap needs, so the time it takes bounds how often it is read. It must not keep
 * a machine busy either whose programs wait: a server's idle workers are looked at rarely.
 */
#include "collect/rss.h"

#include "collect/proc_files.h"
#include "memtrack/format.h"

#include <unistd.h>

enum {
    UNCHANGED_NS = 1000000000,
    HUGE_NS = 1000000000,
    HUGE_SHARE = 500, /* of the time at most 1 / so much in smaps_rollup */
    QUIET_HUGE = 10,  /* so many times as long while nothing goes on */
    MAX_AT_ONCE = 64, /* processes: with more each has its turn more rarely */
};

void rss_init(struct rss *rss)
{
    rss->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Whoever this was: the slot is free or another process's. */
static void forget(struct rss *rss, struct rss_process *sample)
{
    if (sample->has_file) {
        close(sample->file);
        rss->file_count--;
    }
    *sample = (struct rss_process){0};
}

void rss_finish(struct rss *rss)
{
    for (uint32_t i = 0; i < POOL_PROCESS_COUNT; i++)
        forget(rss, &rss->processes[i]);
}

static bool read_memory(struct rss *rss, struct rss_process *sample, uint32_t pid,
                        struct proc_memory *ret_memory)
{
    int file = sample->has_file ? sample->file : proc_open_memory(pid);
    bool is_read;

    if (file < 0)
        return false;
    is_read = proc_memory(file, rss->page_bytes, ret_memory);
    if (sample->has_file)
        return is_read;
    if (!is_read || rss->file_count == RSS_MAX_FILES) {
        close(file);
        return is_read;
    }
    sample->file = file;
    sample->has_file = true;
    rss->file_count++;
    return true;
}

static void read_huge(struct rss_process *sample, uint32_t pid, uint64_t now_ns)
{
    uint64_t period_ns = sample->huge_period_ns, took_ns;

    if (sample->period_ns == RSS_QUIET_NS)
        period_ns *= QUIET_HUGE;
    if (now_ns - sample->huge_ns < period_ns)
        return;
    if (!proc_huge(pid, &sample->huge_bytes))
        sample->huge_bytes = 0;
    took_ns = session_now_ns() - now_ns;
    sample->huge_ns = now_ns;
    sample->huge_period_ns = took_ns * HUGE_SHARE > HUGE_NS ? took_ns * HUGE_SHARE : HUGE_NS;
}

static void choose_period(struct rss_process *sample, bool is_quiet)
{
    uint64_t period_ns = is_quiet ? sample->period_ns * 2 : RSS_SAMPLE_NS;

    sample->period_ns = period_ns < RSS_QUIET_NS ? period_ns : RSS_QUIET_NS;
}

/* Write what counts against a limit of the process, if it has it. written_bytes: brought up to date. */
static void write_use(const struct rss *rss, uint32_t slot, enum limit_kind limit,
                      enum use_kind kind, uint64_t time_ns, uint64_t bytes, uint64_t *written_bytes,
                      struct records *records)
{
    uint32_t number = rss->processes[slot].number;

    if (rss->limits == NULL || !limits_has(rss->limits, slot, number, limit)) {
        *written_bytes = 0;
        return;
    }
    if (bytes == *written_bytes)
        return;
    *written_bytes = bytes;
    records_begin(records, RECORD_USE);
    records_number(records, kind);
    records_number(records, number);
    records_number(records, time_ns);
    records_number(records, bytes);
    records_end(records);
}

static void sample_process(struct rss *rss, struct session *session, struct records *records,
                           uint32_t index, uint64_t now_ns)
{
    const struct process *process = &session->processes[index];
    struct rss_process *sample = &rss->processes[index];
    uint32_t pid = atomic_load_explicit(&process->pid, memory_order_relaxed);
    uint32_t number = sample->number;
    uint32_t activity = atomic_load_explicit(&process->activity, memory_order_relaxed);
    uint64_t huge_before = sample->huge_bytes, time_ns = now_ns - session->start_ns;
    struct proc_memory memory;
    bool is_same;

    sample->sampled_ns = now_ns;
    if (pid == 0 || !read_memory(rss, sample, pid, &memory) || memory.resident_bytes == 0)
        return; /* ended: a zombie has no memory */
    read_huge(sample, pid, session_now_ns());
    /* Its slot may have become another's while we read. */
    if (number != atomic_load_explicit(&process->number, memory_order_acquire))
        return;
    write_use(rss, index, LIMIT_ADDRESS_SPACE, USE_ADDRESS_SPACE, time_ns, memory.address_bytes,
              &sample->address_bytes, records);
    write_use(rss, index, LIMIT_DATA, USE_DATA, time_ns, memory.data_bytes, &sample->data_bytes,
              records);
    is_same = memory.resident_bytes == sample->resident_bytes && huge_before == sample->huge_bytes;
    choose_period(sample, is_same && activity == sample->activity && !rss->is_watched);
    sample->activity = activity;
    if (is_same && now_ns - sample->written_ns < UNCHANGED_NS)
        return;
    sample->resident_bytes = memory.resident_bytes;
    sample->written_ns = now_ns;
    records_begin(records, RECORD_RSS);
    records_number(records, number);
    records_number(records, time_ns);
    records_number(records, memory.resident_bytes);
    records_number(records, sample->huge_bytes);
    records_end(records);
}

/* Whether it is this process's turn. What was kept of another one in its slot is forgotten. */
static bool is_due(struct rss *rss, struct rss_process *sample, const struct process *process,
                   uint64_t now_ns)
{
    uint32_t number = atomic_load_explicit(&process->number, memory_order_acquire);
    bool is_live = process_phase(process) == PHASE_LIVE && number != 0;

    if (sample->number != (is_live ? number : 0)) {
        forget(rss, sample);
        sample->number = is_live ? number : 0;
    }
    if (!is_live)
        return false;
    return now_ns - sample->sampled_ns >= sample->period_ns ||
           atomic_load_explicit(&process->activity, memory_order_relaxed) != sample->activity;
}

void rss_sample(struct rss *rss, struct session *session, struct records *records, uint64_t now_ns)
{
    uint32_t limit = session_process_limit(session), sampled = 0;

    if (now_ns - rss->sampled_ns < RSS_SAMPLE_NS)
        return;
    rss->sampled_ns = now_ns;
    for (uint32_t i = 0; i < limit && sampled < MAX_AT_ONCE; i++) {
        uint32_t index = (rss->next + i) % limit;

        if (!is_due(rss, &rss->processes[index], &session->processes[index], now_ns))
            continue;
        sample_process(rss, session, records, index, now_ns);
        if (++sampled == MAX_AT_ONCE)
            rss->next = index + 1;
    }
}

uint64_t rss_total_bytes(const struct rss *rss, struct session *session)
{
    uint64_t total_bytes = 0;

    for (uint32_t i = 0; i < session_process_limit(session); i++)
        if (rss->processes[i].number != 0)
            total_bytes += rss->processes[i].resident_bytes;
    return total_bytes;
}
