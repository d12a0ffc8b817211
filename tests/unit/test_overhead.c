/*
 * How much of the programs' time recording takes.
 */
#include "collect/overhead.h"

#include "collect/processes.h"
#include "test.h"

#define MS UINT64_C(1000000)

static struct overhead_sums sums_of(uint64_t own_ms, uint64_t recording_ms)
{
    return (struct overhead_sums){.own_ns = own_ms * MS, .recording_ns = recording_ms * MS};
}

TEST(a_part_is_one_of_the_programs_own_time)
{
    static const struct {
        uint64_t own_ms, recording_ms, most_ppm;
        bool exceeds;
    } rows[] = {
        {1000, 49, 50000, false},
        {1000, 50, 50000, false},
        {1000, 51, 50000, true},
        {1000, 999, 1000000, false},
        {1000, 1001, 1000000, true},
        {10, 0, 1000, false},
        {10, 1, 1000, true},
        {0, 1, 1000000, true},
        {0, 0, 1000, false},
        /* A year of a thousand processors. */
        {UINT64_C(31536000000000), UINT64_C(31536000000), 1000, false},
        {UINT64_C(31536000000000), UINT64_C(31536000001), 1000, true},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct overhead_sums sums = {.own_ns = rows[i].own_ms * 1000,
                                     .recording_ns = rows[i].recording_ms * 1000};

        test_case("row %zu", i);
        /* In microseconds where the time would not fit in nanoseconds. */
        if (rows[i].own_ms < UINT64_C(1000000000))
            sums = sums_of(rows[i].own_ms, rows[i].recording_ms);
        CHECK_EQUAL(overhead_exceeds(&sums, rows[i].most_ppm), rows[i].exceeds);
    }
}

TEST(a_coarser_sample_helps_where_blocks_are_a_quarter)
{
    struct overhead_sums sums = sums_of(100, 40);

    sums.blocks_ns = 10 * MS;
    CHECK(overhead_is_of_blocks(&sums));
    sums.blocks_ns--;
    CHECK(!overhead_is_of_blocks(&sums));
}

TEST(what_falls_has_not_grown)
{
    struct overhead_sums before = sums_of(10, 5), after = sums_of(25, 7), sums;

    sums = overhead_between(&before, &after);
    CHECK_EQUAL(sums.own_ns, 15 * MS);
    CHECK_EQUAL(sums.recording_ns, 2 * MS);
    sums = overhead_between(&after, &before);
    CHECK_EQUAL(sums.own_ns, 0);
    CHECK_EQUAL(sums.recording_ns, 0);
}

static void make_session(struct session *session)
{
    static const uint8_t zeros[16] = {0};
    struct pool_settings settings = {.uuid = zeros,
                                     .token = zeros,
                                     .capture_path = "/x",
                                     .state = POOL_RECORDING,
                                     .ring_count = 8};

    CHECK(pool_init(&session->pool, &settings, NULL));
    processes_init(session);
}

/* This process stands for a program. */
TEST(slots_are_taken_for_so_much_and_more_in_a_sample)
{
    struct session session = {.main_fd = -1};
    struct overhead overhead = {0};
    struct overhead_sums first, second, third;
    uint64_t all_ns = UINT64_MAX; /* nothing of this process is the collector's */

    make_session(&session);
    session.processes[0].pid = (uint32_t)getpid();
    session.processes[0].number = 1;
    process_set_phase(&session.processes[0], PHASE_LIVE);
    session_use_slot(&session, 0);
    first = overhead_look(&overhead, &session, all_ns, false);
    CHECK(first.own_ns > 0);
    CHECK_EQUAL(first.recording_ns, 0);
    session.pool.rings[0].cursor = 700;
    session.pool.rings[1].cursor = 300;
    session.pool.processes[0].counters[COUNTER_SLOW_NS] = 12345;
    second = overhead_look(&overhead, &session, all_ns, false);
    CHECK_EQUAL(second.recording_ns, 1000 * OVERHEAD_SLOT_NS + 12345);
    CHECK_EQUAL(second.blocks_ns, 1000 * (OVERHEAD_SLOT_NS + OVERHEAD_COLLECT_NS));
    session.pool.rings[1].cursor = 400;
    third = overhead_look(&overhead, &session, all_ns, true);
    CHECK_EQUAL(third.recording_ns - second.recording_ns, 100 * OVERHEAD_PICK_NS);
    /* Another process in its place, which has used its slow paths too. */
    session.processes[0].number = 2;
    session.pool.processes[0].counters[COUNTER_SLOW_NS] = 5;
    third = overhead_look(&overhead, &session, all_ns, true);
    CHECK_EQUAL(third.recording_ns - second.recording_ns, 100 * OVERHEAD_PICK_NS + 5);
    overhead_finish(&overhead);
    processes_finish(&session);
    pool_finish(&session.pool);
}
