/*
 * Slots to the records of a capture.
 */
#ifndef COLLECT_DECODE_H
#define COLLECT_DECODE_H

#include "collect/ring_reader.h"
#include "collect/sink.h"

#include <stdbool.h>
#include <stdint.h>

enum decode_stop {
    DECODE_AT_END = 0,
    DECODE_AT_UNFILLED = 1,
    DECODE_AT_UNKNOWN_NAME = 2,
};

/*
 * Decode records, one after the other, until something is in the way.
 * position: of the reader, or the beginning of one of its holes; brought up to date before anything
 * is handed over, so that no slot is given back too early.
 * end: of the ring or of the hole; at most a lap away.
 * Context: drain thread.
 */
enum decode_stop decode_run(struct ring_reader *reader, struct sink *sink, uint64_t *position,
                            uint64_t end);

#endif
