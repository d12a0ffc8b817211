/*
 * Ticks. A thread of its own, so that a round of the drain that takes long does not stretch them.
 *
 * A tick ends each millisecond while anything is recorded. A process that has recorded since the
 * last tick finds its epoch changed, and its next event takes the tick that is then in force. While
 * nothing is recorded ticks grow longer, so the time of the next event is known to a quarter of the
 * silence before it. Ticks are noted only once it turns out that something was recorded in them: of
 * many rings that is known some milliseconds later, so the last few are kept.
 */
#include "collect/clock.h"

#include "base/memory.h"
#include "collect/activity.h"
#include "collect/limits.h"
#include "collect/proc_files.h"
#include "collect/records.h"
#include "collect/rss.h"
#include "collect/snapshot.h"
#include "memtrack/format.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    TICK_NS = TICK_PERIOD_US * 1000,
    LONGEST_TICK_NS = 20000000,
    QUIET_SHARE = 4, /* a tick is at most 1 / so much of the silence before it */
    HAND_OVER_NS = 45000000,
    KEPT_TICKS = 64,           /* not noted yet; longer than the drain's poll */
    MAX_NOTED_TICKS = 1 << 12, /* in a record */
};

struct tick_time {
    uint32_t tick;
    uint64_t ns; /* since the start */
};

struct clock {
    struct session *session;
    pthread_t thread;
    _Atomic bool is_stopping;
    struct activity activity;
    struct tick_time kept[KEPT_TICKS];
    uint32_t kept_count;
    struct tick_time noted[MAX_NOTED_TICKS]; /* for the next record, numbers without a gap */
    uint32_t noted_count;
    struct records records;
    struct rss rss;
    struct limits limits;
    uint64_t recorded_ns;    /* last tick in which anything was recorded */
    uint64_t handed_over_ns; /* last time records were handed over */
};

static void write_noted(struct clock *clock)
{
    if (clock->noted_count == 0)
        return;
    records_begin(&clock->records, RECORD_TICKS);
    records_number(&clock->records, clock->noted[0].tick);
    records_number(&clock->records, clock->noted_count);
    records_number(&clock->records, clock->noted[0].ns);
    for (uint32_t i = 1; i < clock->noted_count; i++)
        records_number(&clock->records, clock->noted[i].ns - clock->noted[i - 1].ns);
    records_end(&clock->records);
    clock->noted_count = 0;
}

static void note(struct clock *clock, const struct tick_time *time)
{
    uint32_t count = clock->noted_count;

    if (count == MAX_NOTED_TICKS || (count > 0 && clock->noted[count - 1].tick + 1 != time->tick))
        write_noted(clock);
    clock->noted[clock->noted_count++] = *time;
}

static void keep(struct clock *clock, const struct tick_time *time)
{
    if (clock->kept_count == KEPT_TICKS) {
        clock->kept_count--;
        memmove(clock->kept, clock->kept + 1, clock->kept_count * sizeof(clock->kept[0]));
    }
    clock->kept[clock->kept_count++] = *time;
}

static void note_kept(struct clock *clock)
{
    for (uint32_t i = 0; i < clock->kept_count; i++)
        note(clock, &clock->kept[i]);
    clock->kept_count = 0;
}

/* Let those who have recorded since the last tick look at this one. True when there are any. */
static bool bump_epochs(struct clock *clock)
{
    struct session *session = clock->session;
    bool has_recorded = false;

    activity_look(&clock->activity, session);
    for (uint32_t i = 0; i < session_process_limit(session); i++) {
        if (!clock->activity.has_recorded[i])
            continue;
        pool_bump_epoch(&session->pool.processes[i]);
        has_recorded = true;
    }
    return has_recorded;
}

static void tick(struct clock *clock, uint64_t now_ns)
{
    struct session *session = clock->session;
    uint32_t number = atomic_load_explicit(&session->tick, memory_order_relaxed) + 1;
    struct tick_time time = {number, now_ns - session->start_ns};

    /* Ours first: a SYNC with a tick that we do not know yet would be taken for a forgery. */
    atomic_store_explicit(&session->tick, number, memory_order_release);
    atomic_store_explicit(&session->pool.header->tick, number, memory_order_release);
    keep(clock, &time);
    if (bump_epochs(clock)) {
        clock->recorded_ns = now_ns;
        note_kept(clock);
    }
}

static void hand_over(struct clock *clock, uint64_t now_ns)
{
    /* Who tells the model while the programs run has to know that time goes on when they are silent. */
    if (clock->session->aggregate != NULL)
        note_kept(clock);
    write_noted(clock);
    pack_put_records(clock->session->pack, clock->records.bytes, clock->records.size_bytes,
                     clock->records.count);
    records_clear(&clock->records);
    clock->handed_over_ns = now_ns;
}

/* ... or until somebody rings. heard: the bell, before it was looked at what it may be rung for. */
static void sleep_until(struct clock *clock, uint64_t ns, uint32_t heard)
{
    struct timespec until = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

    syscall(SYS_futex, &clock->session->clock_bell, FUTEX_WAIT_BITSET, heard, &until, NULL,
            FUTEX_BITSET_MATCH_ANY);
}

/* What is in a snapshot has its time in it too. */
static void serve_snapshots(struct clock *clock)
{
    if (!snapshots_want_clock(clock->session->snapshots))
        return;
    note_kept(clock);
    hand_over(clock, session_now_ns());
    snapshots_pass_clock(clock->session->snapshots);
}

/* Ticks grow longer while nothing is recorded: each wake costs, also a program that sleeps. */
static uint64_t tick_length(uint64_t quiet_ns)
{
    uint64_t length_ns = quiet_ns / QUIET_SHARE;

    if (length_ns < TICK_NS)
        return TICK_NS;
    return length_ns < LONGEST_TICK_NS ? length_ns : LONGEST_TICK_NS;
}

/* Tell the main thread of more memory than somebody has set a size for. */
static void watch_resident(struct clock *clock)
{
    struct session *session = clock->session;
    /* Relaxed, all: numbers that say only themselves. */
    uint64_t watched = atomic_load_explicit(&session->watched_bytes, memory_order_relaxed);
    uint64_t total_bytes;

    clock->rss.is_watched = watched != UINT64_MAX;
    if (!clock->rss.is_watched)
        return;
    total_bytes = rss_total_bytes(&clock->rss, session);
    if (total_bytes <= watched)
        return;
    if (total_bytes > atomic_load_explicit(&session->exceeding_bytes, memory_order_relaxed))
        atomic_store_explicit(&session->exceeding_bytes, total_bytes, memory_order_relaxed);
    session_wake_main(session);
}

static void pass_tick(struct clock *clock, uint64_t now_ns)
{
    tick(clock, now_ns);
    limits_look(&clock->limits, clock->session, &clock->records, now_ns);
    rss_sample(&clock->rss, clock->session, &clock->records, now_ns);
    watch_resident(clock);
    if (now_ns - clock->handed_over_ns >= HAND_OVER_NS)
        hand_over(clock, now_ns);
}

static void *clock_run(void *argument)
{
    struct clock *clock = argument;
    uint64_t next_ns = session_now_ns();

    (void)prctl(PR_SET_NAME, "memtrack-clock"); /* for who looks at it; no matter if not */
    while (!atomic_load_explicit(&clock->is_stopping, memory_order_acquire)) {
        uint32_t heard = atomic_load(&clock->session->clock_bell);
        uint64_t now_ns = session_now_ns();

        if (now_ns >= next_ns) {
            pass_tick(clock, now_ns);
            next_ns += tick_length(now_ns - clock->recorded_ns);
            if (next_ns < now_ns) /* we were kept from running: there is nothing to catch up */
                next_ns = now_ns + TICK_NS;
        }
        serve_snapshots(clock);
        /* After the bell: whoever stops us has said so before it rang. */
        if (!atomic_load(&clock->is_stopping))
            sleep_until(clock, next_ns, heard);
    }
    bump_epochs(clock);
    note_kept(clock);
    hand_over(clock, session_now_ns());
    serve_snapshots(clock);
    return NULL;
}

static void find_limits(struct clock *clock)
{
    char *mountinfo = proc_mountinfo();

    limits_init(&clock->limits, mountinfo);
    clock->rss.limits = &clock->limits;
    free(mountinfo);
}

struct clock *clock_start(struct session *session, struct error *err)
{
    struct clock *clock = memory_allocate(1, sizeof(*clock));
    int status;

    clock->session = session;
    clock->recorded_ns = clock->handed_over_ns = session_now_ns();
    rss_init(&clock->rss);
    find_limits(clock);
    status = pthread_create(&clock->thread, NULL, clock_run, clock);
    if (status == 0)
        return clock;
    error_set(err, "the collector cannot start a thread: %s", strerror(status));
    limits_finish(&clock->limits);
    free(clock);
    return NULL;
}

void session_ring_clock(struct session *session)
{
    atomic_fetch_add(&session->clock_bell, 1);
    pool_wake(&session->clock_bell, 1);
}

void clock_stop(struct clock *clock)
{
    if (clock == NULL)
        return;
    atomic_store(&clock->is_stopping, true);
    session_ring_clock(clock->session);
    pthread_join(clock->thread, NULL);
    rss_finish(&clock->rss);
    limits_finish(&clock->limits);
    records_finish(&clock->records);
    free(clock);
}
