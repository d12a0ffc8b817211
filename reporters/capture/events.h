/*
 * The records of an EVENTS section, whichever coder wrote it (docs/format.md section 3).
 */
#ifndef CAPTURE_EVENTS_H
#define CAPTURE_EVENTS_H

#include "capture/section.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What of a section says how its records stand in it. */
struct events_payload {
    const uint8_t *bytes; /* as in the file; the section's */
    uint32_t payload_bytes, raw_bytes, record_count;
    uint8_t coder; /* enum section_coder */
    bool is_packed;
};

/* Why a payload is refused. */
struct events_fault {
    const char *what;    /* a few words, static */
    const char *remedy;  /* what users can do about it, static */
    size_t inside_bytes; /* where in the payload, 0 when its places cannot be told */
};

/* Room for what a payload becomes on the way. All zero bytes is an empty one. */
struct events_unpacker {
    uint8_t *bytes;
    size_t capacity_bytes;
};

/*
 * Take from a section what is needed to unpack it.
 * Returns false with ret_fault when its coder is not known or its sizes do not fit: its records are
 * then at most SECTION_MAX_RAW_BYTES. Context: tool.
 */
bool events_payload_of(const struct section *section, struct events_payload *ret_payload,
                       struct events_fault *ret_fault);

/*
 * Unpack a payload to records.
 * ret_records: the caller's, record_count * EVENT_BYTES.
 * Returns false with ret_fault when it does not become exactly that. Context: tool.
 */
bool events_unpack(struct events_unpacker *unpacker, const struct events_payload *payload,
                   uint8_t *ret_records, struct events_fault *ret_fault);

/* Give the room back. Context: tool. */
void events_unpacker_finish(struct events_unpacker *unpacker);

#endif
