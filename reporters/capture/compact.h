/*
 * Coder 3: event records in about one byte each (docs/format.md, "The compact coder").
 *
 * An address is said by how many records ago it was met, a stack and a size by what followed the last
 * time; what is foretold takes no byte. Each section stands alone: nothing is remembered from one to
 * the next.
 */
#ifndef CAPTURE_COMPACT_H
#define CAPTURE_COMPACT_H

#include <stddef.h>
#include <stdint.h>

enum {
    COMPACT_MAX_RECORDS = 1 << 16, /* of a section */
    COMPACT_RECORD_MAX_BYTES = 24, /* what one record can become */
    COMPACT_SLACK_BYTES = 40,      /* that may be read behind the bytes to decode */
};

struct compact_encoder;

/* Make an encoder: room for its tables. Context: any thread, used by one at a time. */
struct compact_encoder *compact_encoder_create(void);

/* Give it back; NULL is allowed. Context: any thread. */
void compact_encoder_destroy(struct compact_encoder *encoder);

/*
 * Encode the records of a section, whatever they are: they come back exactly. The same records give
 * the same bytes.
 * records: the caller's, count * EVENT_BYTES. count: at most COMPACT_MAX_RECORDS.
 * ret_bytes: the caller's, room for count * COMPACT_RECORD_MAX_BYTES, apart from the records.
 * Returns the size in bytes. Context: any thread.
 */
size_t compact_encode(struct compact_encoder *encoder, const uint8_t *records, uint32_t count,
                      uint8_t *ret_bytes);

/*
 * Decode a section.
 * bytes: the caller's, size_bytes of anything; COMPACT_SLACK_BYTES behind them can be read too, and
 * do not matter. ret_records: the caller's, count * EVENT_BYTES. count: at most COMPACT_MAX_RECORDS.
 * Returns NULL when the bytes were exactly so many records; else what is wrong, in a few words, with
 * ret_wrong: where in the bytes the wrong one begins. Context: tool.
 */
const char *compact_decode(const uint8_t *bytes, size_t size_bytes, uint32_t count,
                           uint8_t *ret_records, size_t *ret_wrong);

#endif
