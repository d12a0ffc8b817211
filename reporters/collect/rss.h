/*
 * Resident memory of the tracked processes, sampled.
 */
#ifndef COLLECT_RSS_H
#define COLLECT_RSS_H

#include "collect/limits.h"
#include "collect/records.h"
#include "collect/session.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    RSS_SAMPLE_NS = 10000000,
    RSS_QUIET_NS = 160000000, /* of a process that neither records nor changes its size */
    RSS_MAX_FILES = 64,       /* kept open; with more processes the others' are opened each time */
};

struct rss_process {
    uint32_t number;   /* whose samples these are; 0: nobody's */
    uint32_t activity; /* the process's, at the last sample */
    bool has_file;
    int file;                /* of proc_open_memory(), when there is one */
    uint64_t resident_bytes; /* last written */
    uint64_t address_bytes;  /* likewise; 0: no limit asks for it */
    uint64_t data_bytes;     /* likewise */
    uint64_t huge_bytes;     /* last read */
    uint64_t sampled_ns, period_ns;
    uint64_t written_ns, huge_ns, huge_period_ns;
};

struct rss {
    uint64_t page_bytes;
    uint64_t sampled_ns;
    uint32_t next; /* process to begin with, when there are too many for one time */
    uint32_t file_count;
    const struct limits *limits; /* the clock's; NULL: there are none */
    bool is_watched; /* somebody waits for a sum: who is quiet is looked at all the same */
    struct rss_process processes[POOL_PROCESS_COUNT];
};

/* Give it its beginning. rss: all zero. Context: clock thread. */
void rss_init(struct rss *rss);

/* Close what is open. Context: any thread, after the clock's. */
void rss_finish(struct rss *rss);

/*
 * Sample who is due: each 10 ms who records or changes his size, others ever more rarely, down to
 * each 160 ms; huge pages each second, or more rarely where reading them takes long or nothing goes
 * on. An unchanged value is written once a second. Of a process whose address space or data is limited,
 * those are written when they change.
 * Context: clock thread.
 */
void rss_sample(struct rss *rss, struct session *session, struct records *records, uint64_t now_ns);

/* Return the resident bytes of all processes, as last sampled. Context: clock thread. */
uint64_t rss_total_bytes(const struct rss *rss, struct session *session);

#endif
