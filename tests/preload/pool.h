/*
 * A pool made by a test, and what was written into it: a collector without a capture.
 *
 * Knows protocol.h and nothing of lib/, so that a mistake there is not repeated here. Everything is
 * checked: a slot that may not be there ends the test.
 */
#ifndef PRELOAD_POOL_H
#define PRELOAD_POOL_H

#include <memtrack/protocol.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One thread's life in one ring, as far as it has been read. */
struct pool_stream {
    uint32_t ring;
    uint32_t process; /* number */
    uint32_t tid;
    uint64_t start; /* number of the first slot */
    uint64_t lost;
    uint64_t repaired;
    uint64_t count_slots;
    uint64_t capacity;
    struct pool_slot {
        uint64_t w0;
        uint64_t w1;
    } * slots; /* those of holes are zero */
};

struct test_pool {
    int fd;
    struct pool_header *header;
    struct pool_process *table;
    struct ring_entry *directory;
    struct slot *rings;
    uint32_t ring_count;
    uint32_t count_streams;
    struct pool_stream *streams;
};

/* Make a pool that records. options: enum pool_option. Ends the test when it cannot. */
void test_pool_make(struct test_pool *pool, uint32_t ring_count, uint64_t options);

/*
 * Read what is committed and new in all rings, and release it.
 * skips_holes: go on behind slots that are not filled; else stop there.
 * Returns how many slots have been read.
 */
uint64_t test_pool_drain(struct test_pool *pool, bool skips_holes);

/* The time goes on: tick, heartbeat, and the epoch of every process. */
void test_pool_tick(struct test_pool *pool);

/* Free what has been read. */
void test_pool_finish(struct test_pool *pool);

/* A record, taken apart. */
struct pool_record {
    enum slot_op op;
    uint64_t payload; /* bits 0-52 */
    unsigned arg;     /* bits 53-56 */
    uint64_t w1;
    unsigned count_rest; /* continuations */
    const struct pool_slot *rest;
    /* Of block records: */
    enum domain domain;
    uintptr_t address;
    uint64_t bytes;
    enum allocator allocator;
    enum map_class map_class;
    bool is_detached;
    uint64_t segment; /* in force */
};

/* Where somebody stands in a stream. All zero but the stream is its beginning. */
struct pool_cursor {
    const struct pool_stream *stream;
    uint64_t next;
    uint64_t segment;
};

/* Read the next record; NOP and holes are passed over. Returns false at the end. */
bool pool_cursor_next(struct pool_cursor *cursor, struct pool_record *ret_record);

/*
 * Find the next record of this op, and of these bytes unless they are UINT64_MAX.
 * Returns false at the end.
 */
bool pool_cursor_find(struct pool_cursor *cursor, enum slot_op op, uint64_t bytes,
                      struct pool_record *ret_record);

/* Count the records of this op in all streams. */
unsigned pool_count(const struct test_pool *pool, enum slot_op op);

#endif
