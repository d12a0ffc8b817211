/*
 * Records of events. Runs in the tools, over every event of a capture: no memory, no division, no call.
 *
 * What holds: an event that comes out has a known op and domain, a stack, an allocator and a class
 * within their tables. WIDE and what it belongs to are taken together or not at all.
 */
#include "capture/decode.h"

#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "memtrack/varint.h"

enum {
    AT_W1 = 8,
    DOMAIN_COUNT = DOMAIN_POOL + 1,
};

static unsigned op_of(uint64_t w0)
{
    return (unsigned)(w0 >> EVENT_OP_SHIFT);
}

bool decode_peek_sync(const struct decoder *decoder, struct decode_sync *ret_sync)
{
    uint64_t w0;

    if (decoder->at == decoder->end)
        return false;
    w0 = le_load_u64(decoder->at);
    if (op_of(w0) != EVENT_SYNC)
        return false;
    ret_sync->segment = w0 & EVENT_ADDRESS_MASK;
    ret_sync->tick = (uint32_t)le_load_u64(decoder->at + AT_W1);
    return true;
}

void decode_skip_sync(struct decoder *decoder)
{
    decoder->at += EVENT_BYTES;
}

/*
 * Fill in ALLOC or FREE, which nearly all records are. Which of them is not to be foreseen, and a
 * wrong guess of the processor costs more than all the rest: no branch depends on it. Returns false
 * when it is not right.
 */
static inline bool decode_common(const struct decoder *decoder, uint64_t w0, uint64_t w1,
                                 struct event *event)
{
    unsigned op = op_of(w0), domain = (w0 >> EVENT_DOMAIN_SHIFT) & EVENT_DOMAIN_MASK;
    uint64_t alloc = (uint64_t)op - EVENT_FREE; /* all bits: ALLOC; none: FREE */
    uint64_t high = w1 >> 32;
    uint64_t number = w1 ^ ((w1 ^ high) & alloc); /* stack or allocator */
    uint64_t limit = ALLOCATOR_COUNT ^ ((ALLOCATOR_COUNT ^ decoder->stack_count) & alloc);

    event->op = (uint8_t)op;
    event->domain = (uint8_t)domain;
    event->allocator = (uint8_t)(w1 & ~alloc);
    event->address = w0 & EVENT_ADDRESS_MASK;
    event->bytes = (uint32_t)w1 & alloc;
    event->stack = (uint32_t)(high & alloc);
    return domain < DOMAIN_COUNT && number < limit;
}

/* Fill in an event that is neither SYNC nor WIDE nor a note. Returns false when it is not right. */
static bool decode_block(const struct decoder *decoder, uint64_t w0, uint64_t w1, uint64_t wide,
                         struct event *event)
{
    uint32_t high = (uint32_t)(w1 >> 32);

    event->op = (uint8_t)op_of(w0);
    event->domain = (w0 >> EVENT_DOMAIN_SHIFT) & EVENT_DOMAIN_MASK;
    event->address = w0 & EVENT_ADDRESS_MASK;
    if (event->domain >= DOMAIN_COUNT)
        return false;
    switch (event->op) {
    case EVENT_ALLOC:
    case EVENT_MAP:
    case EVENT_FAIL:
        event->bytes = wide | (uint32_t)w1;
        event->stack = high;
        return high < decoder->stack_count;
    case EVENT_FREE:
        event->allocator = (uint8_t)w1;
        return wide == 0 && w1 < ALLOCATOR_COUNT;
    case EVENT_UNMAP:
    case EVENT_UNDO:
        event->bytes = wide | (uint32_t)w1;
        event->allocator = (uint8_t)high;
        return high < ALLOCATOR_COUNT;
    case EVENT_PROTECT:
        event->bytes = wide | (uint32_t)w1;
        event->map_class = (uint8_t)high;
        return high < CLASS_COUNT;
    default:
        return false;
    }
}

/* Fill in what the program says itself. Returns false when it is not right. */
static bool decode_mark(const struct decoder *decoder, uint64_t w0, uint64_t w1,
                        struct event *event)
{
    event->mark = (uint8_t)(w0 >> NOTE_MARK_KIND_SHIFT);
    event->address = (uint32_t)(w0 >> NOTE_MARK_NAME_SHIFT);
    event->stack = (uint32_t)(w1 >> EVENT_STACK_SHIFT);
    event->bytes = (uint32_t)w1;
    return event->stack < decoder->stack_count;
}

/*
 * Fill in a note. ret_taken: 1 when it is of a kind that is known; the others are passed over.
 * Returns false when it is not right.
 */
static bool decode_note(const struct decoder *decoder, uint64_t w0, uint64_t w1,
                        struct event *event, uint32_t *ret_taken)
{
    event->op = EVENT_NOTE;
    event->note = (uint16_t)w0;
    event->bytes = w1;
    *ret_taken = 1;
    switch (event->note) {
    case NOTE_LIFE:
        event->life = (uint16_t)(w0 >> NOTE_LIFE_SHIFT);
        return true;
    case NOTE_MARK:
        return decode_mark(decoder, w0, w1, event);
    case NOTE_LOST:
    case NOTE_CLOCK:
        return true;
    default:
        *ret_taken = 0;
        return true;
    }
}

/* Take records as long as they are ALLOC and FREE. Returns how many. */
static uint32_t take_common(struct decoder *decoder, const struct event *common,
                            struct event *ret_events, uint32_t room)
{
    const uint8_t *at = decoder->at;
    struct event *event = ret_events;

    for (; at != decoder->end && event != ret_events + room; at += EVENT_BYTES, event++) {
        uint64_t w0 = le_load_u64(at);

        if (op_of(w0) - EVENT_ALLOC > EVENT_FREE - EVENT_ALLOC)
            break;
        *event = *common;
        if (!decode_common(decoder, w0, le_load_u64(at + AT_W1), event))
            break;
    }
    decoder->at = at;
    return (uint32_t)(event - ret_events);
}

/*
 * Take one record, whatever it is. ret_taken: events that came of it, none or one.
 * Returns DECODE_FULL when it was taken.
 */
static enum decode_stop take_any(struct decoder *decoder, const struct event *common,
                                 struct event *ret_event, uint32_t *ret_taken)
{
    const uint8_t *record = decoder->at;
    uint64_t wide = 0, w0, w1;

    if (record == decoder->end)
        return DECODE_END;
    w0 = le_load_u64(record);
    if (op_of(w0) == EVENT_SYNC)
        return DECODE_SYNC;
    if (op_of(w0) == EVENT_WIDE) {
        wide = le_load_u64(record + AT_W1) << 32;
        record += EVENT_BYTES;
        if (record == decoder->end)
            return DECODE_WRONG;
        w0 = le_load_u64(record);
    }
    w1 = le_load_u64(record + AT_W1);
    *ret_event = *common;
    *ret_taken = 1;
    if (op_of(w0) == EVENT_NOTE && record == decoder->at
            ? !decode_note(decoder, w0, w1, ret_event, ret_taken)
            : !decode_block(decoder, w0, w1, wide, ret_event))
        return DECODE_WRONG;
    decoder->at = record + EVENT_BYTES;
    return DECODE_FULL;
}

uint32_t decode_events(struct decoder *decoder, const struct event *common,
                       struct event *ret_events, uint32_t room, enum decode_stop *ret_stop)
{
    uint32_t count = 0, taken;

    *ret_stop = DECODE_FULL;
    while (true) {
        count += take_common(decoder, common, ret_events + count, room - count);
        if (count == room)
            return count;
        *ret_stop = take_any(decoder, common, ret_events + count, &taken);
        if (*ret_stop != DECODE_FULL)
            return count;
        count += taken;
    }
}
