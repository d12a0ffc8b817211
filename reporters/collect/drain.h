/*
 * The drain thread: every ring of every process, round after round, until it is told to stop.
 */
#ifndef COLLECT_DRAIN_H
#define COLLECT_DRAIN_H

#include "base/error.h"
#include "collect/ring_reader.h"
#include "collect/session.h"
#include "collect/sink.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct drain {
    struct session *session;
    struct sink sink;
    struct ring_reader *readers; /* one for each ring of the pool */
    uint32_t prepared_readers;
    uint32_t discovered;   /* processes with a number, so far */
    uint64_t now_ns;       /* at the beginning of the round */
    uint64_t before_ns;    /* the same, of the round before */
    uint64_t uncovered_ns; /* since when there may be records beyond the bounds written; 0: none */
    uint64_t flushed_ns;   /* last time everything was handed over, and */
    uint64_t unflushed_slots; /* ... read since */
    uint64_t reaped_ns;       /* last look at idle threads */
    uint32_t free_rings;      /* in this round, with those about to be */
    uint32_t ring_requests;   /* of the pool's header, as last seen */
    uint32_t requests;        /* likewise */
    uint32_t most_slots;      /* read of one ring in this round */
    bool is_asked;            /* for a ring, since the last look at idle threads */
    bool has_read;            /* anything in this round */
    bool has_ending;          /* a process, first seen in this round */
    uint64_t hurry_ns;        /* next poll, as long as it is the shorter one */
    uint32_t calm_rounds;     /* in which nothing was read */
    uint64_t snapshots; /* asked for when the first round for them began; 0: none is waited for */
    uint64_t snapshots_done;  /* handed on */
    uint32_t snapshot_rounds; /* since then */
    _Atomic bool is_stopping;
    pthread_t thread;
};

/*
 * Make a drain that reads nothing yet; drain_round() by hand, or drain_start().
 * session: stays the caller's, longer than the drain. Context: main thread.
 */
struct drain *drain_create(struct session *session);

/* Give it back; no thread runs. NULL is allowed. Context: main thread. */
void drain_destroy(struct drain *drain);

/* One round: discover, read, end, flush when it is time. Context: drain thread. */
void drain_round(struct drain *drain);

/* Hand over all that was read, and the bounds that hold now. Context: drain thread. */
void drain_flush(struct drain *drain);

/* Start the thread. Returns false with err. Context: main thread. */
bool drain_start(struct drain *drain, struct error *err);

/* Let it read what is there, hand it over and end. Context: main thread. */
void drain_stop(struct drain *drain);

#endif
