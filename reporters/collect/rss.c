/*
 * Resident memory from /proc. Clock thread.
 *
 * It must cost the programs nothing: statm is a few counters, but smaps_rollup walks page tables
 * under the lock that mmap needs, so the time it takes bounds how often it is read.
 */
#include "collect/rss.h"

#include "collect/proc_files.h"
#include "memtrack/format.h"

#include <unistd.h>

enum {
    SAMPLE_NS = 10000000,
    UNCHANGED_NS = 1000000000,
    HUGE_NS = 1000000000,
    HUGE_SHARE = 500, /* of the time at most 1 / so much in smaps_rollup */
    MAX_AT_ONCE = 64, /* processes: with more each has its turn more rarely */
};

void rss_init(struct rss *rss)
{
    rss->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
}

static void read_huge(struct rss_process *sample, uint32_t pid, uint64_t now_ns)
{
    uint64_t took_ns;

    if (now_ns - sample->huge_ns < sample->huge_period_ns)
        return;
    if (!proc_huge(pid, &sample->huge_bytes))
        sample->huge_bytes = 0;
    took_ns = session_now_ns() - now_ns;
    sample->huge_ns = now_ns;
    sample->huge_period_ns = took_ns * HUGE_SHARE > HUGE_NS ? took_ns * HUGE_SHARE : HUGE_NS;
}

static void sample_process(struct rss *rss, struct session *session, struct records *records,
                           uint32_t index, uint64_t now_ns)
{
    const struct process *process = &session->processes[index];
    struct rss_process *sample = &rss->processes[index];
    uint32_t pid = atomic_load_explicit(&process->pid, memory_order_relaxed);
    uint32_t number = atomic_load_explicit(&process->number, memory_order_acquire);
    uint64_t resident_bytes, huge_before;

    if (sample->number != number)
        *sample = (struct rss_process){.number = number};
    huge_before = sample->huge_bytes;
    if (pid == 0 || number == 0 || !proc_resident(pid, rss->page_bytes, &resident_bytes) ||
        resident_bytes == 0)
        return; /* ended: a zombie has no memory */
    read_huge(sample, pid, session_now_ns());
    /* Its slot may have become another's while we read. */
    if (number != atomic_load_explicit(&process->number, memory_order_acquire))
        return;
    if (resident_bytes == sample->resident_bytes && huge_before == sample->huge_bytes &&
        now_ns - sample->written_ns < UNCHANGED_NS)
        return;
    sample->resident_bytes = resident_bytes;
    sample->written_ns = now_ns;
    records_begin(records, RECORD_RSS);
    records_number(records, number);
    records_number(records, now_ns - session->start_ns);
    records_number(records, resident_bytes);
    records_number(records, sample->huge_bytes);
    records_end(records);
}

void rss_sample(struct rss *rss, struct session *session, struct records *records, uint64_t now_ns)
{
    uint32_t limit = session_process_limit(session), sampled = 0;

    if (now_ns - rss->sampled_ns < SAMPLE_NS)
        return;
    rss->sampled_ns = now_ns;
    for (uint32_t i = 0; i < limit && sampled < MAX_AT_ONCE; i++) {
        uint32_t index = (rss->next + i) % limit;

        if (process_phase(&session->processes[index]) != PHASE_LIVE)
            continue;
        sample_process(rss, session, records, index, now_ns);
        if (++sampled == MAX_AT_ONCE)
            rss->next = index + 1;
    }
}
