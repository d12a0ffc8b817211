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
    NOTE_LIFE_SHIFT = 16,
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

/* Fill in a note. Returns whether it is of a kind that is known; the others are passed over. */
static bool decode_note(uint64_t w0, uint64_t w1, struct event *event)
{
    event->op = EVENT_NOTE;
    event->note = (uint16_t)w0;
    event->bytes = w1;
    if (event->note == NOTE_LIFE)
        event->life = (uint16_t)(w0 >> NOTE_LIFE_SHIFT);
    return event->note == NOTE_LOST || event->note == NOTE_LIFE || event->note == NOTE_CLOCK;
}

uint32_t decode_events(struct decoder *decoder, const struct event *common,
                       struct event *ret_events, uint32_t room, enum decode_stop *ret_stop)
{
    const uint8_t *at = decoder->at;
    uint32_t count = 0;

    *ret_stop = DECODE_FULL;
    while (count < room) {
        const uint8_t *record = at;
        uint64_t wide = 0, w0, w1;

        *ret_stop = DECODE_END;
        if (record == decoder->end)
            break;
        w0 = le_load_u64(record);
        *ret_stop = DECODE_SYNC;
        if (op_of(w0) == EVENT_SYNC)
            break;
        *ret_stop = DECODE_WRONG;
        if (op_of(w0) == EVENT_WIDE) {
            wide = le_load_u64(record + AT_W1) << 32;
            record += EVENT_BYTES;
            if (record == decoder->end)
                break;
            w0 = le_load_u64(record);
        }
        w1 = le_load_u64(record + AT_W1);
        ret_events[count] = *common;
        if (op_of(w0) == EVENT_NOTE && record == at)
            count += decode_note(w0, w1, &ret_events[count]);
        else if (decode_block(decoder, w0, w1, wide, &ret_events[count]))
            count++;
        else
            break;
        at = record + EVENT_BYTES;
        *ret_stop = DECODE_FULL;
    }
    decoder->at = at;
    return count;
}
