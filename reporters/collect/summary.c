/*
 * SESSION and SUMMARY. Main thread, at start-up and at the end; of a snapshot the thread that makes it.
 */
#include "collect/summary.h"

#include "memtrack/format.h"
#include "memtrack/protocol.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

struct summary_clocks summary_read_clocks(void)
{
    return (struct summary_clocks){
        .realtime_ns = read_clock(CLOCK_REALTIME),
        .monotonic_ns = read_clock(CLOCK_MONOTONIC),
        .boottime_ns = read_clock(CLOCK_BOOTTIME),
    };
}

static void put_text(struct records *records, uint32_t field, const char *text)
{
    records_field_text(records, field, text, strlen(text));
}

void summary_write_session(struct records *records, const struct collect_options *options,
                           const struct summary_clocks *clocks)
{
    struct utsname system = {0};

    uname(&system);
    records_begin(records, RECORD_SESSION);
    put_text(records, SESSION_VERSION, MEMTRACK_VERSION);
    put_text(records, SESSION_HOST, system.nodename);
    put_text(records, SESSION_MACHINE, system.machine);
    records_field_number(records, SESSION_PAGE_BYTES, (uint64_t)sysconf(_SC_PAGESIZE));
    records_field_number(records, SESSION_TICK_PERIOD_US, TICK_PERIOD_US);
    records_field_number(records, SESSION_REALTIME_NS, clocks->realtime_ns);
    records_field_number(records, SESSION_MONOTONIC_NS, clocks->monotonic_ns);
    records_field_number(records, SESSION_BOOTTIME_NS, clocks->boottime_ns);
    records_field_number(records, SESSION_OPTIONS, options->pool_options);
    if (options->min_size > 0)
        records_field_number(records, SESSION_MIN_SIZE, options->min_size);
    if (options->sample_bytes > 0)
        records_field_number(records, SESSION_SAMPLE_BYTES, options->sample_bytes);
    if (options->max_file_bytes > 0)
        records_field_number(records, SESSION_MAX_FILE, options->max_file_bytes);
    if (options->max_overhead_ppm > 0)
        records_field_number(records, SESSION_MAX_OVERHEAD, options->max_overhead_ppm);
    for (uint32_t i = 0; i < options->argument_count; i++)
        put_text(records, SESSION_ARGUMENT, options->arguments[i]);
    if (options->directory != NULL)
        put_text(records, SESSION_DIRECTORY, options->directory);
    records_end(records);
}

void summary_write(struct records *records, const struct sink_counts *counts, uint64_t raw_bytes,
                   uint64_t ended_ns, const struct summary_end *end)
{
    struct rusage usage = {0};

    getrusage(RUSAGE_SELF, &usage);
    records_begin(records, RECORD_SUMMARY);
    records_field_number(records, SUMMARY_CPU_NS, read_clock(CLOCK_PROCESS_CPUTIME_ID));
    records_field_number(records, SUMMARY_ENDED_NS, ended_ns);
    records_field_number(records, SUMMARY_EVENTS, counts->events);
    records_field_number(records, SUMMARY_SLOTS, counts->slots);
    records_field_number(records, SUMMARY_LOST, counts->lost);
    records_field_number(records, SUMMARY_HOLES, counts->holes);
    records_field_number(records, SUMMARY_FAULTS, counts->faults);
    records_field_number(records, SUMMARY_RAW_BYTES, raw_bytes);
    records_field_number(records, SUMMARY_RSS_BYTES, (uint64_t)usage.ru_maxrss * 1024);
    if (end->model_cpu_ns > 0)
        records_field_number(records, SUMMARY_MODEL_CPU_NS, end->model_cpu_ns);
    if (end->reason != NULL)
        put_text(records, SUMMARY_REASON, end->reason);
    if (end->is_snapshot)
        records_field_number(records, SUMMARY_IS_SNAPSHOT, 1);
    for (uint32_t i = 0; i < end->failure_count; i++)
        put_text(records, SUMMARY_FAILURE, end->failures[i]);
    records_end(records);
}
