/*
 * Taking a page or a segment number, and writing it down, as one step for handlers.
 *
 * Runs in the program's threads, on slow paths. The order of things: room, BUSY, the page and the
 * number, a reserved slot, SYNC, the tag again. A handler that records in between makes the
 * reservation fail, and it begins again; the number taken is then skipped, which harms nobody.
 *
 * Relaxed: words of this thread and its handlers; what threads owe each other is order.c's.
 */
#include "record/segment.h"

#include "base/arch.h"
#include "record/process.h"
#include "record/ring.h"
#include "record/track.h"

/* What a segment is begun for. */
struct cause {
    enum sync_why why; /* SYNC_PAGE: because of the page of address */
    uintptr_t address;
};

/*
 * Make the tag match nothing.
 * Returns false when it did so already for an event below us on the stack that goes on after us.
 */
static bool tag_hide(struct context *context, uintptr_t frame)
{
    if (atomic_load_explicit(&context->order.match, memory_order_relaxed) == ORDER_TAG_BUSY &&
        context->sync_frame != 0 && !context_has_left(context->sync_frame, frame))
        return false;
    /* A handler between the two stores shows the tag again when it is done; one after them not. */
    do {
        atomic_store_explicit(&context->order.match, ORDER_TAG_BUSY, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        context->sync_frame = frame;
        atomic_signal_fence(memory_order_seq_cst);
    } while (atomic_load_explicit(&context->order.match, memory_order_relaxed) != ORDER_TAG_BUSY);
    return true;
}

/* One attempt. Returns true when it is done, *ret_segment 0 if there was nothing to write. */
static bool try_begin(struct context *context, const struct cause *cause, uint64_t cursor,
                      uint64_t *ret_segment)
{
    struct ring_entry *ring = context->ring;
    struct slot *slots;
    uint64_t segment, tick;

    if (cause->why != SYNC_PAGE) {
        order_begin_segment(&process_order, &context->order);
    } else if (!order_take_bucket(&process_order, &context->order, cause->address)) {
        *ret_segment = 0;
        return true;
    }
    segment = atomic_load_explicit(&context->order.segment, memory_order_relaxed);
    tick = atomic_load_explicit(&process.header->tick, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    slots = context->slots;
    if (slots == NULL || !arch_reserve(&ring->cursor, cursor, cursor + 1))
        return false;
    ring_fill(slots, cursor, slot_head(OP_SYNC) | segment, tick | (uint64_t)cause->why << 32);
    context->sync_bytes = TRACK_SYNC_BYTES - 1;
    *ret_segment = segment;
    return true;
}

static bool begin(struct context *context, const struct cause *cause, uint64_t *ret_segment)
{
    struct ring_entry *ring = context->ring;
    uint64_t cursor;

    do {
        atomic_signal_fence(memory_order_seq_cst);
        if (context->slots == NULL)
            return false;
        cursor = atomic_load_explicit(&ring->cursor, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        while (cursor + 1 > context->end) {
            if (!ring_make_room(context, 1))
                return false;
            cursor = atomic_load_explicit(&ring->cursor, memory_order_relaxed);
            atomic_signal_fence(memory_order_seq_cst);
        }
    } while (!try_begin(context, cause, cursor, ret_segment));
    return true;
}

static bool begin_hidden(struct context *context, const struct cause *cause, uintptr_t frame,
                         uint64_t *ret_segment)
{
    bool is_outermost = tag_hide(context, frame);
    bool has_begun = begin(context, cause, ret_segment);

    atomic_signal_fence(memory_order_seq_cst);
    if (is_outermost && !has_begun)
        context->sync_frame = 0; /* the page may be ours with no SYNC to say so: stay BUSY */
    else if (is_outermost)
        atomic_store_explicit(&context->order.match, context->order.tag, memory_order_relaxed);
    return has_begun;
}

bool segment_begin(struct context *context, enum sync_why why, uintptr_t frame)
{
    struct cause cause = {.why = why};
    uint64_t segment;

    return begin_hidden(context, &cause, frame, &segment);
}

bool segment_enter_page(struct context *context, uintptr_t address, uintptr_t frame,
                        uint64_t *ret_segment)
{
    struct cause cause = {.why = SYNC_PAGE, .address = address};

    return begin_hidden(context, &cause, frame, ret_segment);
}
