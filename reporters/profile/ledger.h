/*
 * The sums: what is live and what was, by row, thread, process and allocator, and the exact peak.
 *
 * It is told of changes in their order and does not know events. Rows are the only thing that
 * grows. Not thread-safe.
 */
#ifndef PROFILE_LEDGER_H
#define PROFILE_LEDGER_H

#include "profile/block.h"
#include "profile/intervals.h"
#include "profile/profile.h"
#include "profile/row_table.h"
#include "profile/timeline.h"

#include <stdbool.h>
#include <stdint.h>

/* What one owner holds, and the most it ever held. */
struct holding {
    uint64_t live_bytes, peak_bytes;
};

struct ledger {
    const struct capture *capture; /* the owner's */
    struct row_table rows;
    struct timeline_heap heap;
    struct timeline timeline;
    struct intervals intervals;
    uint64_t now_ns;
    uint32_t tick; /* index in capture.ticks + 1 of now_ns; 0: before the first */
    /* The peak: see ledger.c. */
    uint64_t generation;
    uint64_t grown_ns; /* when the heap last grew */
    struct profile_totals totals;
    struct profile_allocator allocators[256];
    struct holding allocator_holdings[256];
    struct profile_owner *threads, *processes;
    struct holding *thread_holdings, *process_holdings;
    struct holding reserved, mapped_file;
    uint64_t size_allocations[PROFILE_SIZE_CLASSES], size_bytes[PROFILE_SIZE_CLASSES];
    uint64_t lifetimes[PROFILE_LIFETIMES];
};

/*
 * Begin.
 * instants: of the samples, as an earlier reading of the same events made them, the caller's; NULL:
 * no intervals are wanted. Context: tool.
 */
void ledger_init(struct ledger *ledger, const struct capture *capture, uint64_t end_ns,
                 const uint64_t *instants);

/* Give it back; all zero bytes is allowed. Context: tool. */
void ledger_finish(struct ledger *ledger);

/* Go on to an instant. tick: as in the struct. Context: tool. */
void ledger_advance(struct ledger *ledger, uint64_t time_ns, uint32_t tick);

/*
 * A block is there now; block->bytes and block->row say what and whose, its bucket is filled in. A
 * row of ROW_NONE changes nothing, here and below. Context: tool.
 */
void ledger_hold(struct ledger *ledger, struct block *block);

/* A block is not there any more. Context: tool. */
void ledger_drop(struct ledger *ledger, const struct block *block);

/* It is there because the program allocated it just now. Context: tool. */
void ledger_count_allocation(struct ledger *ledger, const struct block *block);

/* A release by a thread, as it was counted. */
struct release {
    struct block block;
    uint32_t stream;   /* who released it */
    uint8_t lifetime;  /* index in lifetimes */
    bool is_temporary; /* so soon that it counts as temporary */
};

/*
 * A block is not there because a thread released it.
 * is_temporary: so soon that it counts as temporary.
 * Returns its lifetime, as struct release has it. Context: tool.
 */
uint8_t ledger_count_release(struct ledger *ledger, const struct block *block, uint32_t stream,
                             bool is_temporary);

/* The release did not happen. Context: tool. */
void ledger_uncount_release(struct ledger *ledger, const struct release *release);

/* It was never released. Context: tool. */
void ledger_count_leak(struct ledger *ledger, const struct block *block);

/* It is there still after all events: every sample from its first one on shows it. Context: tool. */
void ledger_outlive(struct ledger *ledger, const struct block *block);

/* A holding that is counted apart changes. Context: tool. */
void ledger_change(struct holding *holding, uint64_t added_bytes, uint64_t removed_bytes);

/* All events have been told. Rows' peaks are right from here on. Context: tool. */
void ledger_close(struct ledger *ledger);

#endif
