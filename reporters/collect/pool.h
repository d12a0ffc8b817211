/*
 * The pool: memory shared with the targets, made by the collector (memtrack/protocol.h).
 *
 * What holds: sizes and offsets are kept here, in private memory; those in the header are for the
 * targets and are never read back, since a target can write anything into the pool.
 */
#ifndef COLLECT_POOL_H
#define COLLECT_POOL_H

#include "base/error.h"
#include "memtrack/protocol.h"

#include <stdbool.h>
#include <stdint.h>

struct pool {
    int fd; /* the memfd, for fallocate() and to be handed to targets */
    uint8_t *base;
    uint64_t size_bytes;
    struct pool_header *header;
    struct pool_process *processes; /* POOL_PROCESS_COUNT */
    struct ring_entry *rings;       /* ring_count */
    uint32_t ring_count;
    uint32_t rings_ready; /* rings with memory; the drain thread's once it runs */
};

struct pool_settings {
    uint64_t options; /* enum pool_option */
    uint64_t min_size;
    uint64_t sample_bytes;
    const uint8_t *uuid, *token;
    const char *capture_path;
    enum pool_state state;
    uint32_t ring_count; /* at most; fewer when a limit of the system forbids more */
};

/*
 * Make a pool with its first rings, in the state that is asked for.
 * pool: the caller's, given back by pool_finish(). The calling thread holds the death mutex from
 * now on: it must live as long as the collector.
 * Context: tool.
 */
bool pool_init(struct pool *pool, const struct pool_settings *settings, struct error *err);

/* Unmap and close; NULL bases are allowed. By the thread that called pool_init(). Context: tool. */
void pool_finish(struct pool *pool);

/* Return the slots of a ring. ring: below ring_count. Context: any thread. */
static inline struct slot *pool_slots(const struct pool *pool, uint32_t ring)
{
    uint64_t rings_offset = pool->size_bytes - (uint64_t)pool->ring_count * RING_BYTES;

    return (struct slot *)(void *)(pool->base + rings_offset + (uint64_t)ring * RING_BYTES);
}

/*
 * Give memory to so many more rings and tell those who wait for one.
 * Returns false when there are no more, or no memory. Context: drain thread.
 */
bool pool_add_rings(struct pool *pool, uint32_t count);

/* Change what the targets do; each notices at its next event. Context: any thread. */
void pool_set_state(struct pool *pool, enum pool_state state);

/* Have blocks sampled at a level from now on, SAMPLE_LEVEL_MOST at most. Context: any thread. */
void pool_set_level(struct pool *pool, uint32_t level);

/* Let a process look at tick and state at its next event. Context: any thread. */
void pool_bump_epoch(struct pool_process *process);

/* Wake the drain thread if it sleeps. Context: any thread. */
void pool_ring_doorbell(struct pool *pool);

/* Return the number of the last ring, for pool_await_doorbell(). Context: drain thread. */
uint32_t pool_doorbell(struct pool *pool);

/*
 * Sleep until somebody rings the doorbell, at most timeout_ns; not at all when somebody has.
 * heard: of pool_doorbell(), before the work that ringing calls for was looked for.
 * Context: drain thread.
 */
void pool_await_doorbell(struct pool *pool, uint32_t heard, uint64_t timeout_ns);

/*
 * Wake up to count of those who wait on a word of the pool.
 * Context: any thread.
 */
void pool_wake(_Atomic uint32_t *word, int count);

/* Sleep while a word holds this value, or for no reason not. Context: any thread. */
void pool_wait(_Atomic uint32_t *word, uint32_t value);

#endif
