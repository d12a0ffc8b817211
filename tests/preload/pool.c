/*
 * Making a pool and reading its rings.
 *
 * Runs in a test's process, with the target in another one or in the same.
 */
#include "pool.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static _Noreturn void give_up(const char *what)
{
    printf("# pool: %s\n", what);
    fflush(stdout);
    _exit(1);
}

static void require(bool condition, const char *what)
{
    if (!condition)
        give_up(what);
}

/* The kernel's part in a robust mutex is not needed: the word only has to look like a live owner. */
static void make_death_word(struct pool_header *header)
{
    header->death_offset = offsetof(struct pool_header, death);
    header->death_word_offset = offsetof(struct pool_header, death);
    memcpy(header->death, &(uint32_t){(uint32_t)getpid()}, sizeof(uint32_t));
}

void test_pool_make(struct test_pool *pool, uint32_t ring_count, uint64_t options)
{
    uint64_t directory_at = POOL_HEADER_BYTES + POOL_PROCESS_COUNT * POOL_PROCESS_BYTES;
    uint64_t rings_at = directory_at + (uint64_t)ring_count * POOL_RING_ENTRY_BYTES;
    struct pool_header *header;
    uint64_t pool_bytes;

    rings_at = (rings_at + 4095) & ~UINT64_C(4095);
    pool_bytes = rings_at + (uint64_t)ring_count * RING_BYTES;
    memset(pool, 0, sizeof(*pool));
    pool->fd = memfd_create("pool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    require(pool->fd >= 0 && ftruncate(pool->fd, (off_t)pool_bytes) == 0 &&
                fcntl(pool->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0,
            "no memory file");
    header = mmap(NULL, pool_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pool->fd, 0);
    require(header != MAP_FAILED, "cannot be mapped");
    header->magic = PROTOCOL_MAGIC;
    header->major = PROTOCOL_MAJOR;
    header->header_bytes = POOL_HEADER_BYTES;
    header->pool_bytes = pool_bytes;
    header->process_offset = POOL_HEADER_BYTES;
    header->process_count = POOL_PROCESS_COUNT;
    header->process_bytes = POOL_PROCESS_BYTES;
    header->directory_offset = directory_at;
    header->rings_offset = rings_at;
    header->ring_count = ring_count;
    header->ring_slot_count = RING_SLOT_COUNT;
    header->options = options;
    header->tick_period_us = TICK_PERIOD_US;
    header->rings_ready = ring_count;
    header->tick = 1;
    make_death_word(header);
    header->state = POOL_RECORDING;
    pool->header = header;
    pool->table = (struct pool_process *)((char *)header + header->process_offset);
    pool->directory = (struct ring_entry *)((char *)header + directory_at);
    pool->rings = (struct slot *)((char *)header + rings_at);
    pool->ring_count = ring_count;
}

/* The stream that is being written into a ring now; made when it is new. */
static struct pool_stream *stream_of(struct test_pool *pool, uint32_t ring_index)
{
    struct ring_entry *ring = &pool->directory[ring_index];
    struct pool_stream *stream;

    for (uint32_t i = 0; i < pool->count_streams; i++) {
        stream = &pool->streams[i];
        if (stream->ring == ring_index && stream->start == ring->start)
            return stream;
    }
    pool->streams = realloc(pool->streams, (pool->count_streams + 1) * sizeof(struct pool_stream));
    require(pool->streams != NULL, "out of memory");
    stream = &pool->streams[pool->count_streams++];
    *stream = (struct pool_stream){
        .ring = ring_index,
        .process = ring->process,
        .tid = ring->tid,
        .start = ring->start,
    };
    return stream;
}

static void stream_add(struct pool_stream *stream, struct pool_slot slot)
{
    if (stream->count_slots == stream->capacity) {
        stream->capacity = stream->capacity == 0 ? 1024 : 2 * stream->capacity;
        stream->slots = realloc(stream->slots, stream->capacity * sizeof(struct pool_slot));
        require(stream->slots != NULL, "out of memory");
    }
    stream->slots[stream->count_slots++] = slot;
}

static uint64_t drain_ring(struct test_pool *pool, uint32_t ring_index, bool skips_holes)
{
    struct ring_entry *ring = &pool->directory[ring_index];
    struct slot *slots = pool->rings + (uint64_t)ring_index * RING_SLOT_COUNT;
    uint64_t cursor = atomic_load(&ring->cursor);
    uint64_t number = atomic_load(&ring->consumed);
    uint64_t begin = number;
    struct pool_stream *stream;

    /* Acquire: whose ring it is was written before. */
    if (cursor == number || atomic_load_explicit(&ring->state, memory_order_acquire) != RING_OWNED)
        return 0;
    require(cursor - number <= RING_SLOT_COUNT, "the cursor is more than a lap ahead");
    stream = stream_of(pool, ring_index);
    for (; number < cursor; number++) {
        struct slot *slot = &slots[number % RING_SLOT_COUNT];
        uint64_t w0 = atomic_load_explicit(&slot->w0, memory_order_acquire);
        bool is_filled = (w0 >> 63) == (number / RING_SLOT_COUNT % 2 == 0 ? 1u : 0u);

        if (!is_filled && !skips_holes)
            break;
        stream_add(stream, is_filled ? (struct pool_slot){w0 & ~SLOT_LAP, slot->w1}
                                     : (struct pool_slot){0, 0});
    }
    stream->lost = ring->lost;
    stream->repaired = ring->repaired;
    atomic_store(&ring->seen, number);
    atomic_store(&ring->consumed, number);
    if (atomic_load(&ring->waiting) != 0) {
        atomic_fetch_add(&ring->wake, 1);
        /* Waiters look again each 10 ms: that is soon enough for a test. */
    }
    return number - begin;
}

uint64_t test_pool_drain(struct test_pool *pool, bool skips_holes)
{
    uint64_t count_slots = 0;

    for (uint32_t i = 0; i < pool->ring_count; i++)
        count_slots += drain_ring(pool, i, skips_holes);
    return count_slots;
}

void test_pool_tick(struct test_pool *pool)
{
    atomic_fetch_add(&pool->header->tick, 1);
    atomic_fetch_add(&pool->header->heartbeat, 1);
    for (uint32_t i = 0; i < POOL_PROCESS_COUNT; i++)
        if (atomic_load(&pool->table[i].state) == PROCESS_LIVE)
            atomic_fetch_add(&pool->table[i].epoch, 1);
}

void test_pool_finish(struct test_pool *pool)
{
    for (uint32_t i = 0; i < pool->count_streams; i++)
        free(pool->streams[i].slots);
    free(pool->streams);
    munmap(pool->header, pool->header->pool_bytes);
    close(pool->fd);
}

static unsigned count_of_rest(enum slot_op op, uint64_t payload)
{
    if (op == OP_PY || op == OP_NATIVE) {
        uint64_t push = payload >> 24 & 0xffffff;

        return (unsigned)(push / 2); /* the first stands in the head */
    }
    return op == OP_BLOB ? (unsigned)(((payload >> 24 & 0xfff) + 14) / 15) : 0;
}

bool pool_cursor_next(struct pool_cursor *cursor, struct pool_record *ret_record)
{
    const struct pool_stream *stream = cursor->stream;
    struct pool_slot slot;
    enum slot_op op;

    do {
        if (cursor->next == stream->count_slots)
            return false;
        slot = stream->slots[cursor->next++];
        op = (enum slot_op)(slot.w0 >> 57 & 31);
    } while (slot.w0 == 0 || op == OP_NOP);
    require((slot.w0 & SLOT_HEAD) != 0, "a continuation where a record begins");
    *ret_record = (struct pool_record){
        .op = op,
        .payload = slot.w0 & SLOT_PAYLOAD_MASK,
        .arg = (unsigned)(slot.w0 >> 53 & 15),
        .w1 = slot.w1,
        .domain = (enum domain)(slot.w0 >> 53 & 7),
        .address = (uintptr_t)((slot.w0 & SLOT_PAYLOAD_MASK) << 3 | (slot.w1 >> 56 & 7)),
        .bytes = slot.w1 & BLOCK_BYTES_MASK,
        .allocator = (enum allocator)(slot.w1 >> 48 & 255),
        .map_class = (enum map_class)(slot.w1 >> 59 & 31),
        .is_detached = (slot.w0 & SLOT_DETACHED) != 0,
    };
    ret_record->count_rest = count_of_rest(op, ret_record->payload);
    ret_record->rest = stream->slots + cursor->next;
    require(ret_record->count_rest <= stream->count_slots - cursor->next, "a record is cut off");
    for (unsigned i = 0; i < ret_record->count_rest; i++)
        require((ret_record->rest[i].w0 & SLOT_HEAD) == 0, "a head where a record goes on");
    cursor->next += ret_record->count_rest;
    if (op == OP_SYNC) {
        require(ret_record->payload > cursor->segment, "segments fall");
        cursor->segment = ret_record->payload;
    }
    require(cursor->segment != 0, "a stream does not begin with SYNC");
    ret_record->segment = cursor->segment;
    return true;
}

bool pool_cursor_find(struct pool_cursor *cursor, enum slot_op op, uint64_t bytes,
                      struct pool_record *ret_record)
{
    while (pool_cursor_next(cursor, ret_record))
        if (ret_record->op == op && (bytes == UINT64_MAX || ret_record->bytes == bytes))
            return true;
    return false;
}

unsigned pool_count(const struct test_pool *pool, enum slot_op op)
{
    struct pool_record record;
    unsigned count = 0;

    for (uint32_t i = 0; i < pool->count_streams; i++) {
        struct pool_cursor cursor = {.stream = &pool->streams[i]};

        while (pool_cursor_find(&cursor, op, UINT64_MAX, &record))
            count++;
    }
    return count;
}
