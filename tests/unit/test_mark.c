/*
 * A mark parts what stands before it from what stands behind it, in all threads, without a clock.
 */
#include "pool.h"
#include "record/mark.h"
#include "record/process.h"
#include "record/track.h"

#include "test.h"

#include <pthread.h>
#include <stdatomic.h>

#define PAGE UINT64_C(0x700000123000)

static struct test_pool pool;
static atomic_int turn;

static void begin(void)
{
    test_pool_make(&pool, 4, 0);
    pool.table[0].state = PROCESS_CLAIMED;
    CHECK(process_open(pool.header, pool.header->pool_bytes, 4, 0));
}

static void allocate(unsigned page, uint64_t bytes)
{
    track_allocated(DOMAIN_HEAP, PAGE + page * UINT64_C(4096), bytes, ALLOCATOR_MALLOC);
}

/* Find the only record of an op, and of these bytes unless they are UINT64_MAX, in all streams. */
static struct pool_record find(enum slot_op op, uint64_t bytes)
{
    struct pool_record record = {0};
    unsigned found = 0;

    for (uint32_t i = 0; i < pool.count_streams; i++) {
        struct pool_cursor cursor = {.stream = &pool.streams[i]};

        while (pool_cursor_find(&cursor, op, bytes, &record))
            found++;
    }
    CHECK_EQUAL(found, 1);
    for (uint32_t i = 0; i < pool.count_streams; i++) {
        struct pool_cursor cursor = {.stream = &pool.streams[i]};

        if (pool_cursor_find(&cursor, op, bytes, &record))
            break;
    }
    return record;
}

static void *work(void *unused)
{
    allocate(1, 111);
    atomic_store(&turn, 1);
    while (atomic_load(&turn) != 2)
        ;
    allocate(1, 222);
    return unused;
}

TEST(events_of_other_threads_stand_on_the_side_where_they_happened)
{
    pthread_t thread;
    struct pool_record mark;

    begin();
    CHECK_EQUAL(pthread_create(&thread, NULL, work, NULL), 0);
    while (atomic_load(&turn) != 1)
        ;
    mark_record(MARK_INSTANT, "between", 0, NULL);
    atomic_store(&turn, 2);
    pthread_join(thread, NULL);
    test_pool_drain(&pool, false);
    mark = find(OP_MARK, UINT64_MAX);
    CHECK(find(OP_ALLOC, 111).segment < mark.segment);
    CHECK(find(OP_ALLOC, 222).segment > mark.segment);
}

TEST(a_name_is_announced_once)
{
    begin();
    for (unsigned i = 0; i < 3; i++)
        mark_record(MARK_INSTANT, i == 1 ? "other" : "same", 0, NULL);
    mark_record(MARK_PHASE_END, NULL, 7, NULL);
    test_pool_drain(&pool, false);
    CHECK_EQUAL(pool_count(&pool, OP_BLOB), 2);
    CHECK_EQUAL(pool_count(&pool, OP_MARK), 4);
}

TEST(a_pool_keeps_its_allocator)
{
    enum allocator one, two;

    begin();
    one = mark_pool_allocator("one", NULL);
    two = mark_pool_allocator("two", NULL);
    CHECK_EQUAL(one, ALLOCATOR_POOL_FIRST);
    CHECK_EQUAL(two, ALLOCATOR_POOL_FIRST + 1);
    CHECK_EQUAL(mark_pool_allocator("one", NULL), one);
    test_pool_drain(&pool, false);
    CHECK_EQUAL(pool_count(&pool, OP_BLOB), 2);
}
