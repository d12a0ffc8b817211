/*
 * What calls about address space write into a ring.
 */
#include "session.h"

#include "test.h"

static struct session_result result;
static struct pool_cursor cursor;

static void play(const char *scene)
{
    struct session_options options = {0};

    session_run_scene(&options, scene, &result);
    CHECK_EQUAL(result.status, 0);
    cursor = session_main_stream(&result, 1);
}

/* Find the next record of this op and these bytes, which must be there; a SYNC stands before it. */
static struct pool_record next(enum slot_op op, uint64_t bytes)
{
    struct pool_record record = {.op = OP_NOP}, before;

    test_case("op %d, %" PRIu64 " bytes", (int)op, bytes);
    do {
        before = record;
        CHECK(pool_cursor_next(&cursor, &record));
    } while (record.op != op || record.bytes != bytes);
    CHECK_EQUAL(before.op, OP_SYNC);
    CHECK_EQUAL(record.domain, DOMAIN_MAP);
    return record;
}

TEST(a_range_is_recorded_when_it_comes_and_when_parts_of_it_go)
{
    struct pool_record record;
    uintptr_t address;

    play("map");
    record = next(OP_MAP, 3 * 65536);
    CHECK_EQUAL(record.allocator, ALLOCATOR_MMAP);
    CHECK_EQUAL(record.map_class, CLASS_ANONYMOUS);
    address = record.address;
    CHECK_EQUAL(next(OP_UNMAP, 65536).address, address + 65536);
    record = next(OP_UNMAP, 3 * 65536);
    CHECK_EQUAL(record.address, address);
    CHECK_EQUAL(record.allocator, ALLOCATOR_MUNMAP);
    /* Refused: taken back. */
    CHECK_EQUAL(next(OP_UNMAP, 65536).address, address + 1);
    CHECK_EQUAL(next(OP_UNDO, 65536).address, address + 1);
    CHECK(pool_cursor_find(&cursor, OP_FAIL, BLOCK_BYTES_MASK, &record));
    CHECK_EQUAL(record.domain, DOMAIN_MAP);
}

TEST(a_map_has_the_class_of_what_it_shows)
{
    static const enum map_class classes[] = {
        CLASS_ANONYMOUS, CLASS_RESERVED, CLASS_FILE_PRIVATE, CLASS_FILE_SHARED,
        CLASS_SHARED,    CLASS_SHARED,   CLASS_STACK,        CLASS_ANONYMOUS,
    };

    play("classes");
    for (unsigned i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        CHECK_EQUAL(next(OP_MAP, (i + 1) * UINT64_C(65536)).map_class, classes[i]);
}

TEST(a_fixed_map_releases_what_is_there_before_it)
{
    struct pool_record record;
    uintptr_t address;

    play("fixed");
    record = next(OP_MAP, 4 * 65536);
    CHECK_EQUAL(record.map_class, CLASS_RESERVED);
    address = record.address;
    CHECK_EQUAL(next(OP_UNMAP, 65536).address, address + 65536);
    CHECK_EQUAL(next(OP_MAP, 65536).address, address + 65536);
    CHECK_EQUAL(next(OP_UNMAP, 65536).address, address);
    record = next(OP_UNDO, 65536);
    CHECK_EQUAL(record.address, address);
    CHECK_EQUAL(record.allocator, ALLOCATOR_MMAP);
}

TEST(mremap_is_a_release_and_a_map)
{
    struct pool_record record;
    uintptr_t address;

    play("remap");
    address = next(OP_MAP, 65536).address;
    record = next(OP_UNMAP, 65536);
    CHECK_EQUAL(record.address, address);
    CHECK_EQUAL(record.allocator, ALLOCATOR_MREMAP);
    record = next(OP_MAP, 3 * 65536);
    CHECK_EQUAL(record.allocator, ALLOCATOR_MREMAP);
    address = record.address;
    CHECK_EQUAL(next(OP_UNMAP, 3 * 65536).address, address);
    CHECK_EQUAL(next(OP_UNDO, 3 * 65536).address, address);
}

TEST(mprotect_is_recorded_between_memory_and_reserved_space_only)
{
    uintptr_t address;

    play("protect");
    address = next(OP_MAP, 2 * 65536).address;
    CHECK_EQUAL(next(OP_PROTECT, 65536).map_class, CLASS_RESERVED);
    CHECK_EQUAL(next(OP_PROTECT, (uint64_t)getpagesize()).address, address);
    CHECK_EQUAL(pool_count(&result.pool, OP_PROTECT), 2);
}

TEST(the_program_break_is_a_range)
{
    struct pool_record record;
    uintptr_t address;

    play("break");
    record = next(OP_MAP, 3 * 65536);
    CHECK_EQUAL(record.allocator, ALLOCATOR_BRK);
    address = record.address;
    CHECK_EQUAL(next(OP_UNMAP, 65536).address, address + 2 * 65536);
    CHECK_EQUAL(next(OP_MAP, 65536).address, address + 2 * 65536);
    CHECK_EQUAL(pool_count(&result.pool, OP_UNDO), 0);
}
