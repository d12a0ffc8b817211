/*
 * Reading rings: laps, holes, deltas, sizes, announcements, and rubbish.
 */
#include "hand_pool.h"

static struct hand_event events[HAND_MAX_EVENTS];

/* A process with one thread in ring 0, in segment 1. */
static void open_one(void)
{
    hand_open();
    hand_process(0, HAND_NUMBER, HAND_PID);
    hand_own(0, HAND_NUMBER, HAND_PID);
    hand_sync(0, 1, 5);
}

static void check_event(size_t index, uint64_t op, uint64_t address)
{
    test_case("event %zu", index);
    CHECK_EQUAL(hand_op(&events[index]), op);
    CHECK_EQUAL(hand_address(&events[index]), address);
}

TEST(an_allocation_and_its_release_arrive_with_all_they_say)
{
    struct capture *capture;

    open_one();
    hand_put(0, hand_head(OP_ALLOC, 0x7ffff7a10abd >> 3) | UINT64_C(3) << SLOT_DOMAIN_SHIFT,
             hand_block_w1(4242, ALLOCATOR_CALLOC, 0x7ffff7a10abd));
    hand_put(0, hand_head(OP_FREE, 0x7ffff7a10abd >> 3) | UINT64_C(3) << SLOT_DOMAIN_SHIFT,
             hand_block_w1(0, ALLOCATOR_REALLOC, 0x7ffff7a10abd));
    drain_round(hand_drain);
    capture = hand_close();
    CHECK_EQUAL(hand_events(capture, 1, events), 3);
    check_event(0, EVENT_SYNC, 1);
    CHECK_EQUAL(events[0].w1, 5 | (uint64_t)SYNC_PAGE << 32);
    check_event(1, EVENT_ALLOC, 0x7ffff7a10abd);
    CHECK_EQUAL(events[1].w0 >> EVENT_DOMAIN_SHIFT & EVENT_DOMAIN_MASK, DOMAIN_PYTHON_OBJECT);
    CHECK_EQUAL(events[1].w1, 4242 | UINT64_C(1) << EVENT_STACK_SHIFT);
    CHECK_EQUAL(capture->stacks[1].allocator, ALLOCATOR_CALLOC);
    CHECK_EQUAL(capture->stacks[1].python_node, 0);
    check_event(2, EVENT_FREE, 0x7ffff7a10abd);
    CHECK_EQUAL(events[2].w1, ALLOCATOR_REALLOC);
    CHECK_EQUAL(capture->summary.is_present, false);
    CHECK_EQUAL(capture->threads[0].is_main, true);
    CHECK_EQUAL(capture->processes[0].number, HAND_NUMBER);
}

TEST(many_laps_lose_nothing_at_any_cut)
{
    enum {
        COUNT = 5 * RING_SLOT_COUNT
    };
    struct capture *capture;
    uint64_t next = 0, random = 1;

    open_one();
    while (next < COUNT) {
        random = random * UINT64_C(6364136223846793005) + 1;
        for (uint64_t n = random >> 33 & 0xfff; n > 0 && next < COUNT; n--)
            hand_alloc(0, 8 * ++next, 1);
        drain_round(hand_drain);
        hand_await_consumed(0, next + 1);
    }
    capture = hand_close();
    CHECK_EQUAL(hand_events(capture, 1, events), COUNT + 1);
    for (size_t i = 1; i <= COUNT; i++)
        check_event(i, EVENT_ALLOC, 8 * i);
}

TEST(slots_are_given_back_only_after_they_are_written)
{
    struct stat_of_file {
        uint64_t consumed;
    } before;

    open_one();
    hand_alloc(0, 64, 1);
    drain_round(hand_drain);
    before.consumed = atomic_load(&hand_session.pool.rings[0].consumed);
    CHECK_EQUAL(before.consumed, 0); /* read, but only in a buffer */
    hand_await_consumed(0, 2);
    hand_close();
}

TEST(a_hole_is_passed_over_and_its_record_comes_when_it_is_filled)
{
    struct capture *capture;
    uint64_t hole;

    open_one();
    hole = hand_reserve(0, 1); /* the hook is interrupted here */
    hand_alloc(0, 0x100, 1);   /* by a handler that records */
    hand_sync(0, 3, 6);
    hand_alloc(0, 0x200, 1);
    drain_round(hand_drain);
    hand_await_consumed(0, hole);
    hand_fill(0, hole, hand_head(OP_FREE, 0x900 >> 3), hand_block_w1(0, ALLOCATOR_FREE, 0));
    hand_alloc(0, 0x300, 1);
    drain_round(hand_drain);
    hand_await_consumed(0, hole + 5);
    CHECK_EQUAL(hand_drain->sink.counts.holes, 1);
    capture = hand_close();
    CHECK_EQUAL(hand_events(capture, 1, events), 6);
    check_event(1, EVENT_ALLOC, 0x100);
    check_event(2, EVENT_SYNC, 3);
    check_event(3, EVENT_ALLOC, 0x200);
    check_event(4, EVENT_FREE, 0x900); /* before what follows it in the thread */
    check_event(5, EVENT_ALLOC, 0x300);
}

TEST(an_unfilled_end_is_no_hole)
{
    struct capture *capture;
    uint64_t at;

    open_one();
    hand_alloc(0, 0x100, 1);
    at = hand_reserve(0, 2);
    drain_round(hand_drain);
    CHECK_EQUAL(hand_drain->sink.counts.holes, 0);
    hand_fill(0, at, hand_head(OP_ALLOC, 0x200 >> 3), 1);
    drain_round(hand_drain);
    hand_fill(0, at + 1, hand_head(OP_ALLOC, 0x300 >> 3), 1);
    drain_round(hand_drain);
    CHECK_EQUAL(hand_drain->sink.counts.holes, 0);
    capture = hand_close();
    CHECK_EQUAL(hand_events(capture, 1, events), 4);
    check_event(3, EVENT_ALLOC, 0x300);
}

TEST(a_sync_out_of_a_hole_does_not_lower_the_segment)
{
    struct capture *capture;
    uint64_t hole;

    open_one();
    hole = hand_reserve(0, 1);
    hand_sync(0, 9, 6);
    hand_alloc(0, 0x100, 1);
    drain_round(hand_drain);
    hand_fill(0, hole, hand_head(OP_SYNC, 8), 5 | (uint64_t)SYNC_PAGE << 32);
    hand_alloc(0, 0x200, 1);
    drain_round(hand_drain);
    capture = hand_close(); /* its reader refuses a segment that falls */
    CHECK_EQUAL(hand_events(capture, 1, events), 4);
    check_event(1, EVENT_SYNC, 9);
    check_event(3, EVENT_ALLOC, 0x200);
}

TEST(a_hole_that_is_never_filled_holds_slots_until_it_is_repaired)
{
    struct capture *capture;
    uint64_t hole;

    open_one();
    hole = hand_reserve(0, 3); /* left by siglongjmp */
    for (int i = 0; i < 100; i++)
        hand_alloc(0, 0x1000, 1);
    drain_round(hand_drain);
    hand_await_consumed(0, hole);
    for (uint64_t n = hole + 3; n-- > hole;) /* the thread, whose ring is full: last first */
        hand_fill(0, n, hand_head(OP_NOP, 0), 0);
    drain_round(hand_drain);
    while (atomic_load(&hand_session.pool.rings[0].consumed) != hole + 103)
        usleep(100); /* without a flush: the thread waits */
    capture = hand_close();
    CHECK_EQUAL(hand_events(capture, 1, events), 101);
}

TEST(more_holes_than_are_kept_stop_the_reading_but_lose_nothing)
{
    struct capture *capture;
    uint64_t holes[RING_MAX_HOLES + 10];
    size_t count = sizeof(holes) / sizeof(holes[0]);

    open_one();
    for (size_t i = 0; i < count; i++) {
        holes[i] = hand_reserve(0, 1);
        hand_alloc(0, 0x1000 + 8 * i, 1);
    }
    drain_round(hand_drain);
    drain_round(hand_drain);
    CHECK_EQUAL(hand_drain->sink.counts.holes, RING_MAX_HOLES);
    for (size_t i = 0; i < count; i++)
        hand_fill(0, holes[i], hand_head(OP_ALLOC, (0x9000 + 8 * i) >> 3), 1);
    drain_round(hand_drain);
    hand_await_consumed(0, 2 * count + 1);
    capture = hand_close();
    CHECK_EQUAL(hand_events(capture, 1, events), 2 * count + 1);
}

TEST(deltas_pop_push_and_empty_the_chain)
{
    static const uint64_t frames[] = {
        UINT64_C(5) << FRAME_CODE_SHIFT | FRAME_ENTRY | 2,
        UINT64_C(6) << FRAME_CODE_SHIFT | 4,
        UINT64_C(5) << FRAME_CODE_SHIFT | ((UINT64_C(1) << FRAME_OFFSET_BITS) - 2), /* -2 */
        SPECIAL_TRUNCATED,
    };
    struct capture *capture;
    const struct capture_node *nodes;

    open_one();
    hand_code(0, 6, "b.py", "inner");
    hand_code(0, 5, "a.py", "outer");
    hand_delta(0, 0, 3, frames);
    hand_alloc(0, 0x100, 1); /* outer+2, inner+4, outer-2 */
    hand_delta(0, 2, 0, NULL);
    hand_alloc(0, 0x200, 1); /* outer+2 */
    hand_delta(0, DELTA_POP_ALL, 1, frames + 3);
    hand_alloc(0, 0x300, 1); /* truncated */
    hand_delta(0, DELTA_POP_ALL, 0, NULL);
    hand_alloc(0, 0x400, 1); /* nothing */
    drain_round(hand_drain);
    CHECK_EQUAL(hand_drain->sink.counts.faults, 0);
    capture = hand_close();
    CHECK_EQUAL(hand_events(capture, 1, events), 5);
    nodes = capture->nodes;
    for (size_t i = 0; i < 4; i++) {
        static const struct {
            uint32_t depth, code;
            int32_t offset;
            bool is_entry;
        } innermost[] = {{3, 2, -2, false}, {1, 2, 2, true}, {1, 0, 1, false}, {0, 0, 0, false}};
        uint32_t node = capture->stacks[events[i + 1].w1 >> EVENT_STACK_SHIFT].python_node;
        uint32_t depth = 0;

        test_case("allocation %zu", i);
        CHECK_EQUAL(nodes[node].code, innermost[i].code);
        CHECK(nodes[node].offset == innermost[i].offset);
        CHECK_EQUAL(nodes[node].is_entry, innermost[i].is_entry);
        for (; node != 0; node = nodes[node].parent)
            depth++;
        CHECK_EQUAL(depth, innermost[i].depth);
    }
    CHECK_TEXT(capture->codes[1].name.text, "inner");
    CHECK_TEXT(capture->codes[2].file.text, "a.py");
    CHECK_EQUAL((uint64_t)capture->codes[2].first_line, 10);
}

/* An allocation whose innermost frame has moved on, of 40 bytes. */
static void put_moved(uint64_t domain, uint64_t address, uint64_t offset, enum allocator allocator)
{
    hand_put(0, hand_head(OP_ALLOC_MOVED, address >> 3) | domain << SLOT_DOMAIN_SHIFT,
             hand_block_w1(40, allocator, 0) | offset << MOVED_OFFSET_SHIFT);
}

TEST(a_frame_that_moves_on_takes_its_allocation_along)
{
    const uint64_t frames[] = {hand_frame(1, 4), hand_frame(2, 6) | FRAME_ENTRY};
    static const uint64_t unknown[] = {SPECIAL_UNKNOWN};
    static const uint64_t offsets[] = {0, 8, 8, 0xffffff};
    struct capture *capture;

    open_one();
    hand_code(0, 1, "a.py", "outer");
    hand_code(0, 2, "a.py", "inner");
    put_moved(DOMAIN_HEAP, 0x50, 2, ALLOCATOR_MALLOC); /* there is no frame yet: damaged */
    hand_delta(0, 0, 2, frames);
    put_moved(DOMAIN_HEAP, 0x100, 8, ALLOCATOR_MALLOC);
    hand_alloc(0, 0x200, 40); /* it stays there */
    put_moved(DOMAIN_PYTHON_OBJECT, 0x300, 0xffffff, ALLOCATOR_PYMALLOC);
    hand_delta(0, 1, 1, unknown);
    put_moved(DOMAIN_HEAP, 0x400, 8, ALLOCATOR_MALLOC); /* what says why is kept */
    drain_round(hand_drain);
    CHECK_EQUAL(hand_drain->sink.counts.faults, 1);
    capture = hand_close();
    CHECK_EQUAL(hand_events(capture, 1, events), 6);
    for (uint64_t i = 1; i <= 3; i++) {
        const struct capture_stack *stack = &capture->stacks[events[i + 1].w1 >> EVENT_STACK_SHIFT];
        const struct capture_node *node = &capture->nodes[stack->python_node];

        test_case("allocation %d", (int)i);
        check_event(i + 1, EVENT_ALLOC, 0x100 * i);
        CHECK_EQUAL(events[i + 1].w1 & UINT32_MAX, 40);
        CHECK_EQUAL((uint64_t)node->offset, offsets[i]);
        CHECK_TEXT(capture->codes[node->code].name.text, "inner");
        CHECK(node->is_entry);
        CHECK_EQUAL((uint64_t)capture->nodes[node->parent].offset, 4);
    }
    CHECK_EQUAL(capture->stacks[events[4].w1 >> EVENT_STACK_SHIFT].allocator, ALLOCATOR_PYMALLOC);
    CHECK_EQUAL(
        (uint64_t)capture->nodes[capture->stacks[events[5].w1 >> EVENT_STACK_SHIFT].python_node]
            .offset,
        SPECIAL_UNKNOWN);
}

TEST(a_stack_of_many_deltas_is_one_stack)
{
    uint64_t frames[DELTA_MAX_FRAMES];
    struct capture *capture;
    uint32_t node, depth = 0;

    open_one();
    hand_code(0, 1, "deep.py", "f");
    for (int k = 0; k < 4; k++) {
        for (uint64_t i = 0; i < DELTA_MAX_FRAMES; i++)
            frames[i] = hand_frame(1, 2 * i);
        hand_delta(0, 0, DELTA_MAX_FRAMES, frames);
    }
    hand_alloc(0, 0x100, 1);
    drain_round(hand_drain);
    capture = hand_close();
    CHECK_EQUAL(hand_events(capture, 1, events), 2);
    node = capture->stacks[events[1].w1 >> EVENT_STACK_SHIFT].python_node;
    for (; node != 0; node = capture->nodes[node].parent)
        depth++;
    CHECK_EQUAL(depth, 4 * DELTA_MAX_FRAMES);
}

TEST(what_a_nested_handler_does_has_the_handlers_stack)
{
    static const uint64_t frame[] = {SPECIAL_TRUNCATED};
    struct capture *capture;
    uint32_t node;

    open_one();
    hand_delta(0, 0, 1, frame);
    hand_put(0, hand_head(OP_ALLOC, 0x100 >> 3) | SLOT_DETACHED, 1);
    drain_round(hand_drain);
    capture = hand_close();
    CHECK_EQUAL(hand_events(capture, 1, events), 2);
    node = capture->stacks[events[1].w1 >> EVENT_STACK_SHIFT].python_node;
    CHECK_EQUAL(capture->nodes[node].code, 0);
    CHECK_EQUAL((uint64_t)capture->nodes[node].offset, SPECIAL_SIGNAL_HANDLER);
    CHECK_EQUAL(capture->nodes[node].parent, 0);
}

TEST(sizes_of_4_gib_and_more_are_preceded_by_wide_in_the_same_section)
{
    uint64_t huge = (UINT64_C(5) << 32) + 7;
    struct capture *capture;

    open_one();
    for (int i = 0; i < PACK_BLOCK_RECORDS; i++) /* whatever the place in a block */
        hand_put(0, hand_head(OP_MAP, 0x1000 >> 3) | (uint64_t)DOMAIN_MAP << SLOT_DOMAIN_SHIFT,
                 hand_block_w1(huge, ALLOCATOR_MMAP, 0) | (uint64_t)CLASS_FILE_SHARED
                                                              << BLOCK_CLASS_SHIFT);
    hand_put(0, hand_head(OP_UNMAP, 0x1000 >> 3) | (uint64_t)DOMAIN_MAP << SLOT_DOMAIN_SHIFT,
             hand_block_w1(huge, ALLOCATOR_MUNMAP, 0));
    hand_put(0, hand_head(OP_PROTECT, 0x1000 >> 3) | (uint64_t)DOMAIN_MAP << SLOT_DOMAIN_SHIFT,
             hand_block_w1(4096, 0, 0) | (uint64_t)CLASS_RESERVED << BLOCK_CLASS_SHIFT);
    drain_round(hand_drain);
    capture = hand_close();
    CHECK_EQUAL(hand_events(capture, 1, events), 1 + 2 * (PACK_BLOCK_RECORDS + 1) + 1);
    for (size_t i = 1; i <= 2 * PACK_BLOCK_RECORDS; i += 2) {
        check_event(i, EVENT_WIDE, 0);
        CHECK_EQUAL(events[i].w1, 5);
        check_event(i + 1, EVENT_MAP, 0x1000);
        CHECK_EQUAL(events[i + 1].w1 & UINT32_MAX, 7);
    }
    CHECK_EQUAL(capture->stacks[1].map_class, CLASS_FILE_SHARED);
    check_event(2 * PACK_BLOCK_RECORDS + 2, EVENT_UNMAP, 0x1000);
    CHECK_EQUAL(events[2 * PACK_BLOCK_RECORDS + 2].w1,
                7 | (uint64_t)ALLOCATOR_MUNMAP << EVENT_ALLOCATOR_SHIFT);
    check_event(2 * PACK_BLOCK_RECORDS + 3, EVENT_PROTECT, 0x1000);
    CHECK_EQUAL(events[2 * PACK_BLOCK_RECORDS + 3].w1,
                4096 | (uint64_t)CLASS_RESERVED << EVENT_ALLOCATOR_SHIFT);
}

TEST(a_blob_in_many_chunks_and_over_laps_is_put_together)
{
    static uint8_t blob[100000];
    uint32_t size_bytes = hand_make_code(blob, 1, "big.py", "f", 90000), done = 0;
    static const uint64_t frame[] = {UINT64_C(1) << FRAME_CODE_SHIFT};
    struct capture *capture;

    open_one();
    while (atomic_load(&hand_session.pool.rings[0].cursor) < RING_SLOT_COUNT - 300)
        hand_put(0, hand_head(OP_NOP, 0), 0);
    drain_round(hand_drain);
    hand_await_consumed(0, RING_SLOT_COUNT - 300);
    while (done < size_bytes) {
        uint32_t part =
            size_bytes - done < BLOB_CHUNK_MAX_BYTES ? size_bytes - done : BLOB_CHUNK_MAX_BYTES;
        uint64_t left =
            RING_SLOT_COUNT - atomic_load(&hand_session.pool.rings[0].cursor) % RING_SLOT_COUNT;

        for (; left <= GROUP_MAX_SLOTS && left > 0; left--) /* a group never wraps */
            hand_put(0, hand_head(OP_NOP, 0), 0);
        hand_chunk(0, (done == 0 ? BLOB_FIRST : 0) | (done + part == size_bytes ? BLOB_LAST : 0),
                   77, BLOB_CODE, done == 0 ? size_bytes : done, blob + done, part);
        done += part;
    }
    hand_delta(0, 0, 1, frame);
    hand_alloc(0, 0x100, 1);
    drain_round(hand_drain);
    CHECK_EQUAL(hand_drain->sink.counts.faults, 0);
    capture = hand_close();
    CHECK_EQUAL(capture->code_count, 2);
    CHECK_EQUAL(capture->codes[1].line_table_bytes, 90000);
    CHECK_EQUAL(capture->codes[1].line_table[89999], 0x55);
}

TEST(damaged_announcements_are_dropped_and_counted)
{
    static const struct {
        uint32_t at, value;
    } rows[] = {{0, 0}, {12, 1000}, {12, UINT32_MAX}, {16, UINT32_MAX - 3}, {20, 1}, {8, 0}};
    struct capture *capture;

    open_one();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t blob[256];
        uint32_t size_bytes = hand_make_code(blob, 1, "a.py", "f", 0);

        le_store_u32(rows[i].value, blob + rows[i].at);
        hand_chunk(0, BLOB_FIRST | BLOB_LAST, 1, BLOB_CODE, size_bytes, blob, size_bytes);
        drain_round(hand_drain);
        test_case("row %zu", i);
        CHECK_EQUAL(hand_drain->sink.counts.faults, i + 1);
    }
    capture = hand_close();
    CHECK_EQUAL(capture->code_count, 1);
}

TEST(a_code_used_before_its_announcement_is_read_waits_for_it)
{
    static const uint64_t frame[] = {UINT64_C(9) << FRAME_CODE_SHIFT};
    struct capture *capture;
    uint32_t node;

    open_one();
    hand_own(1, HAND_NUMBER, HAND_PID + 1);
    hand_sync(1, 2, 5);
    drain_round(hand_drain);
    hand_delta(0, 0, 1, frame); /* ring 0 is read first, the name is in ring 1 */
    hand_alloc(0, 0x100, 1);
    drain_round(hand_drain);
    CHECK_EQUAL(hand_drain->sink.counts.events, 0);
    hand_code(1, 9, "late.py", "f");
    drain_round(hand_drain);
    drain_round(hand_drain);
    CHECK_EQUAL(hand_drain->sink.counts.events, 1);
    CHECK_EQUAL(hand_drain->sink.counts.faults, 0);
    capture = hand_close();
    CHECK_EQUAL(hand_events(capture, 1, events), 2);
    node = capture->stacks[events[1].w1 >> EVENT_STACK_SHIFT].python_node;
    CHECK_TEXT(capture->codes[capture->nodes[node].code].name.text, "f");
}

TEST(a_code_that_nobody_announces_becomes_unknown_and_stops_nothing)
{
    static const uint64_t frame[] = {UINT64_C(9) << FRAME_CODE_SHIFT | 8};
    struct capture *capture;
    uint32_t node;

    open_one();
    hand_delta(0, 0, 1, frame);
    hand_alloc(0, 0x100, 1);
    for (int i = 0; i < 4; i++)
        drain_round(hand_drain);
    CHECK_EQUAL(hand_drain->sink.counts.faults, 1);
    capture = hand_close();
    CHECK_EQUAL(hand_events(capture, 1, events), 2);
    node = capture->stacks[events[1].w1 >> EVENT_STACK_SHIFT].python_node;
    CHECK_EQUAL(capture->nodes[node].code, 0);
    CHECK_EQUAL((uint64_t)capture->nodes[node].offset, SPECIAL_UNKNOWN);
}

TEST(notes_of_life_and_loss_arrive)
{
    struct capture *capture;

    open_one();
    hand_put(0, hand_head(OP_LOST, 0), 123);
    hand_put(0, hand_head(OP_LIFE, LIFE_EXIT), 3);
    hand_put(0, hand_head(OP_CLOCK, 0), hand_session.start_ns + 77);
    hand_put(0, hand_head(OP_BIRTH, 0), 1); /* not kept */
    drain_round(hand_drain);
    capture = hand_close();
    CHECK_EQUAL(hand_events(capture, 1, events), 4);
    check_event(1, EVENT_NOTE, NOTE_LOST);
    CHECK_EQUAL(events[1].w1, 123);
    check_event(2, EVENT_NOTE, NOTE_LIFE | LIFE_EXIT << 16);
    CHECK_EQUAL(events[2].w1, 3);
    check_event(3, EVENT_NOTE, NOTE_CLOCK);
    CHECK_EQUAL(events[3].w1, 77);
}

TEST(rubbish_between_records_is_counted_and_passed_over)
{
    struct capture *capture;

    open_one();
    hand_put(0, 0x1234, 0); /* a stray continuation */
    hand_put(0, hand_head(OP_ALLOC, 1) | UINT64_C(7) << SLOT_DOMAIN_SHIFT, 1); /* no such domain */
    hand_put(0, hand_head(OP_PY, (uint64_t)501 << DELTA_PUSH_SHIFT), 0);
    hand_put(0, hand_head(OP_PY, (uint64_t)400 << DELTA_PUSH_SHIFT), 0); /* beyond the cursor */
    hand_put(0, hand_head(OP_BLOB, UINT64_C(0xfff) << 24), 0);
    hand_put(0, hand_head(OP_PY, 3), 0); /* pops more than there is */
    hand_alloc(0, 0x100, 1);
    drain_round(hand_drain);
    CHECK_EQUAL(hand_drain->sink.counts.faults, 6);
    capture = hand_close();
    CHECK_EQUAL(hand_events(capture, 1, events), 2);
    check_event(1, EVENT_ALLOC, 0x100);
}

TEST(a_tick_of_the_future_is_not_believed)
{
    struct capture *capture;

    open_one();
    hand_sync(0, 2, UINT32_MAX);
    hand_alloc(0, 0x100, 1);
    drain_round(hand_drain);
    capture = hand_close();
    CHECK_EQUAL(hand_events(capture, 1, events), 3);
    CHECK_EQUAL(events[1].w1 & UINT32_MAX, 100);
}

TEST(a_cursor_of_rubbish_reads_at_most_a_lap)
{
    open_one();
    drain_round(hand_drain);
    atomic_store(&hand_session.pool.rings[0].cursor, UINT64_MAX - 5);
    drain_round(hand_drain);
    atomic_store(&hand_session.pool.rings[0].cursor, 0); /* and one that goes back */
    drain_round(hand_drain);
    CHECK(hand_drain->sink.counts.faults >= 2);
    CHECK(hand_drain->sink.counts.slots <= RING_SLOT_COUNT);
    hand_close();
}

TEST(holes_more_than_a_lap_ahead_do_not_keep_a_dead_process)
{
    struct process *process;

    open_one();
    process = &hand_session.processes[0];
    for (unsigned i = 0; i < 5000; i++)
        hand_alloc(0, 0x1000 + i * 16, 1);
    drain_round(hand_drain);
    /* Where the next lap would be, each hundredth slot is filled. */
    for (uint64_t n = RING_SLOT_COUNT; n < RING_SLOT_COUNT + 4000; n += 100)
        atomic_store(&slots_at(pool_slots(&hand_session.pool, 0), n)->w0,
                     hand_head(OP_NOP, 0) | slots_lap(n));
    atomic_store(&hand_session.pool.rings[0].cursor, 5 * RING_SLOT_COUNT);
    process_set_phase(process, PHASE_ENDED);
    drain_round(hand_drain);
    drain_round(hand_drain);
    drain_flush(hand_drain);
    while (atomic_load(&hand_session.pool.rings[0].consumed) < 5000)
        usleep(1000);
    for (unsigned i = 0; i < 1000 && process_phase(process) != PHASE_DRAINED; i++) {
        drain_round(hand_drain);
        usleep(1000);
    }
    CHECK_EQUAL(process_phase(process), PHASE_DRAINED);
    hand_close();
}

/*
 * Everything random, heads and laps likely. Whatever happens, each round ends and the capture that
 * comes of it is one that the reader accepts.
 */
TEST(random_pools_make_captures_that_can_be_read)
{
    uint64_t random = 42;

    hand_open();
    for (uint32_t i = 0; i < 3; i++)
        hand_process(i, i + 1, HAND_PID + i);
    for (uint32_t ring = 0; ring < 6; ring++)
        hand_own(ring, ring % 4, ring); /* some of a process that is not there */
    for (int round = 0; round < 300; round++) {
        for (int i = 0; i < 2000; i++) {
            uint32_t ring = (uint32_t)(random >> 20 & 7) % 6;
            uint64_t w0, w1, number = hand_reserve(ring, 1);

            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            w0 = random ^ random << 29;
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            w1 = random ^ random >> 31;
            if (random >> 40 & 7)
                w0 = (w0 & ~SLOT_LAP) | SLOT_HEAD | slots_lap(number);
            atomic_store(&slots_at(pool_slots(&hand_session.pool, ring), number)->w1, w1);
            atomic_store(&slots_at(pool_slots(&hand_session.pool, ring), number)->w0, w0);
        }
        if (round % 50 == 49)
            drain_flush(hand_drain);
        drain_round(hand_drain);
    }
    for (uint32_t i = 0; i < 3; i++)
        process_set_phase(&hand_session.processes[i], PHASE_ENDED);
    for (uint32_t i = 0; i < 3; i++)
        while (process_phase(&hand_session.processes[i]) != PHASE_DRAINED)
            drain_round(hand_drain);
    CHECK(hand_drain->sink.counts.events > 1000);
    CHECK(hand_drain->sink.counts.faults > 1000);
    hand_close();
}
