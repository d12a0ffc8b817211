/*
 * For libFuzzer: coder 3 of events. The first byte says what the others are: bytes to be decoded, of
 * which, when they are right, the records must come back when they are encoded again; or records.
 */
#include "capture/compact.h"
#include "memtrack/format.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_RECORDS = 4096,
    IS_RECORDS = 1u << 7,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

/* Encode records and decode what came of it: they are the same. */
static void check_round_trip(const uint8_t *records, uint32_t count)
{
    struct compact_encoder *encoder = compact_encoder_create();
    size_t records_bytes = (size_t)count * EVENT_BYTES, size_bytes, wrong;
    uint8_t *bytes = malloc((size_t)count * COMPACT_RECORD_MAX_BYTES + COMPACT_SLACK_BYTES);
    uint8_t *back = malloc(records_bytes);

    if (bytes == NULL || back == NULL)
        abort();
    size_bytes = compact_encode(encoder, records, count, bytes);
    memset(bytes + size_bytes, 0xff, COMPACT_SLACK_BYTES);
    if (compact_decode(bytes, size_bytes, count, back, &wrong) != NULL ||
        memcmp(back, records, records_bytes) != 0)
        abort();
    compact_encoder_destroy(encoder);
    free(bytes);
    free(back);
}

/* Decode bytes as so many records as they say first. */
static void decode(const uint8_t *data, size_t size_bytes, uint32_t count)
{
    uint8_t *bytes = malloc(size_bytes + COMPACT_SLACK_BYTES);
    uint8_t *records = malloc((size_t)count * EVENT_BYTES);
    size_t wrong;

    if (bytes == NULL || records == NULL)
        abort();
    if (size_bytes > 0)
        memcpy(bytes, data, size_bytes);
    memset(bytes + size_bytes, 0, COMPACT_SLACK_BYTES);
    if (compact_decode(bytes, size_bytes, count, records, &wrong) == NULL)
        check_round_trip(records, count);
    if (wrong > size_bytes)
        abort();
    free(bytes);
    free(records);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    size_t count;

    if (size_bytes < 3)
        return 0;
    count = (size_t)data[1] + 1;
    if ((data[0] & IS_RECORDS) == 0) {
        decode(data + 2, size_bytes - 2, (uint32_t)count);
        return 0;
    }
    count = (size_bytes - 2) / EVENT_BYTES;
    if (count > 0)
        check_round_trip(data + 2, (uint32_t)(count < MOST_RECORDS ? count : MOST_RECORDS));
    return 0;
}
