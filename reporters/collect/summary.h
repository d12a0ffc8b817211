/*
 * The first and the last record of a capture.
 */
#ifndef COLLECT_SUMMARY_H
#define COLLECT_SUMMARY_H

#include "collect/collect.h"
#include "collect/records.h"
#include "collect/sink.h"

#include <stdbool.h>
#include <stdint.h>

struct summary_clocks {
    uint64_t realtime_ns, monotonic_ns, boottime_ns;
};

/* Read the three clocks, as near to each other as can be. Context: main thread. */
struct summary_clocks summary_read_clocks(void);

/* Write the SESSION record. Context: main thread. */
void summary_write_session(struct records *records, const struct collect_options *options,
                           const struct summary_clocks *clocks);

/* How it ended. */
struct summary_end {
    const char *reason;    /* why it ended early; NULL: it did not */
    uint64_t model_cpu_ns; /* processor time that the model has taken */
    bool is_snapshot;      /* it is a copy of a capture that goes on */
    char *const *failures; /* what was asked for and could not be done, a sentence each */
    uint32_t failure_count;
};

/*
 * Write the SUMMARY record.
 * raw_bytes: of EVENTS payloads, before packing. Context: any thread.
 */
void summary_write(struct records *records, const struct sink_counts *counts, uint64_t raw_bytes,
                   uint64_t ended_ns, const struct summary_end *end);

#endif
