/*
 * The blocks of a sample that are live, so that only their releases are recorded.
 *
 * One set for all threads: a block may be released by another thread than has allocated it. No lock:
 * an element is one word, put in by compare-and-swap and taken out by a store. A block is put in
 * before its allocation is recorded and the program gets it, and taken out before its release is
 * recorded; so nobody looks for one that is being put in, and nobody else takes it out.
 *
 * Most blocks that are released are not in it, which one load from a filter tells.
 *
 * A forked child goes on with its copy: it may release what it has inherited, and the reader knows
 * that it has it. That is why this is not in memory that is wiped on fork, and why there is no state
 * here that a thread of the parent, which the child lacks, would have to finish.
 */
#ifndef RECORD_SAMPLE_SET_H
#define RECORD_SAMPLE_SET_H

#include "memtrack/protocol.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SAMPLE_FILTER_COUNT = 1 << 16,
    SAMPLE_FILTER_SHIFT = 6,
};

/* How many blocks of the set fall on each counter; SAMPLE_FILTER_FULL stays for good. */
extern _Atomic uint8_t sample_filter[SAMPLE_FILTER_COUNT] __attribute__((visibility("hidden")));

/*
 * Return the counter of an address: blocks that lie together have counters that do, so that those of
 * a busy part of the heap stay in the cache.
 * Context: hot path.
 */
static inline uint32_t sample_filter_index(uintptr_t address)
{
    return (uint32_t)(address >> SAMPLE_FILTER_SHIFT) % SAMPLE_FILTER_COUNT;
}

/* Whether a block may be in the set; if not, it is not. Context: hot path. */
static inline bool sample_set_may_have(uintptr_t address)
{
    /* Relaxed: who has the block from another thread has got it in some order behind the store. */
    return atomic_load_explicit(&sample_filter[sample_filter_index(address)],
                                memory_order_relaxed) != 0;
}

/*
 * Put a block in, which is not in it.
 * Returns false when there is no room and no memory.
 * Context: hot path (slow paths only).
 */
bool sample_set_put(enum domain domain, uintptr_t address);

/*
 * Take a block out.
 * Returns whether it was in it.
 * Context: hot path (slow paths only).
 */
bool sample_set_take(enum domain domain, uintptr_t address);

/*
 * Let the filter say of a block, for good, that it may be in the set.
 * Context: start-up.
 */
void sample_set_doubt(uintptr_t address);

/* Return the bytes of memory that the set has, but for what is in every process. Context: any thread. */
size_t sample_set_bytes(void);

#endif
