/*
 * Writing into the thread's own ring.
 *
 * A group of slots is reserved before it is filled, by moving the cursor on from the value that was
 * read before anything else was checked. A handler that recorded in between makes that fail, and
 * all is checked again. Continuations are filled before their head, records in their order.
 */
#ifndef RECORD_RING_H
#define RECORD_RING_H

#include "base/arch.h"
#include "memtrack/protocol.h"
#include "record/context.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Return w0 of a record's head, but for its payload and arg. Context: hot path. */
static inline uint64_t slot_head(enum slot_op op)
{
    return SLOT_HEAD | (uint64_t)op << SLOT_OP_SHIFT;
}

/* Return bit 63 of the slot of this number when it is filled. Context: hot path. */
static inline uint64_t slot_lap(uint64_t number)
{
    return ~(number / RING_SLOT_COUNT) << 63;
}

/* Return where the slot of this number lies. Context: hot path. */
static inline struct slot *ring_slot(struct slot *slots, uint64_t number)
{
    /* In bytes: it is an instruction less. */
    return (struct slot *)((char *)slots +
                           number * sizeof(*slots) % (RING_SLOT_COUNT * sizeof(*slots)));
}

/* Return how many slots a record takes; w0 is its head's. Context: hot path. */
static inline unsigned slot_count_of(uint64_t w0)
{
    switch (w0 >> SLOT_OP_SHIFT & SLOT_OP_MASK) {
    case OP_PY:
    case OP_NATIVE:
        /* The first frame stands in the head, each continuation holds two. */
        return 1 + (unsigned)((w0 >> DELTA_PUSH_SHIFT & DELTA_COUNT_MASK) / 2);
    case OP_BLOB:
        return 1 + (unsigned)((w0 >> 24 & 0xfff) + BLOB_BYTES_PER_SLOT - 1) / BLOB_BYTES_PER_SLOT;
    default:
        return 1;
    }
}

/*
 * Fill a reserved slot.
 * slots: the ring's. number: the slot's, counted from the ring's creation.
 * Context: hot path.
 */
static inline void ring_fill(struct slot *slots, uint64_t number, uint64_t w0, uint64_t w1)
{
    struct slot *slot = ring_slot(slots, number);

    /* Release: w1, and every slot filled before, is there when w0 says so. */
    atomic_store_explicit(&slot->w1, w1, memory_order_relaxed);
    atomic_store_explicit(&slot->w0, (w0 | SLOT_LAP) ^ number / RING_SLOT_COUNT << 63,
                          memory_order_release);
}

/* Fill reserved slots with whole records, as they stand in the group. Context: hot path. */
void ring_fill_group(struct slot *slots, uint64_t number, const struct slot *group,
                     unsigned count_slots);

/*
 * Write a group of records that need no order among threads: reserve, fill.
 * group: count_slots slots, w0 without the lap bit; whole records; at most GROUP_MAX_SLOTS.
 * Returns false when there is no room and no use in waiting: the caller counts what it lost.
 * Context: hot path (slow paths only).
 */
bool ring_write(struct context *context, const struct slot *group, unsigned count_slots);

/* Write CLOCK. As ring_write(). */
bool ring_write_clock(struct context *context);

/*
 * Make room: afterwards cursor + need is not above context->end, unless a handler has recorded.
 * Waits for the collector while it moves. Writes what is due at this place: NOP up to the lap's
 * end, CLOCK in a new lap, LOST.
 * Returns false as for ring_write(), and when the context has become nobody's.
 * Context: hot path (slow paths only).
 */
bool ring_make_room(struct context *context, unsigned need);

#endif
