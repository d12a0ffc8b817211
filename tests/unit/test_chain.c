/*
 * Stacks as deltas, and names as blobs, as they stand in a ring.
 *
 * The walker is the test's own: it replaces lib/python's, whose object is then not linked.
 */
#include "record/chain.h"

#include "own_walker.h"
#include "pool.h"
#include "record/process.h"
#include "record/track.h"

#include "test.h"

#define PAGE UINT64_C(0x700000123000)

enum {
    MAX_FRAMES = 3000,
};

static struct test_pool pool;
static uint64_t stack[MAX_FRAMES]; /* the program's, root first */
static uint32_t depth;
static uint64_t cached[MAX_FRAMES];
static uint32_t count_cached;
static uint8_t blob[10000];
static size_t blob_bytes; /* announced at the next walk */
static void (*on_walk)(void);

static const struct python_walk *if_same(const struct python_walk *walk)
{
    bool is_same = on_walk == NULL && blob_bytes == 0 && depth == count_cached &&
                   memcmp(cached, stack, depth * sizeof(stack[0])) == 0;

    return is_same ? walk : NULL;
}

bool python_is_ready = true;
python_same_function *_Atomic python_same = if_same;

bool python_walk_update(struct python_walk *walk, const struct announcer *announcer,
                        struct python_delta *ret_delta)
{
    uint32_t same = 0;

    (void)walk;
    if (on_walk != NULL)
        on_walk();
    if (blob_bytes > 0)
        CHECK(announcer->write(announcer->owner, BLOB_CODE, blob, blob_bytes));
    blob_bytes = 0;
    while (same < depth && same < count_cached && stack[same] == cached[same])
        same++;
    if (same == depth && same == count_cached)
        return false;
    *ret_delta = (struct python_delta){count_cached - same, depth - same, stack + same, false};
    memcpy(cached, stack, sizeof(stack));
    count_cached = depth;
    return true;
}

void python_walk_forget(struct python_walk *walk)
{
    (void)walk;
    count_cached = 0;
}

static void begin(void)
{
    test_pool_make(&pool, 1, POOL_OPTION_PYTHON);
    pool.table[0].state = PROCESS_CLAIMED;
    CHECK(process_open(pool.header, pool.header->pool_bytes, 1, 0));
    process_find_python();
}

static void allocate(uint64_t bytes)
{
    track_allocated(DOMAIN_HEAP, PAGE, bytes, ALLOCATOR_MALLOC);
}

/* Follow the deltas to the event of these bytes; afterwards the chain is what is expected there. */
struct follower {
    struct pool_cursor cursor;
    uint64_t chain[MAX_FRAMES];
    uint32_t depth;
    unsigned count_deltas;
};

static void follow_delta(struct follower *follower, const struct pool_record *record)
{
    uint32_t pop = record->payload & 0xffffff, push = record->payload >> 24 & 0xffffff;

    follower->count_deltas++;
    if (pop == DELTA_POP_ALL)
        pop = follower->depth;
    CHECK(pop <= follower->depth);
    follower->depth -= pop;
    CHECK(push <= DELTA_MAX_FRAMES);
    for (uint32_t i = 0; i < push; i++)
        follower->chain[follower->depth++] = i == 0       ? record->w1
                                             : i % 2 != 0 ? record->rest[(i - 1) / 2].w0
                                                          : record->rest[(i - 1) / 2].w1;
}

static struct pool_record follow(struct follower *follower, uint64_t bytes)
{
    struct pool_record record;

    test_pool_drain(&pool, true);
    follower->cursor.stream = &pool.streams[0];
    follower->count_deltas = 0;
    test_case("event of %" PRIu64 " bytes", bytes);
    do {
        CHECK(pool_cursor_next(&follower->cursor, &record));
        if (record.op == OP_PY)
            follow_delta(follower, &record);
    } while (record.op != OP_ALLOC || record.bytes != bytes);
    return record;
}

static void check_chain(const struct follower *follower)
{
    CHECK_EQUAL(follower->depth, depth);
    CHECK(memcmp(follower->chain, stack, depth * sizeof(stack[0])) == 0);
}

static void set_stack(uint32_t new_depth, uint64_t first)
{
    depth = new_depth;
    for (uint32_t i = 0; i < depth; i++)
        stack[i] = first + i;
}

TEST(an_unchanged_stack_costs_no_slot)
{
    static struct follower follower;

    begin();
    set_stack(7, 100);
    allocate(1);
    follow(&follower, 1);
    CHECK_EQUAL(follower.count_deltas, 1);
    check_chain(&follower);
    allocate(2);
    follow(&follower, 2);
    CHECK_EQUAL(follower.count_deltas, 0);
    check_chain(&follower);
}

TEST(every_depth_comes_out_as_it_went_in)
{
    static const uint32_t depths[] = {1, 0, 2, 3, 4, 5, 499, 500, 501, 502, 1000, 1001, 2999, 3, 0};
    static struct follower follower;

    begin();
    for (unsigned i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
        set_stack(depths[i], 100);
        allocate(1000 + i);
        follow(&follower, 1000 + i);
        check_chain(&follower);
        /* All but the root is new. */
        set_stack(depths[i], 5000 + i);
        stack[0] = 100;
        allocate(2000 + i);
        follow(&follower, 2000 + i);
        check_chain(&follower);
    }
}

TEST(a_changed_line_is_one_slot)
{
    static struct follower follower;
    uint64_t cursor;

    begin();
    set_stack(30, 100);
    allocate(1);
    cursor = pool.directory[0].cursor;
    stack[29]++;
    allocate(2);
    CHECK_EQUAL(pool.directory[0].cursor, cursor + 2);
    follow(&follower, 2);
    check_chain(&follower);
}

TEST(after_lost_events_the_chain_begins_again)
{
    static struct follower follower;

    begin();
    set_stack(5, 100);
    allocate(1);
    follow(&follower, 1);
    set_stack(9, 300); /* its delta is lost */
    context_lose_event(context_own);
    memcpy(cached, stack, sizeof(stack));
    count_cached = depth;
    allocate(2);
    follow(&follower, 2);
    check_chain(&follower);
}

static void allocate_in_handler(void)
{
    on_walk = NULL;
    allocate(77);
}

TEST(an_event_of_a_handler_on_top_of_a_walk_is_detached)
{
    static struct follower follower;

    begin();
    set_stack(5, 100);
    allocate(1);
    set_stack(6, 200);
    on_walk = allocate_in_handler;
    allocate(2);
    CHECK(follow(&follower, 77).is_detached);
    CHECK(!follow(&follower, 2).is_detached);
    check_chain(&follower);
}

TEST(a_walk_that_was_left_is_begun_again_from_nothing)
{
    static struct follower follower;

    begin();
    set_stack(5, 100);
    allocate(1);
    follow(&follower, 1);
    /* As siglongjmp() leaves it: deeper than where we are now, somewhere in a walk. */
    context_own->busy = (uintptr_t)__builtin_frame_address(0) - 4096;
    count_cached = 3;
    cached[2] = 12345;
    set_stack(8, 100);
    allocate(2);
    CHECK(!follow(&follower, 2).is_detached);
    check_chain(&follower);
    CHECK_EQUAL(context_own->busy, 0);
}

TEST(a_release_has_no_stack)
{
    uint64_t cursor;

    begin();
    set_stack(5, 100);
    allocate(1);
    cursor = pool.directory[0].cursor;
    set_stack(9, 300);
    track_released(DOMAIN_HEAP, PAGE, ALLOCATOR_FREE);
    CHECK_EQUAL(pool.directory[0].cursor, cursor + 1);
}

TEST(min_size_is_for_allocations_alone)
{
    uint64_t cursor;

    test_pool_make(&pool, 1, POOL_OPTION_PYTHON);
    pool.header->min_size = 100;
    CHECK(process_open(pool.header, pool.header->pool_bytes, 1, 0));
    allocate(100);
    cursor = pool.directory[0].cursor;
    allocate(99);
    CHECK_EQUAL(pool.directory[0].cursor, cursor);
    track_released(DOMAIN_HEAP, PAGE, ALLOCATOR_FREE);
    CHECK_EQUAL(pool.directory[0].cursor, cursor + 1);
}

static size_t usable;

static size_t say_usable(void *block)
{
    CHECK_EQUAL((uintptr_t)block, PAGE);
    return usable;
}

TEST(a_release_of_what_must_be_too_small_is_not_recorded)
{
    uint64_t cursor;

    test_pool_make(&pool, 1, POOL_OPTION_PYTHON);
    pool.header->min_size = 100;
    CHECK(process_open(pool.header, pool.header->pool_bytes, 1, 0));
    process.usable_bytes = say_usable;
    allocate(100);
    cursor = pool.directory[0].cursor;
    usable = 99;
    CHECK_EQUAL(track_released(DOMAIN_HEAP, PAGE, ALLOCATOR_FREE), 0);
    CHECK_EQUAL(pool.directory[0].cursor, cursor);
    usable = 100;
    CHECK_EQUAL(track_released(DOMAIN_HEAP, PAGE, ALLOCATOR_FREE), PAGE);
    CHECK_EQUAL(pool.directory[0].cursor, cursor + 1);
    /* The allocator knows nothing of blocks that Python cuts itself. */
    usable = 0;
    CHECK_EQUAL(track_released(DOMAIN_PYTHON_OBJECT, PAGE, ALLOCATOR_FREE), PAGE);
    CHECK_EQUAL(pool.directory[0].cursor, cursor + 2);
}

/* Put the chunks of the first blob together. Returns its bytes. */
static size_t read_blob(uint8_t *bytes)
{
    struct pool_cursor cursor = {.stream = &pool.streams[0]};
    struct pool_record record;
    uint64_t done = 0, total = 0;
    bool is_last = false;

    while (!is_last) {
        uint64_t here;

        CHECK(pool_cursor_find(&cursor, OP_BLOB, UINT64_MAX, &record));
        here = record.payload >> 24 & 0xfff;
        CHECK_EQUAL(record.payload & 255, BLOB_CODE);
        CHECK_EQUAL(record.arg & 1, done == 0);
        if (done == 0)
            total = record.w1;
        else
            CHECK_EQUAL(record.w1, done);
        for (uint64_t i = 0; i < here; i++) {
            uint64_t word = i % 15 < 8 ? record.rest[i / 15].w1 : record.rest[i / 15].w0;

            bytes[done + i] = (uint8_t)(word >> i % 15 % 8 * 8);
        }
        done += here;
        is_last = (record.arg & 2) != 0;
    }
    CHECK_EQUAL(done, total);
    return total;
}

TEST(a_name_of_any_length_comes_out_as_it_went_in)
{
    static const size_t sizes[] = {1, 14, 15, 16, 3824, 3825, 3826, 7650, 9999};
    static uint8_t bytes[sizeof(blob)];

    for (unsigned i = 0; i < sizeof(blob); i++)
        blob[i] = (uint8_t)(i * 7 + 255);
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        pid_t child = fork(); /* a session is begun once in a process */
        int status;

        CHECK(child >= 0);
        if (child == 0) {
            test_case("%zu bytes", sizes[i]);
            begin();
            set_stack(1, 100);
            blob_bytes = sizes[i];
            allocate(1);
            test_pool_drain(&pool, false);
            CHECK_EQUAL(read_blob(bytes), sizes[i]);
            CHECK(memcmp(bytes, blob, sizes[i]) == 0);
            fflush(stdout);
            _exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
}
