/*
 * What the malloc family writes into a ring.
 */
#include "session.h"

#include "test.h"

TEST(a_block_is_recorded_when_it_comes_and_when_it_goes)
{
    struct session_options options = {0};
    struct session_result result;
    struct pool_cursor cursor;
    struct pool_record record;
    uintptr_t address;

    session_run_scene(&options, "malloc", &result);
    CHECK_EQUAL(result.status, 0);
    CHECK_EQUAL(result.count_hellos, 1);
    cursor = session_main_stream(&result, 1);
    CHECK(pool_cursor_find(&cursor, OP_ALLOC, 12345, &record));
    CHECK_EQUAL(record.allocator, ALLOCATOR_MALLOC);
    CHECK_EQUAL(record.domain, DOMAIN_HEAP);
    address = record.address;
    CHECK(pool_cursor_find(&cursor, OP_FREE, 0, &record));
    CHECK_EQUAL(record.address, address);
    CHECK_EQUAL(record.allocator, ALLOCATOR_FREE);
    test_pool_finish(&result.pool);
}

TEST(realloc_is_a_release_and_an_allocation)
{
    struct session_options options = {0};
    struct session_result result;
    struct pool_cursor cursor;
    struct pool_record record;
    uintptr_t address;

    session_run_scene(&options, "realloc", &result);
    CHECK_EQUAL(result.status, 0);
    cursor = session_main_stream(&result, 1);
    CHECK(pool_cursor_find(&cursor, OP_ALLOC, 1111, &record));
    address = record.address;
    CHECK(pool_cursor_find(&cursor, OP_FREE, 0, &record));
    CHECK_EQUAL(record.address, address);
    CHECK_EQUAL(record.allocator, ALLOCATOR_REALLOC);
    CHECK(pool_cursor_find(&cursor, OP_ALLOC, 222222, &record));
    CHECK_EQUAL(record.allocator, ALLOCATOR_REALLOC);
    address = record.address;
    CHECK(pool_cursor_find(&cursor, OP_FREE, 0, &record));
    CHECK_EQUAL(record.address, address);
    CHECK(pool_cursor_find(&cursor, OP_ALLOC, 3333, &record));
    test_pool_finish(&result.pool);
}
