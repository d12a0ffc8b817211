/*
 * Reading one ring: which slots are there, in which order, and what was left out.
 *
 * Drain thread. A ring is the program's memory: whatever stands in it, reading it ends, and what it
 * says is checked or refused (decode.c).
 *
 * Slots below the thread's cursor that are not filled although a filled head stands behind them are
 * a hole: a hook that a signal handler interrupted, or that siglongjmp left. It is noted and passed
 * over; when it is filled later its records come at that moment, in the segment then in force:
 * nothing can depend on them before. Slots are given back only up to the first hole.
 */
#ifndef COLLECT_RING_READER_H
#define COLLECT_RING_READER_H

#include "collect/blob.h"
#include "collect/chain.h"
#include "collect/sink.h"
#include "memtrack/protocol.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct process;

enum {
    RING_MAX_HOLES = 64,
    STACK_CACHE_COUNT = 64,
    RING_FLUSH_SLOTS = RING_SLOT_COUNT / 4, /* read since the last flush: 64 KiB */
};

struct ring_hole {
    uint64_t from, to;
};

/* The last stacks of a ring: the same few come again and again. */
struct stack_cache {
    uint32_t python, native, id; /* id 0: empty */
    uint16_t kind;
};

struct ring_reader {
    struct ring_entry *entry;   /* in the pool */
    struct slot *slots;         /* in the pool */
    bool is_active;             /* a thread's stream is being read */
    bool is_gone;               /* the thread is gone: what is there is all */
    bool is_left_over;          /* what is decoded now is out of a hole, or a gone thread's */
    bool is_leaving;            /* read to the end, waits until that is written */
    _Atomic bool is_given_back; /* pack thread: it has been made free */
    _Atomic uint64_t released;  /* pack thread: what entry->consumed was set to */
    uint64_t position;          /* next slot to be read */
    uint64_t handed_position;   /* position at the last flush */
    struct ring_hole holes[RING_MAX_HOLES]; /* by position */
    uint32_t hole_count;
    bool is_stuck; /* the last scan stopped at a name that is not known, or at too many holes */
    uint64_t stuck_position;
    /* Of the thread whose stream it is. */
    struct process *process;
    struct stream stream;
    struct chain chain, native_chain;
    struct chain_memo native_memos[MEMO_COUNT];
    struct blob blob;
    struct stack_cache stack_cache[STACK_CACHE_COUNT];
    uint32_t tid;
    uint64_t moved_ns, cursor_seen; /* for the look at idle threads */
    uint64_t claiming_ns;           /* since when it is RING_CLAIMING; 0: it is not */
};

/*
 * Begin a stream at the reader's position.
 * process: stays the caller's, longer than the stream. Context: drain thread.
 */
void ring_reader_begin(struct ring_reader *reader, struct sink *sink, struct process *process,
                       uint32_t tid);

/*
 * Read all that is filled, up to the thread's cursor.
 * Returns true when anything was read. Context: drain thread.
 */
bool ring_reader_scan(struct ring_reader *reader, struct sink *sink);

/*
 * Fill what a thread that is gone has left unfilled, up to its cursor, so that a scan reads
 * everything and the next lap does not show the lap before. Context: drain thread.
 */
void ring_reader_repair(struct ring_reader *reader, struct sink *sink);

/*
 * Hand over what was read. is_last: the ring becomes free once that is written.
 * Context: drain thread.
 */
void ring_reader_flush(struct ring_reader *reader, struct sink *sink, bool is_last);

/* Forget the stream; its memory is given back. Context: drain thread. */
void ring_reader_end(struct ring_reader *reader);

#endif
