/*
 * Room in a ring: laps, holes, waiting, and giving up.
 *
 * Runs in the program's threads, on slow paths. A reader that moves is waited for; one that stands
 * still for a second is not, and one that is dead ends recording. Handlers may come between any two
 * instructions and record here themselves: what was read counts only when the reservation that
 * stands on it succeeds.
 *
 * Relaxed, where nothing is said: words that only this thread and its handlers write.
 */
#include "record/ring.h"

#include "base/syscalls.h"
#include "record/process.h"

#define SPIN_NS     UINT64_C(20000)
#define WAIT_NS     UINT64_C(10000000)
#define PATIENCE_NS UINT64_C(1000000000)

enum {
    WAKE_SLOTS =
        RING_SLOT_COUNT / 8 * 5, /* so much to read, and the reader is woken: that costs us */
    STEP_SLOTS = RING_SLOT_COUNT / 8,
};

/* One wait for room. */
struct wait {
    uint64_t began_ns; /* 0: not waiting */
    uint64_t moved_ns; /* when the reader was last seen to do something */
    uint64_t consumed;
    uint32_t heartbeat;
};

enum room {
    ROOM_MADE,
    ROOM_ASK_AGAIN, /* something was written ahead */
    ROOM_FULL,
};

void ring_fill_group(struct slot *slots, uint64_t number, const struct slot *group,
                     unsigned count_slots)
{
    unsigned record_slots;

    for (unsigned i = 0; i < count_slots; i += record_slots) {
        record_slots = slot_count_of(group[i].w0);
        for (unsigned j = i + 1; j < i + record_slots; j++)
            ring_fill(slots, number + j, group[j].w0, group[j].w1);
        ring_fill(slots, number + i, group[i].w0, group[i].w1);
    }
}

bool ring_write(struct context *context, const struct slot *group, unsigned count_slots)
{
    struct ring_entry *ring = context->ring;
    struct slot *slots;
    uint64_t cursor;

    atomic_signal_fence(memory_order_seq_cst);
    slots = context->slots;
    if (slots == NULL)
        return false;
    do {
        cursor = atomic_load_explicit(&ring->cursor, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        while (cursor + count_slots > context->end) {
            if (!ring_make_room(context, count_slots))
                return false;
            cursor = atomic_load_explicit(&ring->cursor, memory_order_relaxed);
            atomic_signal_fence(memory_order_seq_cst);
        }
    } while (!arch_reserve(&ring->cursor, cursor, cursor + count_slots));
    ring_fill_group(slots, cursor, group, count_slots);
    return true;
}

bool ring_write_clock(struct context *context)
{
    struct slot clock = {slot_head(OP_CLOCK), sys_now_ns()};

    return ring_write(context, &clock, 1);
}

/* Fill the rest of the lap with NOP: no group may lie across its end. */
static void pad_lap(struct ring_entry *ring, struct slot *slots, uint64_t cursor, uint64_t lap_end)
{
    if (!arch_reserve(&ring->cursor, cursor, lap_end))
        return;
    for (uint64_t number = cursor; number < lap_end; number++)
        ring_fill(slots, number, slot_head(OP_NOP), 0);
}

/*
 * The ring is full. When the reader stands at a slot that is reserved and not filled, its hook was
 * left by siglongjmp(), or is interrupted by what we run in. Fill this hole with NOP, so that the ring can go on. Only this
 * one: a later hole may belong to an outer hook that is still at work. Last slot first: as long as
 * the first is not filled the reader cannot pass, and no slot can be the next lap's.
 */
static void repair_hole(struct ring_entry *ring, struct slot *slots, uint64_t from)
{
    uint64_t cursor = atomic_load_explicit(&ring->cursor, memory_order_relaxed);
    uint64_t seen[GROUP_MAX_SLOTS];
    uint64_t to = from;
    uint64_t repaired = 0;

    for (; to < cursor && to - from < GROUP_MAX_SLOTS; to++) {
        seen[to - from] =
            atomic_load_explicit(&slots[to % RING_SLOT_COUNT].w0, memory_order_relaxed);
        if ((seen[to - from] & SLOT_LAP) == slot_lap(to))
            break;
    }
    atomic_signal_fence(memory_order_seq_cst);
    /* Had the reader moved, a handler could have used the slots again before we read them. */
    if (atomic_load_explicit(&ring->consumed, memory_order_acquire) != from)
        return;
    while (to-- > from)
        repaired += arch_reserve(&slots[to % RING_SLOT_COUNT].w0, seen[to - from],
                                 slot_head(OP_NOP) | slot_lap(to));
    atomic_store_explicit(&ring->repaired,
                          atomic_load_explicit(&ring->repaired, memory_order_relaxed) + repaired,
                          memory_order_relaxed);
}

/* Sleep until the reader says that it has released something, or for a while. */
static void sleep_for_reader(struct ring_entry *ring, uint64_t consumed)
{
    uint32_t wake = atomic_load_explicit(&ring->wake, memory_order_relaxed);

    /* Sequentially consistent, as the reader's: either it sees us waiting or we see it move. */
    atomic_store(&ring->waiting, 1);
    process_ring_doorbell();
    if (atomic_load(&ring->consumed) == consumed)
        sys_futex_wait(&ring->wake, wake, WAIT_NS);
    atomic_store_explicit(&ring->waiting, 0, memory_order_relaxed);
}

/*
 * The ring is full. Wait a moment.
 * Returns false when there is no use in waiting on.
 */
static bool wait_for_reader(struct context *context, struct ring_entry *ring, uint64_t consumed,
                            struct wait *wait)
{
    uint32_t heartbeat = atomic_load_explicit(&process.header->heartbeat, memory_order_relaxed);
    uint64_t now_ns = sys_now_ns();

    if (wait->began_ns == 0 || consumed != wait->consumed || heartbeat != wait->heartbeat) {
        wait->moved_ns = now_ns;
        wait->consumed = consumed;
        wait->heartbeat = heartbeat;
    }
    if (wait->began_ns == 0) {
        wait->began_ns = now_ns;
        process_count(COUNTER_WAITS, 1);
    }
    if (process_lost_collector())
        return false;
    if (now_ns - wait->moved_ns > PATIENCE_NS) {
        context->is_lossy = true;
        context->lossy_consumed = consumed;
        return false;
    }
    if (now_ns - wait->began_ns < SPIN_NS || sys_makes_no_calls())
        arch_pause();
    else
        sleep_for_reader(ring, consumed);
    return true;
}

/* Write what is due before anything else. Returns false when nothing was. */
static bool write_due(struct context *context, uint64_t cursor)
{
    uint64_t lap = cursor / RING_SLOT_COUNT + 1;
    uint64_t lost = context->lost;

    if (context->lap != lap) {
        context->lap = lap;
        ring_write_clock(context);
        return true;
    }
    if (lost != 0) {
        struct slot record = {slot_head(OP_LOST), lost};

        context->lost -= lost;
        if (!ring_write(context, &record, 1))
            context->lost += lost;
        return true;
    }
    return false;
}

/*
 * The end up to which nobody has to ask again: where the reader, had it done nothing till then, has
 * to be woken; a step on when it has been woken before.
 */
static void set_end(struct context *context, uint64_t cursor, unsigned need, uint64_t seen,
                    uint64_t consumed)
{
    uint64_t lap_end = (cursor / RING_SLOT_COUNT + 1) * RING_SLOT_COUNT;
    uint64_t end = seen + WAKE_SLOTS;

    if (end < cursor + STEP_SLOTS)
        end = cursor + STEP_SLOTS;
    if (end < cursor + need)
        end = cursor + need;
    if (end > consumed + RING_SLOT_COUNT)
        end = consumed + RING_SLOT_COUNT;
    context->end = end < lap_end ? end : lap_end;
}

/* One attempt to have room for need slots. */
static enum room try_room(struct context *context, struct ring_entry *ring, struct slot *slots,
                          unsigned need, uint64_t consumed)
{
    uint64_t cursor = atomic_load_explicit(&ring->cursor, memory_order_relaxed);
    uint64_t lap_end = (cursor / RING_SLOT_COUNT + 1) * RING_SLOT_COUNT;
    uint64_t seen = atomic_load_explicit(&ring->seen, memory_order_relaxed);
    bool must_pad = cursor + need > lap_end;

    atomic_signal_fence(memory_order_seq_cst);
    if ((must_pad ? lap_end : cursor + need) > consumed + RING_SLOT_COUNT)
        return ROOM_FULL;
    if (must_pad) {
        pad_lap(ring, slots, cursor, lap_end);
        return ROOM_ASK_AGAIN;
    }
    set_end(context, cursor, need, seen, consumed);
    if (cursor - seen >= WAKE_SLOTS)
        process_wake_collector();
    return write_due(context, cursor) ? ROOM_ASK_AGAIN : ROOM_MADE;
}

static bool make_room(struct context *context, unsigned need, struct wait *wait)
{
    struct ring_entry *ring = context->ring;
    enum room room = ROOM_ASK_AGAIN;

    atomic_signal_fence(memory_order_seq_cst);
    while (room != ROOM_MADE) {
        struct slot *slots = context->slots;
        uint64_t consumed;

        if (slots == NULL)
            return false; /* in a child that a handler has forked */
        /* Acquire: the reader is done with what it has released. */
        consumed = atomic_load_explicit(&ring->consumed, memory_order_acquire);
        if (context->is_lossy && consumed == context->lossy_consumed)
            return false;
        context->is_lossy = false;
        room = try_room(context, ring, slots, need, consumed);
        if (room != ROOM_FULL)
            continue;
        repair_hole(ring, slots, consumed);
        if (!wait_for_reader(context, ring, consumed, wait))
            return false;
    }
    return true;
}

bool ring_make_room(struct context *context, unsigned need)
{
    struct wait wait = {0};
    bool has_room = make_room(context, need, &wait);

    if (wait.began_ns != 0) {
        uint64_t wait_ns = sys_now_ns() - wait.began_ns;

        context->wait_ns += wait_ns;
        process_count(COUNTER_WAIT_NS, wait_ns);
    }
    return has_room;
}
