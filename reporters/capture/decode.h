/*
 * The 16-byte records of an EVENTS section, checked and spread out.
 */
#ifndef CAPTURE_DECODE_H
#define CAPTURE_DECODE_H

#include "capture/merge.h"

#include <stdbool.h>
#include <stdint.h>

/* Why decode_events() came back. */
enum decode_stop {
    DECODE_FULL = 0, /* there is no more room */
    DECODE_SYNC = 1, /* the next record begins a segment */
    DECODE_END = 2,  /* of the section */
    DECODE_WRONG = 3 /* the next record is not right */
};

struct decoder {
    const uint8_t *at, *end; /* unpacked records; the caller's */
    uint32_t stack_count;    /* of the capture */
};

/* What a SYNC says. */
struct decode_sync {
    uint64_t segment;
    uint32_t tick;
};

/*
 * Look at the next record, which must be SYNC. Nothing is taken.
 * Returns false when it is something else or there is none. Context: tool.
 */
bool decode_peek_sync(const struct decoder *decoder, struct decode_sync *ret_sync);

/* Pass over the record that decode_peek_sync() has seen. Context: tool. */
void decode_skip_sync(struct decoder *decoder);

/*
 * Take records up to the next SYNC.
 * common: process, stream, tick and segment of the events. ret_events: the caller's, room of them.
 * Returns how many; ret_stop says why not more. Context: tool.
 */
uint32_t decode_events(struct decoder *decoder, const struct event *common,
                       struct event *ret_events, uint32_t room, enum decode_stop *ret_stop);

#endif
