/*
 * What stands in a slot: small readings of memtrack/protocol.h, for the drain thread.
 *
 * Nothing here trusts a slot: a count that its op does not allow comes back as 0.
 */
#ifndef COLLECT_SLOTS_H
#define COLLECT_SLOTS_H

#include "memtrack/protocol.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SLOT_INDEX_MASK = RING_SLOT_COUNT - 1,
    /* Ops of later parts of the protocol, by their number of slots. */
    OP_GPU_NOTE = 8,
    OP_GPU_ALLOC = 19,
    OP_GPU_FREE = 20,
    OP_RESERVED_FIRST = 24, /* up to 31: payload bits 0-7 count the continuations */
    GPU_SLOTS = 3,
};

_Static_assert((RING_SLOT_COUNT & (RING_SLOT_COUNT - 1)) == 0, "slots are found by a mask");

/* The lap bit of a committed slot of this number. Context: drain thread. */
static inline uint64_t slots_lap(uint64_t number)
{
    return (number / RING_SLOT_COUNT & 1) == 0 ? SLOT_LAP : 0;
}

static inline struct slot *slots_at(struct slot *ring, uint64_t number)
{
    return &ring[number & SLOT_INDEX_MASK];
}

/* Load w0. Acquire: what was stored before it is seen, w1 and the continuations. */
static inline uint64_t slots_load(struct slot *ring, uint64_t number)
{
    return atomic_load_explicit(&slots_at(ring, number)->w0, memory_order_acquire);
}

static inline bool slots_is_committed(uint64_t w0, uint64_t number)
{
    return (w0 & SLOT_LAP) == slots_lap(number);
}

static inline uint32_t slots_op(uint64_t w0)
{
    return (uint32_t)(w0 >> SLOT_OP_SHIFT & SLOT_OP_MASK);
}

static inline uint32_t slots_delta_pop(uint64_t w0)
{
    return (uint32_t)(w0 & DELTA_COUNT_MASK);
}

static inline uint32_t slots_delta_push(uint64_t w0)
{
    return (uint32_t)(w0 >> DELTA_PUSH_SHIFT & DELTA_COUNT_MASK);
}

static inline uint8_t slots_blob_kind(uint64_t w0)
{
    return (uint8_t)w0;
}

static inline uint16_t slots_blob_number(uint64_t w0)
{
    return (uint16_t)(w0 >> 8);
}

static inline uint32_t slots_blob_bytes(uint64_t w0)
{
    return (uint32_t)(w0 >> 24 & 0xfff);
}

/*
 * Return how many slots a record has, from its head; 0 when no record can begin so.
 * Context: drain thread.
 */
static inline uint32_t slots_of_record(uint64_t w0)
{
    uint32_t op = slots_op(w0), count;

    switch (op) {
    case OP_PY:
    case OP_NATIVE:
        count = slots_delta_push(w0);
        return count > DELTA_MAX_FRAMES ? 0 : 1 + count / 2;
    case OP_BLOB:
        count = slots_blob_bytes(w0);
        return count > BLOB_CHUNK_MAX_BYTES
                   ? 0
                   : 1 + (count + BLOB_BYTES_PER_SLOT - 1) / BLOB_BYTES_PER_SLOT;
    case OP_GPU_NOTE:
    case OP_GPU_ALLOC:
    case OP_GPU_FREE:
        return GPU_SLOTS;
    default:
        return op < OP_RESERVED_FIRST ? 1 : 1 + (uint32_t)(w0 & 0xff);
    }
}

#endif
