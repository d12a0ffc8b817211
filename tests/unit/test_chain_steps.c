/*
 * An event with a stack, interrupted at any instruction by a handler that records too.
 *
 * The walker is the test's own: it replaces lib/python's, whose object is then not linked. Its stack
 * is a number of equal frames, so a chain is right when its depth is.
 */
#include "record/chain.h"

#include "own_walker.h"
#include "pool.h"
#include "record/process.h"
#include "record/track.h"
#include "steps.h"
#include "test.h"

#include <setjmp.h>

#define PAGE UINT64_C(0x700000123000)

enum {
    MAX_DEPTH = 16,
};

static struct test_pool pool;
static uint64_t frames[MAX_DEPTH];
static volatile uint32_t depth, cached_depth;
static sigjmp_buf jump;
static volatile bool must_jump, has_arrived;

static const struct python_walk *if_same(const struct python_walk *walk)
{
    bool is_same = cached_depth == depth;

    return is_same ? walk : NULL;
}

bool python_is_ready = true;
python_same_function *_Atomic python_same = if_same;

bool python_walk_update(struct python_walk *walk, const struct announcer *announcer,
                        struct python_delta *ret_delta)
{
    (void)walk;
    (void)announcer;
    if (cached_depth == depth)
        return false;
    *ret_delta = (struct python_delta){cached_depth, depth, frames, false};
    cached_depth = depth;
    return true;
}

void python_walk_forget(struct python_walk *walk)
{
    (void)walk;
    cached_depth = 0;
}

/* Record a block; its size says how deep the stack is. */
static void record(unsigned block)
{
    track_allocated(DOMAIN_HEAP, PAGE + block * 16, block * 100 + depth, ALLOCATOR_MALLOC);
}

static void handler_records(int number)
{
    (void)number;
    has_arrived = true;
    record(2);
    if (must_jump)
        siglongjmp(jump, 1);
}

/* Follow the chain to the end: each event with a stack has the one that its size tells. */
static void check_events(unsigned *ret_counts)
{
    struct pool_cursor cursor = {.stream = &pool.streams[0]};
    struct pool_record event;
    uint64_t chain = 0;

    CHECK_EQUAL(pool.count_streams, 1);
    while (pool_cursor_next(&cursor, &event)) {
        if (event.op == OP_PY) {
            uint64_t pop = event.payload & DELTA_COUNT_MASK;

            CHECK(pop == DELTA_POP_ALL || pop <= chain);
            chain = (pop == DELTA_POP_ALL ? 0 : chain - pop) +
                    (event.payload >> DELTA_PUSH_SHIFT & DELTA_COUNT_MASK);
        } else if (event.op == OP_ALLOC) {
            if (!event.is_detached)
                CHECK_EQUAL(chain, event.bytes % 100);
            ret_counts[event.bytes / 100]++;
        }
    }
}

/* Record block 1 with a stack of this depth while traced, and 3 with another afterwards. */
static void run_scene(uint32_t new_depth)
{
    unsigned counts[4] = {0};

    test_pool_make(&pool, 1, POOL_OPTION_PYTHON);
    pool.table[0].state = PROCESS_CLAIMED;
    CHECK(process_open(pool.header, pool.header->pool_bytes, 1, 0));
    process_find_python();
    depth = 5;
    record(0);
    depth = new_depth;
    signal(SIGUSR1, handler_records);
    if (sigsetjmp(jump, 1) == 0) {
        steps_begin();
        record(1);
        steps_end();
    }
    depth = 9;
    record(3);
    test_pool_drain(&pool, true);
    CHECK(has_arrived);
    check_events(counts);
    CHECK_EQUAL(counts[0], 1);
    CHECK(counts[1] == 1 || (must_jump && counts[1] == 0));
    CHECK_EQUAL(counts[2], 1);
    CHECK_EQUAL(counts[3], 1);
}

static void scene_of_same_stack(void)
{
    run_scene(5);
}

static void scene_of_other_stack(void)
{
    run_scene(7);
}

static void jump_from_same_stack(void)
{
    must_jump = true;
    run_scene(5);
}

static void jump_from_other_stack(void)
{
    must_jump = true;
    run_scene(7);
}

TEST(an_unchanged_stack_is_right_around_any_handler)
{
    steps_run_all(scene_of_same_stack);
}

TEST(a_changed_stack_is_right_around_any_handler)
{
    steps_run_all(scene_of_other_stack);
}

TEST(a_jump_out_of_an_unchanged_stack_harms_no_later_one)
{
    steps_run_all(jump_from_same_stack);
}

TEST(a_jump_out_of_a_changed_stack_harms_no_later_one)
{
    steps_run_all(jump_from_other_stack);
}
