/*
 * Resident memory of the tracked processes, sampled.
 */
#ifndef COLLECT_RSS_H
#define COLLECT_RSS_H

#include "collect/records.h"
#include "collect/session.h"

#include <stdint.h>

struct rss_process {
    uint32_t number;         /* whose samples these are */
    uint64_t resident_bytes; /* last written */
    uint64_t huge_bytes;     /* last read */
    uint64_t written_ns, huge_ns, huge_period_ns;
};

struct rss {
    uint64_t page_bytes;
    uint64_t sampled_ns;
    uint32_t next; /* process to begin with, when there are too many for one time */
    struct rss_process processes[POOL_PROCESS_COUNT];
};

/* Give it its beginning; it needs no end. Context: clock thread. */
void rss_init(struct rss *rss);

/*
 * Sample when it is time: each 10 ms; huge pages each second, or more rarely where reading them
 * takes long. An unchanged value is written once a second.
 * Context: clock thread.
 */
void rss_sample(struct rss *rss, struct session *session, struct records *records, uint64_t now_ns);

#endif
