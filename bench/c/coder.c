/*
 * What the coders of events make of a capture's records, and how long they take: one line a coder,
 * bytes an event before and behind LZ4, and processor time an event. The coders take turns, and the
 * median of the rounds is printed.
 *
 *     bench_coder FILE [RECORDS-OF-A-SECTION [ROUNDS]]
 */
#include "base/memory.h"
#include "capture/compact.h"
#include "capture/events.h"
#include "capture/mapping.h"
#include "capture/planes.h"
#include "memtrack/format.h"
#include "memtrack/varint.h"

#include <lz4.h>
#include <lz4hc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CODER_COUNT = 4, /* 1 to 3, and the last packed as in an archive */
    USUAL_SECTION_RECORDS = 4096,
    USUAL_ROUNDS = 5,
    MOST_ROUNDS = 99,
    MOST_EVENTS = 4000000,
};

struct stream {
    uint32_t number;
    uint8_t *records;
    size_t count, capacity;
};

struct streams {
    struct stream *streams;
    size_t count, capacity;
    uint64_t events;
};

struct result {
    uint64_t raw_bytes, packed_bytes;
    double encode_ns[MOST_ROUNDS], pack_ns[MOST_ROUNDS], decode_ns[MOST_ROUNDS];
};

static struct stream *find_stream(struct streams *streams, uint32_t number)
{
    for (size_t i = 0; i < streams->count; i++)
        if (streams->streams[i].number == number)
            return &streams->streams[i];
    streams->streams = memory_grow(streams->streams, &streams->capacity, streams->count + 1,
                                   sizeof(*streams->streams));
    streams->streams[streams->count] = (struct stream){.number = number};
    return &streams->streams[streams->count++];
}

static void take_records(struct streams *streams, const struct section *section)
{
    struct stream *stream = find_stream(streams, section->stream);
    struct events_unpacker unpacker = {.bytes = NULL};
    struct events_payload payload;
    struct events_fault fault;

    if (!events_payload_of(section, &payload, &fault))
        return;
    stream->records = memory_grow(stream->records, &stream->capacity,
                                  stream->count + payload.record_count, EVENT_BYTES);
    if (events_unpack(&unpacker, &payload, stream->records + stream->count * EVENT_BYTES, &fault)) {
        for (size_t i = stream->count; i < stream->count + payload.record_count; i++) {
            unsigned op = stream->records[i * EVENT_BYTES + 7] >> 4;

            streams->events += op != EVENT_SYNC && op != EVENT_NOTE && op != EVENT_WIDE;
        }
        stream->count += payload.record_count;
    }
    events_unpacker_finish(&unpacker);
}

static bool load(const char *path, struct streams *streams)
{
    struct capture_superblock superblock;
    struct capture_mapping mapping;
    struct section section;
    struct error err;
    size_t offset;

    if (!capture_mapping_open(path, &mapping, &err) ||
        !capture_superblock_read(&mapping.content, &superblock, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }
    for (offset = superblock.sections_offset;
         offset < mapping.content.size_bytes && streams->events < MOST_EVENTS &&
         section_read(&mapping.content, offset, &section, NULL);
         offset = section.next_offset)
        if (section.type == SECTION_EVENTS)
            take_records(streams, &section);
    capture_mapping_close(&mapping);
    return streams->events > 0;
}

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

struct buffers {
    struct compact_encoder *encoder;
    uint8_t *coded, *unpacked, *records;
    char *packed;
    int packed_room;
};

static struct buffers make_buffers(uint32_t section_records)
{
    size_t most = (size_t)section_records * COMPACT_RECORD_MAX_BYTES + COMPACT_SLACK_BYTES;
    struct buffers buffers = {
        .encoder = compact_encoder_create(),
        .coded = memory_allocate(most, 1),
        .unpacked = memory_allocate(most, 1),
        .records = memory_allocate(section_records, EVENT_BYTES),
        .packed_room = LZ4_compressBound((int)most),
    };

    buffers.packed = memory_allocate((size_t)buffers.packed_room, 1);
    return buffers;
}

static size_t encode(struct buffers *buffers, unsigned coder, const uint8_t *records,
                     uint32_t count)
{
    if (coder == CODER_FIXED)
        memcpy(buffers->coded, records, (size_t)count * EVENT_BYTES);
    else if (coder == CODER_PLANES)
        planes_split(records, count, buffers->coded);
    else
        return compact_encode(buffers->encoder, records, count, buffers->coded);
    return (size_t)count * EVENT_BYTES;
}

static void decode(struct buffers *buffers, unsigned coder, size_t coded_bytes, int packed_bytes,
                   uint32_t count)
{
    uint8_t *to = coder == CODER_FIXED ? buffers->records : buffers->unpacked;
    size_t wrong;

    LZ4_decompress_safe(buffers->packed, (char *)to, packed_bytes, (int)coded_bytes);
    if (coder == CODER_PLANES)
        planes_join(buffers->unpacked, count, buffers->records);
    else if (coder != CODER_FIXED && compact_decode(buffers->unpacked, coded_bytes, count,
                                                    buffers->records, &wrong) != NULL)
        abort();
}

static void measure(const struct streams *streams, struct buffers *buffers, unsigned coder,
                    uint32_t section_records, unsigned round, struct result *result)
{
    double encode_ns = 0, pack_ns = 0, decode_ns = 0;

    result->raw_bytes = result->packed_bytes = 0;
    for (size_t s = 0; s < streams->count; s++) {
        const struct stream *stream = &streams->streams[s];

        for (size_t done = 0; done < stream->count; done += section_records) {
            size_t left = stream->count - done;
            uint32_t count = left < section_records ? (uint32_t)left : section_records;
            const uint8_t *records = stream->records + done * EVENT_BYTES;
            double begin = now_ns(), coded, packed;
            size_t coded_bytes = encode(buffers, coder, records, count);
            int packed_bytes;

            coded = now_ns();
            packed_bytes =
                coder < CODER_COUNT
                    ? LZ4_compress_default((const char *)buffers->coded, buffers->packed,
                                           (int)coded_bytes, buffers->packed_room)
                    : LZ4_compress_HC((const char *)buffers->coded, buffers->packed,
                                      (int)coded_bytes, buffers->packed_room, LZ4HC_CLEVEL_MAX);
            packed = now_ns();
            decode(buffers, coder, coded_bytes, packed_bytes, count);
            decode_ns += now_ns() - packed;
            encode_ns += coded - begin;
            pack_ns += packed - coded;
            result->raw_bytes += coded_bytes;
            result->packed_bytes += (uint64_t)packed_bytes;
            if (memcmp(buffers->records, records, (size_t)count * EVENT_BYTES) != 0)
                abort();
        }
    }
    result->encode_ns[round] = encode_ns;
    result->pack_ns[round] = pack_ns;
    result->decode_ns[round] = decode_ns;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return left < right ? -1 : left > right;
}

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"", "fixed", "planes", "compact", "archive"};
    static struct result results[CODER_COUNT + 1];
    long records = argc > 2 ? strtol(argv[2], NULL, 10) : USUAL_SECTION_RECORDS;
    long rounds = argc > 3 ? strtol(argv[3], NULL, 10) : USUAL_ROUNDS;
    struct streams streams = {.streams = NULL};
    struct buffers buffers;

    if (argc < 2 || records < 1 || records > COMPACT_MAX_RECORDS || rounds < 1 ||
        rounds > MOST_ROUNDS || !load(argv[1], &streams)) {
        fputs("usage: bench_coder FILE [RECORDS-OF-A-SECTION [ROUNDS]]\n", stderr);
        return 2;
    }
    buffers = make_buffers((uint32_t)records);
    for (unsigned round = 0; round < (unsigned)rounds; round++)
        for (unsigned i = 0; i < CODER_COUNT; i++) {
            unsigned coder = 1 + (round + i) % CODER_COUNT;

            measure(&streams, &buffers, coder, (uint32_t)records, round, &results[coder]);
        }
    printf("events %llu\n", (unsigned long long)streams.events);
    for (unsigned coder = 1; coder <= CODER_COUNT; coder++) {
        struct result *result = &results[coder];
        double events = (double)streams.events;

        printf("%s raw %.3f packed %.3f encode %.2f pack %.2f decode %.2f\n", names[coder],
               (double)result->raw_bytes / events, (double)result->packed_bytes / events,
               median(result->encode_ns, (unsigned)rounds) / events,
               median(result->pack_ns, (unsigned)rounds) / events,
               median(result->decode_ns, (unsigned)rounds) / events);
    }
    return 0;
}
