/*
 * Inside the folder: what replay.c, its blocks and its ranges share.
 */
#ifndef PROFILE_REPLAY_STATE_H
#define PROFILE_REPLAY_STATE_H

#include "capture/merge.h"
#include "memtrack/protocol.h"
#include "profile/failures.h"
#include "profile/inherited.h"
#include "profile/ledger.h"
#include "profile/legacy.h"
#include "profile/live_blocks.h"
#include "profile/marks.h"
#include "profile/pools.h"
#include "profile/ranges.h"
#include "profile/replay.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    UNDO_DEPTH = 4, /* releases of a thread that can still be taken back */
    REPLAY_DOMAIN_SHIFT = 57,
    PYTHON_REALLOC = 2, /* of the four entries of each Python domain */
    PYTHON_ENTRIES = 4,
    PYTHON_DOMAINS = 3,
};

/* A range or its part, as it was when it was released. */
struct range_release {
    struct range range;
    struct release release;
};

/* A release that was applied and may be taken back. */
struct undo {
    bool is_used, is_range;
    bool was_inherited; /* a block of the parent's */
    uint64_t key;       /* of the block, or the range's address */
    struct release release;
    struct range_release *ranges;
    size_t range_count, range_capacity;
};

/*
 * A release that waits for what follows it in its thread: it takes place together with the result,
 * so that what a realloc moves is counted once at every instant.
 */
struct pending {
    bool is_set, is_range;
    uint64_t key, bytes; /* of the block; the range's address and length */
};

struct replay_stream {
    uint32_t ordinal; /* blocks allocated, modulo 2^32 */
    uint32_t process;
    bool is_selected;
    uint64_t noted_lost; /* events, in its notes */
    struct pending pending;
    struct undo *undos; /* UNDO_DEPTH, newest first; NULL: none yet */
};

struct replay_process {
    struct live_blocks blocks;
    struct ranges ranges;
    struct inherited inherited;
    struct legacy legacy; /* while children are to come */
    uint32_t *pending;    /* streams that have one */
    size_t pending_count, pending_capacity;
    uint64_t fork_segment; /* from this segment on somebody has to be asked: 0 before the first
                              event, then the next child's first segment */
    uint32_t first_child;  /* forked, not yet given its blocks, by first segment; or UINT32_MAX */
    uint32_t next_child;   /* of the same parent */
    bool has_events, has_begun;
    bool needs_copy;   /* forked, and has not got its parent's blocks */
    bool is_over;      /* it has ended, and its blocks are gone */
    bool is_placed;    /* in its parent's list, if it has one */
    uint64_t ended_ns; /* as it stands in the ends; 0: not yet */
};

struct replay {
    const struct capture *capture;
    const struct profile_options *options;
    struct ledger *ledger;
    struct replay_stream *streams;
    struct replay_process *processes;
    uint32_t *ends; /* processes that ended, by time */
    uint32_t end_count, next_end;
    uint32_t stream_count, process_count, state_count; /* of the capture, that are known here */
    size_t stream_capacity, process_capacity, end_capacity;
    uint32_t map_ordinal; /* maps so far, modulo 2^32 */
    bool is_late;         /* see replay_is_right() */
    bool is_at_end;       /* replay_end_time() was called */
    uint64_t reached_ns;  /* ends before it have been told */
    uint64_t tick;        /* of the last event; UINT64_MAX: before the first */
    bool leaves_out;      /* blocks by size or time: the releases of some are there all the same */
    bool is_partial;  /* not all blocks are there: what follows a release need not be its result */
    bool is_estimate; /* they were sampled: nobody knows what came in between */
    /* Domains whose blocks the rows show: from the first on, so many. */
    uint8_t first_domain, domain_count;
    uint32_t slow_count; /* events that are told one by one before others are tried */
    struct marks marks;
    struct pools pools;
    struct failures failures;
};

/* What may still be done about a release: a place for it in its thread's history. */
struct undo *replay_history(struct replay_stream *stream);

/*
 * Do what has to be done before an event: at a new tick, at a segment in which somebody has to be
 * asked, and when a release of its thread waits. Context: tool.
 */
void replay_prepare(struct replay *replay, const struct event *event);

/* Tell an event that is neither ALLOC nor FREE. Context: tool. */
void replay_rare(struct replay *replay, const struct event *event);

/*
 * Tell events of one thread of which only sums are to be seen. events: count of them, at least one.
 * Returns how many of the first ones have been told so: the next one is something else.
 * Context: tool.
 */
uint32_t replay_quiet(struct replay *replay, const struct event *events, uint32_t count);

/* Take a block away because its release took place. Context: tool. */
void replay_release_block(struct replay *replay, uint32_t stream, uint64_t key);

/* Take back a block's release. Returns false when its place is taken. Context: tool. */
bool replay_restore_block(struct replay *replay, uint32_t stream, const struct undo *undo);

/* MAP, UNMAP and PROTECT. Context: tool. */
void replay_map(struct replay *replay, const struct event *event);
void replay_unmap(struct replay *replay, const struct event *event);
void replay_protect(struct replay *replay, const struct event *event);

/* Take ranges away because their release took place. Context: tool. */
void replay_release_range(struct replay *replay, uint32_t stream, uint64_t address, uint64_t bytes);

/* Take back a range's release. Returns how many of its parts have their places taken. */
uint32_t replay_restore_range(struct replay *replay, uint32_t stream, const struct undo *undo);

/* All ranges of a process go, or stay to the end. Context: tool. */
void replay_leak_ranges(struct replay *replay, struct replay_process *process, bool has_ended);

/* Give a child the ranges of its parent. Context: tool. */
void replay_copy_ranges(struct replay_process *child, const struct replay_process *parent);

/* Let a release wait for what follows it. Context: tool. */
void replay_wait(struct replay *replay, uint32_t stream, struct pending pending);

/*
 * The releases of other threads that wait, and touch what an event touches, take place now: the
 * event could not be there otherwise. Context: tool.
 */
void replay_settle_block(struct replay *replay, uint32_t stream, uint64_t key);
void replay_settle_range(struct replay *replay, uint32_t stream, uint64_t address, uint64_t bytes);

/*
 * Malloc's blocks and those of Python's three domains lie in one address space: where the interpreter
 * has its tables changed in between, a block is released by another domain than it came from.
 */
static inline bool replay_shares_addresses(uint8_t domain)
{
    return domain <= DOMAIN_PYTHON_OBJECT;
}

/* Are these keys of one block? Context: tool. */
static inline bool replay_is_same_block(uint64_t left, uint64_t right)
{
    uint64_t domains = UINT64_C(7) << REPLAY_DOMAIN_SHIFT;

    return left == right || ((left & ~domains) == (right & ~domains) &&
                             replay_shares_addresses(left >> REPLAY_DOMAIN_SHIFT & 7) &&
                             replay_shares_addresses(right >> REPLAY_DOMAIN_SHIFT & 7));
}

/* Is a release by this entry followed by its result? Context: tool. */
static inline bool replay_is_realloc(uint8_t allocator)
{
    if (allocator == ALLOCATOR_REALLOC || allocator == ALLOCATOR_REALLOCARRAY)
        return true;
    return allocator >= ALLOCATOR_PYMALLOC &&
           allocator < ALLOCATOR_PYMALLOC + PYTHON_ENTRIES * PYTHON_DOMAINS &&
           (allocator - ALLOCATOR_PYMALLOC) % PYTHON_ENTRIES == PYTHON_REALLOC;
}

/* Return the key of a block in a domain. Context: tool. */
static inline uint64_t replay_key(uint8_t domain, uint64_t address)
{
    return LIVE_KEY | (uint64_t)domain << REPLAY_DOMAIN_SHIFT | address;
}

/* Are the blocks of a domain what the rows show? Context: tool. */
static inline bool replay_is_shown(const struct replay *replay, uint8_t domain)
{
    return (uint8_t)(domain - replay->first_domain) < replay->domain_count;
}

/* Does what an allocation made count as heap? Context: tool. */
bool replay_is_heap_class(uint8_t map_class);

#endif
