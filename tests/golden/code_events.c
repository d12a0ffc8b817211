/*
 * Coder 3 of the programs, for comparison with capture_compact.py.
 *
 * Usage: code_events encode|decode. Standard input is a row of sections: u32 records, u32 bytes, so
 * many bytes; so is standard output. What does not decode comes out with 0 records and the reason.
 */
#include "base/memory.h"
#include "capture/compact.h"
#include "memtrack/format.h"
#include "memtrack/varint.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAD_BYTES = 8,
};

static void put(uint32_t count, const void *bytes, size_t size_bytes)
{
    uint8_t head[HEAD_BYTES];

    le_store_u32(count, head);
    le_store_u32((uint32_t)size_bytes, head + 4);
    fwrite(head, HEAD_BYTES, 1, stdout);
    fwrite(bytes, size_bytes, 1, stdout);
}

static void put_decoded(const uint8_t *bytes, uint32_t size_bytes, uint32_t count)
{
    uint8_t *records = memory_allocate(count, EVENT_BYTES);
    size_t wrong = 0;
    const char *what = compact_decode(bytes, size_bytes, count, records, &wrong);

    if (what == NULL)
        put(count, records, (size_t)count * EVENT_BYTES);
    else
        put(0, what, strlen(what));
    free(records);
}

static void put_encoded(struct compact_encoder *encoder, const uint8_t *records, uint32_t count)
{
    uint8_t *bytes = memory_allocate(count, COMPACT_RECORD_MAX_BYTES);

    put(count, bytes, compact_encode(encoder, records, count, bytes));
    free(bytes);
}

int main(int argc, char **argv)
{
    struct compact_encoder *encoder = compact_encoder_create();
    bool is_encoding = argc == 2 && strcmp(argv[1], "encode") == 0;
    uint8_t head[HEAD_BYTES];

    if (!is_encoding && (argc != 2 || strcmp(argv[1], "decode") != 0))
        return 2;
    while (fread(head, HEAD_BYTES, 1, stdin) == 1) {
        uint32_t count = le_load_u32(head), size_bytes = le_load_u32(head + 4);
        uint8_t *bytes = memory_allocate((size_t)size_bytes + COMPACT_SLACK_BYTES, 1);

        if (count > COMPACT_MAX_RECORDS || fread(bytes, 1, size_bytes, stdin) != size_bytes)
            return 2;
        if (is_encoding)
            put_encoded(encoder, bytes, count);
        else
            put_decoded(bytes, size_bytes, count);
        free(bytes);
    }
    compact_encoder_destroy(encoder);
    return fflush(stdout) == 0 ? 0 : 1;
}
