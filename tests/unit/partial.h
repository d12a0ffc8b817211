/*
 * For tests of a process of which not every block is recorded: blocks by their number, and what comes into
 * the ring of them.
 */
#ifndef UNIT_PARTIAL_H
#define UNIT_PARTIAL_H

#include "pool.h"
#include "record/process.h"
#include "record/track.h"

#include "test.h"

#define PARTIAL_PAGE UINT64_C(0x700000123000)

static struct test_pool pool;

/* The pool is as it is to be found: let the process open it. */
static void partial_open(void)
{
    pool.table[0].state = PROCESS_CLAIMED;
    CHECK(process_open(pool.header, pool.header->pool_bytes, 4, 0));
}

static uintptr_t address_of(unsigned number)
{
    return PARTIAL_PAGE + 64 * number;
}

static void allocate(unsigned number, uint64_t bytes)
{
    track_allocated(DOMAIN_HEAP, address_of(number), bytes, ALLOCATOR_MALLOC);
}

static bool release(unsigned number)
{
    return track_released(DOMAIN_HEAP, address_of(number), ALLOCATOR_REALLOC) != 0;
}

static void expect(unsigned allocations, unsigned releases)
{
    test_pool_drain(&pool, false);
    CHECK_EQUAL(pool_count(&pool, OP_ALLOC), allocations);
    CHECK_EQUAL(pool_count(&pool, OP_FREE), releases);
}

#endif
