/*
 * A pool whose targets are written by hand, slot by slot, and a drain that reads it round by round;
 * at the end, the capture that came of it.
 *
 * For the tests of reporters/collect: no target, no clock, no main thread; only pack is a thread.
 */
#ifndef UNIT_HAND_POOL_H
#define UNIT_HAND_POOL_H

#include "capture/capture.h"
#include "capture/events.h"
#include "capture/section.h"
#include "capture/writer.h"
#include "collect/drain.h"
#include "collect/pack.h"
#include "collect/processes.h"
#include "collect/slots.h"
#include "collect/summary.h"
#include "memtrack/format.h"
#include "memtrack/varint.h"
#include "test.h"

#include <fcntl.h>
#include <unistd.h>

enum {
    HAND_RINGS = 32,
    HAND_MAX_EVENTS = 1 << 18,
    HAND_NUMBER = 7,    /* of the process most tests have */
    HAND_PID = 1 << 22, /* larger than any real one */
};

struct hand_event {
    uint64_t w0, w1;
};

static struct session hand_session;
static struct drain *hand_drain;
static struct capture_writer *hand_writer;
static struct capture *hand_capture; /* of hand_close() */
static char hand_path[] = "/tmp/test_collect_XXXXXX";

/* At exit. */
static inline void hand_remove(void)
{
    capture_close(hand_capture);
    unlink(hand_path);
}

static inline void hand_write_session(void)
{
    static const struct collect_options options = {.directory = "/"};
    struct summary_clocks clocks = summary_read_clocks();
    struct records records = {0};

    summary_write_session(&records, &options, &clocks);
    pack_put_records(hand_session.pack, records.bytes, records.size_bytes, records.count);
    records_finish(&records);
}

/* A session that records. The stand-in for the clock is at tick 100. */
static inline void hand_open(void)
{
    static const uint8_t id[16] = "hand-made pool";
    struct pool_settings settings = {
        .uuid = id, .token = id, .capture_path = "x", .ring_count = HAND_RINGS};
    struct error err;
    int fd = mkstemp(hand_path);

    CHECK(fd >= 0);
    close(fd);
    atexit(hand_remove);
    CHECK(pool_init(&hand_session.pool, &settings, &err));
    hand_session.main_fd = -1;
    hand_session.start_ns = session_now_ns();
    processes_init(&hand_session);
    hand_writer = capture_writer_open(hand_path, true, id, 0, &err);
    CHECK(hand_writer != NULL);
    hand_session.pack = pack_start(hand_writer, -1, &err);
    CHECK(hand_session.pack != NULL);
    hand_write_session();
    atomic_store(&hand_session.tick, 100);
    hand_drain = drain_create(&hand_session);
}

/* A process takes a slot, as a forked child does. */
static inline struct process *hand_process(uint32_t slot, uint32_t number, uint32_t pid)
{
    struct pool_process *process = &hand_session.pool.processes[slot];

    process->pid = pid;
    process->how = PROCESS_BY_FORK;
    atomic_store(&process->number, number);
    atomic_fetch_add(&hand_session.pool.header->next_process, 1);
    atomic_store(&process->state, PROCESS_LIVE);
    return &hand_session.processes[slot];
}

/* A thread takes a ring. */
static inline void hand_own(uint32_t ring, uint32_t number, uint32_t tid)
{
    struct ring_entry *entry = &hand_session.pool.rings[ring];

    entry->process = number;
    entry->tid = tid;
    entry->start = atomic_load(&entry->cursor);
    atomic_store(&entry->lost, 0);
    atomic_store(&entry->repaired, 0);
    atomic_store(&entry->state, RING_OWNED);
}

/* Reserve slots. Returns the number of the first. */
static inline uint64_t hand_reserve(uint32_t ring, uint64_t count)
{
    return atomic_fetch_add(&hand_session.pool.rings[ring].cursor, count);
}

/* Fill a slot, as if it was its turn. w0: without the lap bit. */
static inline void hand_fill(uint32_t ring, uint64_t number, uint64_t w0, uint64_t w1)
{
    struct slot *slot = slots_at(pool_slots(&hand_session.pool, ring), number);

    atomic_store(&slot->w1, w1);
    atomic_store(&slot->w0, w0 | slots_lap(number));
}

static inline void hand_put(uint32_t ring, uint64_t w0, uint64_t w1)
{
    hand_fill(ring, hand_reserve(ring, 1), w0, w1);
}

static inline uint64_t hand_head(uint32_t op, uint64_t payload)
{
    return SLOT_HEAD | (uint64_t)op << SLOT_OP_SHIFT | payload;
}

static inline uint64_t hand_block_w1(uint64_t bytes, uint32_t allocator, uint64_t address)
{
    return bytes | (uint64_t)allocator << BLOCK_ALLOCATOR_SHIFT | (address & 7) << BLOCK_LOW_SHIFT;
}

static inline void hand_alloc(uint32_t ring, uint64_t address, uint64_t bytes)
{
    hand_put(ring, hand_head(OP_ALLOC, address >> 3),
             hand_block_w1(bytes, ALLOCATOR_MALLOC, address));
}

static inline void hand_free(uint32_t ring, uint64_t address)
{
    hand_put(ring, hand_head(OP_FREE, address >> 3), hand_block_w1(0, ALLOCATOR_FREE, address));
}

static inline void hand_sync(uint32_t ring, uint64_t segment, uint32_t tick)
{
    hand_put(ring, hand_head(OP_SYNC, segment), tick | (uint64_t)SYNC_PAGE << 32);
}

/* A Python frame. */
static inline uint64_t hand_frame(uint64_t code, uint64_t offset)
{
    return code << FRAME_CODE_SHIFT | offset;
}

/* Lay a delta out from a slot on: continuations first, as a target does. */
static inline void hand_fill_delta(uint32_t ring, uint64_t number, uint32_t pop, uint32_t push,
                                   const uint64_t *frames)
{
    for (uint32_t i = 1; i < push; i += 2)
        hand_fill(ring, number + (i + 1) / 2, frames[i], i + 1 < push ? frames[i + 1] : 0);
    hand_fill(ring, number, hand_head(OP_PY, pop | (uint64_t)push << DELTA_PUSH_SHIFT),
              push > 0 ? frames[0] : 0);
}

static inline void hand_delta(uint32_t ring, uint32_t pop, uint32_t push, const uint64_t *frames)
{
    hand_fill_delta(ring, hand_reserve(ring, 1 + push / 2), pop, push, frames);
}

/* One chunk of a blob. */
static inline void hand_chunk(uint32_t ring, uint64_t flags, uint32_t number, uint32_t kind,
                              uint64_t w1, const uint8_t *bytes, uint32_t size_bytes)
{
    uint32_t slots = (size_bytes + BLOB_BYTES_PER_SLOT - 1) / BLOB_BYTES_PER_SLOT;
    uint64_t at = hand_reserve(ring, 1 + slots);

    for (uint32_t i = 0; i < slots; i++) {
        uint32_t left = size_bytes - i * BLOB_BYTES_PER_SLOT;
        uint8_t part[16] = {0};

        memcpy(part, bytes + i * BLOB_BYTES_PER_SLOT,
               left < BLOB_BYTES_PER_SLOT ? left : BLOB_BYTES_PER_SLOT);
        hand_fill(ring, at + 1 + i, le_load_u64(part + 8), le_load_u64(part));
    }
    hand_fill(ring, at, hand_head(OP_BLOB, flags | kind | number << 8 | (uint64_t)size_bytes << 24),
              w1);
}

/* An announcement of a code object, in one chunk. */
static inline uint32_t hand_make_code(uint8_t *blob, uint32_t id, const char *file,
                                      const char *name, uint32_t table_bytes)
{
    size_t file_bytes = strlen(file), name_bytes = strlen(name);

    memset(blob, 0, BLOB_CODE_HEADER_BYTES);
    le_store_u32(id, blob);
    le_store_u32(10, blob + 4);
    blob[8] = LINE_TABLE_LOCATION;
    le_store_u32((uint32_t)file_bytes, blob + 12);
    le_store_u32((uint32_t)name_bytes, blob + 16);
    le_store_u32(table_bytes, blob + 20);
    memcpy(blob + BLOB_CODE_HEADER_BYTES, file, file_bytes);
    memcpy(blob + BLOB_CODE_HEADER_BYTES + file_bytes, name, name_bytes);
    memset(blob + BLOB_CODE_HEADER_BYTES + file_bytes + name_bytes, 0x55, table_bytes);
    return (uint32_t)(BLOB_CODE_HEADER_BYTES + file_bytes + name_bytes) + table_bytes;
}

static inline void hand_code(uint32_t ring, uint32_t id, const char *file, const char *name)
{
    uint8_t blob[1024];
    uint32_t size_bytes = hand_make_code(blob, id, file, name, 0);

    hand_chunk(ring, BLOB_FIRST | BLOB_LAST, 1, BLOB_CODE, size_bytes, blob, size_bytes);
}

/* Hand everything over and wait until the slots of a ring are given back up to a number. */
static inline void hand_await_consumed(uint32_t ring, uint64_t number)
{
    drain_flush(hand_drain);
    while (atomic_load(&hand_session.pool.rings[ring].consumed) != number)
        usleep(100);
}

/* Let all that was handed over be written: end the pack thread, and go on with another. */
static inline void hand_finish_writing(void)
{
    struct error err;

    pack_stop(hand_session.pack);
    hand_session.pack = pack_start(hand_writer, -1, &err);
    CHECK(hand_session.pack != NULL);
    hand_drain->sink.pack = hand_session.pack;
}

/* End the session and open the capture; nobody need close it. */
static inline struct capture *hand_close(void)
{
    struct capture *capture;
    struct error err;

    drain_flush(hand_drain);
    pack_stop(hand_session.pack);
    hand_session.pack = NULL;
    CHECK(capture_writer_close(hand_writer, &err));
    capture = hand_capture = capture_open(hand_path, NULL, NULL, &err);
    CHECK(capture != NULL);
    if (capture->damage.is_damaged)
        printf("# %s\n", capture->damage.error.text);
    CHECK(!capture->damage.is_damaged);
    drain_destroy(hand_drain);
    processes_finish(&hand_session);
    pool_finish(&hand_session.pool);
    return capture;
}

/*
 * The records of a stream, WIDE and NOTE and all; repeated SYNCs at a section's start left out.
 * ret_events: room for HAND_MAX_EVENTS. Returns how many.
 */
static inline size_t hand_events(const struct capture *capture, uint32_t stream,
                                 struct hand_event *ret_events)
{
    static uint8_t raw[SECTION_MAX_RAW_BYTES];
    struct capture_bytes bytes = {"hand", capture->bytes, (size_t)capture->file_bytes};
    size_t offset = SUPERBLOCK_BYTES, count = 0;
    struct events_unpacker unpacker = {.bytes = NULL};
    struct section section;

    while (offset + TRAILER_BYTES < bytes.size_bytes) {
        struct events_payload payload;
        struct events_fault fault;

        CHECK(section_read(&bytes, offset, &section, NULL));
        offset = section.next_offset;
        if (section.type != SECTION_EVENTS || section.stream != stream)
            continue;
        CHECK(events_payload_of(&section, &payload, &fault));
        CHECK(events_unpack(&unpacker, &payload, raw, &fault));
        for (uint32_t i = 0; i < section.record_count; i++) {
            struct hand_event event = {le_load_u64(raw + i * EVENT_BYTES),
                                       le_load_u64(raw + i * EVENT_BYTES + 8)};

            if (i == 0) {
                CHECK_EQUAL(event.w0 >> EVENT_OP_SHIFT, EVENT_SYNC);
                CHECK_EQUAL(event.w0 & EVENT_ADDRESS_MASK, section.first_segment);
                if ((event.w1 >> 32) == SYNC_SECTION)
                    continue;
            }
            CHECK(count < HAND_MAX_EVENTS);
            ret_events[count++] = event;
        }
    }
    events_unpacker_finish(&unpacker);
    return count;
}

static inline uint64_t hand_op(const struct hand_event *event)
{
    return event->w0 >> EVENT_OP_SHIFT;
}

static inline uint64_t hand_address(const struct hand_event *event)
{
    return event->w0 & EVENT_ADDRESS_MASK;
}

#endif
