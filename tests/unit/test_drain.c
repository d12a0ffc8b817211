/*
 * Threads and processes come and go: rings taken again, bounds, ends, and what a dead one has left.
 */
#include "collect/activity.h"
#include "collect/ring_life.h"
#include "hand_pool.h"

static struct hand_event events[HAND_MAX_EVENTS];

static void open_one(void)
{
    hand_open();
    hand_process(0, HAND_NUMBER, HAND_PID);
    hand_own(0, HAND_NUMBER, HAND_PID);
    hand_sync(0, 1, 5);
}

static uint32_t ring_state(uint32_t ring)
{
    return atomic_load(&hand_session.pool.rings[ring].state);
}

static void await_free(uint32_t ring)
{
    while (ring_state(ring) != RING_FREE) {
        drain_round(hand_drain);
        usleep(100);
    }
}

/* The capture as it would be read if the collector was killed now. */
static struct capture *open_cut_off(void)
{
    static char copy_path[sizeof(hand_path) + 8];
    static uint8_t bytes[16 << 20];
    struct capture *capture;
    ssize_t size_bytes;
    struct error err;
    int fd;

    hand_finish_writing();
    fd = open(hand_path, O_RDONLY);
    size_bytes = read(fd, bytes, sizeof(bytes));
    close(fd);
    snprintf(copy_path, sizeof(copy_path), "%s.cut", hand_path);
    fd = open(copy_path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    CHECK(write(fd, bytes, (size_t)size_bytes) == size_bytes);
    close(fd);
    capture = capture_open(copy_path, NULL, NULL, &err);
    unlink(copy_path);
    if (capture == NULL)
        printf("# %s\n", err.text);
    CHECK(capture != NULL);
    CHECK_EQUAL(capture->damage.offset, (uint64_t)size_bytes); /* nothing but the end is missing */
    CHECK_EQUAL(capture->state, CAPTURE_TRUNCATED);
    return capture;
}

/* Everything handed over so far is in the file. */
static void settle(void)
{
    hand_await_consumed(0, atomic_load(&hand_session.pool.rings[0].cursor));
}

TEST(while_there_is_much_to_read_bounds_go_out_more_often)
{
    enum {
        RINGS = 9
    };
    uint64_t began_ns;

    open_one();
    for (uint32_t ring = 1; ring < RINGS; ring++)
        hand_own(ring, HAND_NUMBER, HAND_PID + ring);
    drain_round(hand_drain);
    drain_flush(hand_drain);
    began_ns = hand_drain->flushed_ns;
    for (uint64_t ring = 0; ring < RINGS; ring++) {
        hand_sync((uint32_t)ring, 2 + ring, 5);
        for (uint64_t i = 2; i < RING_SLOT_COUNT; i++)
            hand_alloc((uint32_t)ring, ring << 32 | i << 4, 16);
    }
    drain_round(hand_drain);
    usleep(13000); /* far from when it would go out in any case */
    drain_round(hand_drain);
    CHECK(hand_drain->flushed_ns > began_ns);
    CHECK_EQUAL(hand_drain->unflushed_slots, 0);
}

TEST(a_process_has_recorded_when_a_cursor_of_its_rings_has_moved)
{
    static struct activity activity;

    open_one();
    hand_process(1, HAND_NUMBER + 1, HAND_PID + 1);
    hand_own(1, HAND_NUMBER + 1, HAND_PID + 1);
    activity_look(&activity, &hand_session); /* nobody knows the processes yet */
    drain_round(hand_drain);
    activity_look(&activity, &hand_session);
    CHECK(activity.has_recorded[0] && !activity.has_recorded[1]);
    activity_look(&activity, &hand_session);
    CHECK(!activity.has_recorded[0] && !activity.has_recorded[1]);
    hand_sync(1, 2, 5);
    activity_look(&activity, &hand_session);
    CHECK(!activity.has_recorded[0] && activity.has_recorded[1]);
    hand_own(1, HAND_NUMBER, HAND_PID + 2); /* the ring is another's now */
    hand_sync(1, 3, 5);
    activity_look(&activity, &hand_session);
    CHECK(activity.has_recorded[0] && !activity.has_recorded[1]);
}

TEST(of_more_rings_than_are_looked_at_the_drain_says_who_has_recorded)
{
    static struct activity activity;

    open_one();
    atomic_store(&hand_session.pool.header->rings_ready, ACTIVITY_MAX_RINGS + 1);
    activity_look(&activity, &hand_session);
    CHECK(!activity.has_recorded[0]);
    drain_round(hand_drain);
    activity_look(&activity, &hand_session);
    CHECK(activity.has_recorded[0]);
    activity_look(&activity, &hand_session);
    CHECK(!activity.has_recorded[0]);
}

TEST(a_ring_is_taken_again_where_the_thread_before_ended)
{
    struct capture *capture;
    uint64_t end;

    open_one();
    hand_alloc(0, 0x100, 1);
    drain_round(hand_drain);
    ring_life_mark_gone(hand_drain, &hand_drain->readers[0]);
    await_free(0);
    end = atomic_load(&hand_session.pool.rings[0].cursor);
    CHECK_EQUAL(end, 2);
    CHECK_EQUAL(atomic_load(&hand_session.pool.rings[0].consumed), end);

    hand_own(0, HAND_NUMBER, HAND_PID + 1);
    hand_sync(0, 2, 6);
    hand_alloc(0, 0x200, 1);
    drain_round(hand_drain);
    capture = hand_close();
    CHECK_EQUAL(capture->thread_count, 2);
    CHECK_EQUAL(capture->threads[0].tid, HAND_PID);
    CHECK_EQUAL(capture->threads[1].tid, HAND_PID + 1);
    CHECK_EQUAL(capture->threads[1].is_main, false);
    CHECK_EQUAL(hand_events(capture, 1, events), 2);
    CHECK_EQUAL(hand_address(&events[1]), 0x100);
    CHECK_EQUAL(hand_events(capture, 2, events), 2);
    CHECK_EQUAL(hand_address(&events[1]), 0x200);
}

TEST(a_thread_id_that_comes_again_means_that_the_older_thread_is_gone)
{
    open_one();
    drain_round(hand_drain);
    hand_own(1, HAND_NUMBER, HAND_PID);
    drain_round(hand_drain);
    CHECK(hand_drain->readers[0].is_gone);
    CHECK(!hand_drain->readers[1].is_gone);
    await_free(0);
    CHECK_EQUAL(ring_state(1), RING_OWNED);
    hand_close();
}

TEST(what_a_dead_thread_left_unfilled_is_not_read_in_the_next_lap)
{
    struct capture *capture;

    open_one();
    for (int i = 0; i < RING_SLOT_COUNT + 10; i++) { /* so every slot holds an old record */
        hand_alloc(0, 0x1000, 1);
        if (i % 1000 == 0) {
            drain_round(hand_drain);
            settle();
        }
    }
    drain_round(hand_drain);
    settle();
    hand_reserve(0, 5); /* killed in between */
    drain_round(hand_drain);
    ring_life_mark_gone(hand_drain, &hand_drain->readers[0]);
    await_free(0);
    hand_own(0, HAND_NUMBER, HAND_PID + 1);
    for (int i = 0; i < RING_SLOT_COUNT; i++) { /* all the way round, and beyond them */
        hand_put(0, hand_head(OP_NOP, 0), 0);
        if (i % 1000 == 0) {
            drain_round(hand_drain);
            settle();
        }
    }
    drain_round(hand_drain);
    CHECK_EQUAL(hand_drain->sink.counts.faults, 0);
    capture = hand_close();
    CHECK_EQUAL(hand_events(capture, 1, events), RING_SLOT_COUNT + 11);
    CHECK_EQUAL(hand_events(capture, 2, events), 0);
}

TEST(a_record_torn_by_death_is_dropped_and_what_stands_behind_it_is_kept)
{
    static const uint64_t frames[] = {1, 1, 1, 1, 1};
    struct capture *capture;
    uint64_t at;

    open_one();
    at = hand_reserve(0, 3);
    hand_fill(0, at + 1, frames[0], frames[1]); /* continuations, no head */
    hand_fill(0, at + 2, frames[2], frames[3]);
    hand_alloc(0, 0x300, 1); /* a handler's */
    drain_round(hand_drain);
    ring_life_mark_gone(hand_drain, &hand_drain->readers[0]);
    await_free(0);
    CHECK_EQUAL(hand_drain->sink.counts.faults, 0);
    capture = hand_close();
    CHECK_EQUAL(hand_events(capture, 1, events), 2);
    CHECK_EQUAL(hand_address(&events[1]), 0x300);
}

TEST(rings_are_provided_before_they_run_out)
{
    hand_open();
    hand_process(0, HAND_NUMBER, HAND_PID);
    for (uint32_t ring = 0; ring < HAND_RINGS; ring++) {
        CHECK(atomic_load(&hand_session.pool.header->rings_ready) > ring);
        hand_own(ring, HAND_NUMBER, HAND_PID + ring);
        hand_sync(ring, ring + 1, 5);
        drain_round(hand_drain);
    }
    CHECK_EQUAL(atomic_load(&hand_session.pool.header->rings_ready), HAND_RINGS);
    CHECK_EQUAL(hand_close()->thread_count, HAND_RINGS);
}

TEST(a_bound_says_what_the_scan_before_had_seen)
{
    struct capture *cut;

    open_one();
    hand_own(1, HAND_NUMBER, HAND_PID + 1);
    hand_sync(1, 4, 6);
    hand_alloc(1, 0x100, 1);
    drain_round(hand_drain);
    drain_flush(hand_drain);
    settle();
    cut = open_cut_off();
    CHECK_EQUAL(cut->processes[0].bound_segment, 0); /* segment 3 may be missing still */
    capture_close(cut);

    hand_sync(0, 3, 6);
    drain_round(hand_drain);
    hand_sync(0, 5, 6);
    drain_flush(hand_drain);
    hand_sync(0, 6, 6);
    drain_round(hand_drain);
    settle();
    cut = open_cut_off();
    CHECK_EQUAL(cut->processes[0].bound_segment, 4);
    capture_close(cut);
    hand_close();
}

TEST(a_ring_that_waits_for_a_name_holds_the_bound)
{
    static const uint64_t frame[] = {UINT64_C(9) << FRAME_CODE_SHIFT};
    struct capture *cut;

    open_one();
    drain_round(hand_drain);
    hand_delta(0, 0, 1, frame);
    hand_alloc(0, 0x100, 1);
    hand_own(1, HAND_NUMBER, HAND_PID + 1);
    hand_sync(1, 2, 6);
    drain_round(hand_drain);
    hand_sync(1, 3, 6);
    drain_round(hand_drain);
    CHECK(hand_drain->readers[0].is_stuck);
    drain_flush(hand_drain);
    hand_await_consumed(1, 2);
    cut = open_cut_off();
    CHECK_EQUAL(cut->processes[0].bound_segment, 0);
    capture_close(cut);
    hand_close();
}

TEST(the_end_of_a_process_ends_its_threads_and_frees_its_rings)
{
    struct pool_process *slot;
    struct process *process;
    struct capture *capture;

    hand_open();
    process = hand_process(3, HAND_NUMBER, HAND_PID);
    slot = &hand_session.pool.processes[3];
    slot->parent_number = 2;
    slot->first_segment = 17;
    slot->started_ns = hand_session.start_ns + 5;
    atomic_store(&slot->counters[COUNTER_WAITS], 12);
    atomic_store(&slot->counters[COUNTER_LOST], 3);
    for (uint32_t ring = 0; ring < 4; ring++) {
        hand_own(ring, HAND_NUMBER, HAND_PID + ring);
        hand_sync(ring, ring + 1, 5);
        hand_alloc(ring, 0x100 * ring, 1);
        atomic_store(&hand_session.pool.rings[ring].lost, 2);
    }
    hand_put(2, hand_head(OP_LIFE, LIFE_EXIT), 3);
    hand_reserve(1, 3);                                             /* torn */
    atomic_store(&hand_session.pool.rings[4].state, RING_CLAIMING); /* killed while it took one */
    hand_session.pool.rings[4].process = HAND_NUMBER;
    process->end = END_UNKNOWN;
    process->ended_ns = hand_session.start_ns + 99;
    process_set_phase(process, PHASE_ENDED); /* before the drain has ever seen it */
    while (process_phase(process) != PHASE_DRAINED)
        drain_round(hand_drain);
    for (uint32_t ring = 0; ring < 5; ring++)
        CHECK_EQUAL(ring_state(ring), RING_FREE);
    CHECK_EQUAL(hand_drain->sink.counts.lost, 4 * 2 + 3);
    capture = hand_close();
    CHECK_EQUAL(capture->process_count, 1);
    CHECK_EQUAL(capture->processes[0].how, PROCESS_BY_FORK);
    CHECK_EQUAL(capture->processes[0].parent_number, 2);
    CHECK_EQUAL(capture->processes[0].first_segment, 17);
    CHECK_EQUAL(capture->processes[0].started_ns, 5);
    CHECK_EQUAL(capture->processes[0].ended_ns, 99);
    CHECK_EQUAL(capture->processes[0].end, END_CODE); /* it said so itself */
    CHECK_EQUAL((uint64_t)capture->processes[0].end_code, 3);
    CHECK_EQUAL(capture->processes[0].counters[COUNTER_WAITS], 12);
    CHECK_EQUAL(capture->threads[0].lost, 2);
    for (uint32_t ring = 0; ring < 4; ring++)
        CHECK(hand_events(capture, ring + 1, events) >= 2);
}

TEST(equal_code_of_two_processes_has_one_number)
{
    static const uint64_t five[] = {UINT64_C(5) << FRAME_CODE_SHIFT},
                          six[] = {UINT64_C(6) << FRAME_CODE_SHIFT};
    struct capture *capture;

    open_one();
    hand_process(1, HAND_NUMBER + 1, HAND_PID + 1);
    hand_own(1, HAND_NUMBER + 1, HAND_PID + 1);
    hand_sync(1, 1, 5);
    hand_code(0, 5, "a.py", "f");
    hand_code(1, 6, "a.py", "f");
    hand_code(1, 5, "b.py", "f");
    hand_delta(0, 0, 1, five);
    hand_delta(1, 0, 1, six);
    hand_alloc(0, 0x100, 1);
    hand_alloc(1, 0x100, 1);
    drain_round(hand_drain);
    capture = hand_close();
    CHECK_EQUAL(capture->code_count, 3);
    CHECK_EQUAL(hand_events(capture, 1, events), 2);
    CHECK_EQUAL(hand_events(capture, 2, events + 2), 2);
    CHECK_EQUAL(events[1].w1, events[3].w1); /* the same stack */
}

TEST(names_stand_before_the_events_that_use_them)
{
    uint64_t frame[1];
    struct capture *cut;

    open_one();
    for (uint32_t i = 1; i <= 3 * PACK_BLOCK_RECORDS; i++) { /* several sections, no flush */
        hand_code(0, i, i % 2 == 0 ? "a.py" : "b.py", "f");
        frame[0] = hand_frame(i, 2 * i);
        hand_delta(0, i > 1, 1, frame);
        hand_alloc(0, 8 * i, 1);
        if (i % 500 == 0) {
            drain_round(hand_drain);
            while (atomic_load(&hand_session.pool.rings[0].cursor) -
                       atomic_load(&hand_session.pool.rings[0].consumed) >
                   RING_SLOT_COUNT / 2)
                usleep(100);
            cut = open_cut_off(); /* checks that every id is in its table */
            capture_close(cut);
        }
    }
    hand_close();
}

TEST(a_python_version_is_taken_up_to_its_first_space)
{
    static const uint8_t blob[] = "\3\15\0\1"
                                  "3.13.0rc2+ (main, Nov 1 2024) [GCC]";
    static const uint8_t strange[] = "\3\10\22\0";
    struct capture *capture;

    open_one();
    hand_process(1, HAND_NUMBER + 1, HAND_PID + 1);
    hand_own(1, HAND_NUMBER + 1, HAND_PID + 1);
    hand_chunk(0, BLOB_FIRST | BLOB_LAST, 1, BLOB_PYTHON, sizeof(blob) - 1, blob, sizeof(blob) - 1);
    hand_chunk(1, BLOB_FIRST | BLOB_LAST, 1, BLOB_PYTHON, 4, strange, 4);
    drain_round(hand_drain);
    capture = hand_close();
    CHECK_TEXT(capture->processes[0].python_version, "3.13.0rc2+");
    CHECK(capture->processes[0].is_free_threaded);
    CHECK_TEXT(capture->processes[1].python_version, "3.8.18");
    CHECK(!capture->processes[1].is_free_threaded);
}
