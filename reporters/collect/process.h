/*
 * One tracked process, as the collector knows it.
 *
 * There is one for each slot of the pool's process table, at the same index, and it never moves. It
 * passes from thread to thread by its phase; each field says who writes it, and in which phase.
 * Nothing here is read from the pool again once it has been copied.
 */
#ifndef COLLECT_PROCESS_H
#define COLLECT_PROCESS_H

#include "collect/names.h"
#include "collect/texts.h"
#include "memtrack/protocol.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum process_phase {
    PHASE_FREE = 0,
    PHASE_WELCOME = 1, /* main: its slot is claimed for it, it has not said its number yet */
    PHASE_LIVE = 2,    /* drain: it has a number */
    PHASE_ENDED = 3,   /* main: the kernel says so */
    PHASE_DRAINED = 4, /* drain: its rings are in the file; main may free it */
};

struct process {
    _Atomic uint32_t phase; /* enum process_phase; release when it moves on, acquire when read */
    uint32_t slot;          /* in the pool's process table; constant */

    /* Main thread. */
    _Atomic uint32_t pid; /* as the collector sees it; 0: not known (yet) */
    int pidfd;            /* -1: none */
    char *arguments;      /* as in /proc/PID/cmdline; malloc()ed, NULL: not known */
    size_t argument_bytes;
    char *executable;   /* malloc()ed, NULL: not known */
    bool is_described;  /* they are in the capture */
    bool is_to_free;    /* the drain has no more to do with it */
    uint64_t looked_ns; /* last look for a pid that is not known, or after an exec */
    uint32_t looks;     /* in vain */
    uint64_t missed_ns; /* the first of them */
    uint32_t activity_seen, execs_seen;

    /* Main thread, before PHASE_ENDED. */
    uint64_t ended_ns; /* CLOCK_MONOTONIC */
    uint8_t end;       /* enum process_end */
    int64_t end_code;

    /* Main thread, before PHASE_WELCOME; drain thread, before PHASE_LIVE. */
    uint32_t parent_number;

    /* Drain thread, before PHASE_LIVE. */
    _Atomic uint32_t number; /* unique in the session; 0 while it is free */
    uint32_t inner_pid;      /* as it sees itself */
    uint8_t how;             /* enum pool_process_how */
    uint64_t first_segment, started_ns;

    /* Drain thread. */
    struct code_map codes;
    struct code_map modules;
    uint32_t jit_module; /* of the capture; 0: none yet */
    struct text_map texts;
    uint64_t segment_seen;   /* highest in any SYNC read */
    uint64_t segment_before; /* the same at the beginning of this round */
    uint64_t segment_bound;  /* of the last BOUND written */
    uint32_t ring_count;     /* of rings being read */
    bool has_stuck_ring;     /* a ring could not be read to its end in this round */
    bool has_stuck_moved;    /* one of those had got further than in the round before */
    bool has_name_given_up;  /* in this round unknown codes are taken as unknown */
    bool has_exit_code;      /* it said so itself */
    bool is_written;         /* its PROCESS record is in the capture */
    bool is_ending;          /* it had ended when this round began */
    int64_t exit_code;
    _Atomic uint32_t activity; /* adds 1 in a round that read something of it; others read */
    _Atomic uint32_t execs;    /* begun by it and not failed; main thread looks after it */
};

/* A ring of it could not be read to its end. Context: drain thread. */
static inline void process_note_stuck(struct process *process, bool is_at_same_place)
{
    process->has_stuck_ring = true;
    if (!is_at_same_place)
        process->has_stuck_moved = true;
}

/* Context: any thread. */
static inline enum process_phase process_phase(const struct process *process)
{
    return (enum process_phase)atomic_load_explicit(&process->phase, memory_order_acquire);
}

static inline void process_set_phase(struct process *process, enum process_phase phase)
{
    atomic_store_explicit(&process->phase, (uint32_t)phase, memory_order_release);
}

/* Move on from a phase unless another thread has moved it on. Context: any thread. */
static inline void process_move_phase(struct process *process, enum process_phase from,
                                      enum process_phase to)
{
    uint32_t expected = (uint32_t)from;

    atomic_compare_exchange_strong_explicit(&process->phase, &expected, (uint32_t)to,
                                            memory_order_acq_rel, memory_order_relaxed);
}

#endif
