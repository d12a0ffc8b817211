/*
 * Warnings. Runs in the tools. Everything that makes a report less than the truth has one sentence
 * here; a capture that is whole has none.
 */
#include "report/health.h"

#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "print/numbers.h"
#include "report/labels.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct collection {
    struct health health;
    struct memory_pool *pool;
};

static __attribute__((format(printf, 2, 3))) void warn(struct collection *collection,
                                                       const char *format, ...)
{
    char text[ERROR_TEXT_BYTES + 128];
    va_list arguments;

    if (collection->health.count == HEALTH_MAX_WARNINGS)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    collection->health.warnings[collection->health.count++] =
        memory_pool_copy(collection->pool, text, strlen(text));
}

/* Warn of a count that should be 0. */
static void warn_of_count(struct collection *collection, const char *what, uint64_t count)
{
    if (count > 0)
        warn(collection, "%s: %s", what, numbers_format_count(count).text);
}

static void warn_of_state(struct collection *collection, const struct capture *capture,
                          const struct profile *profile)
{
    /* What an aggregated capture knows of its events ends before the last instant that it knows of. */
    bool is_stored = capture->is_aggregated && profile != NULL;
    struct units_text end = units_format_time(is_stored ? profile->end_ns : capture->ended_ns, 0);

    if (capture->state == CAPTURE_RUNNING)
        warn(collection, "the program is still running: this is what happened until %s", end.text);
    if (capture->state == CAPTURE_TRUNCATED)
        warn(collection,
             "the capture is truncated, its collector was ended: it is complete until %s",
             end.text);
    if (capture->summary.is_present && capture->summary.reason[0] != '\0')
        warn(collection, "the capture ended early: %s", capture->summary.reason);
    /* Of a truncated one that ends well the first sentence has said it. */
    if (capture->damage.is_damaged &&
        !(capture->state == CAPTURE_TRUNCATED && capture->damage.offset == capture->file_bytes))
        warn(collection, "%s", capture->damage.error.text);
}

static void warn_of_processes(struct collection *collection, const struct capture *capture)
{
    uint64_t untracked = 0, refused = 0, names = 0, walks = 0, unheard = 0;

    for (uint32_t i = 0; i < capture->process_count; i++) {
        const struct capture_process *process = &capture->processes[i];

        untracked += !process->is_tracked;
        refused += process->counters[COUNTER_PYTHON_REFUSED];
        names += process->counters[COUNTER_NAMES_LOST];
        walks += process->counters[COUNTER_WALKS_FAILED];
        unheard += process->counters[COUNTER_UNHEARD];
    }
    warn_of_count(collection, "processes that could not be tracked (see stats)", untracked);
    warn_of_count(collection, "Python interpreters of an unknown version, without stacks", refused);
    warn_of_count(collection, "functions without a name", names);
    warn_of_count(collection, "stacks that could not be read", walks);
    warn_of_count(collection, "requests of the program that were not heard", unheard);
}

/* Of what was not recorded because it was not to be. */
static void warn_of_silence(struct collection *collection, const struct capture *capture)
{
    uint64_t paused_ns = 0, pauses = 0;
    bool has_begun = capture->state_count == 0;

    for (uint32_t i = 0; i < capture->state_count; i++) {
        const struct capture_state_change *change = &capture->states[i];
        bool is_last = i + 1 == capture->state_count;
        uint64_t until_ns = is_last ? capture->ended_ns : change[1].time_ns;

        if (i == 1 && change[-1].cause == CAUSE_LAST)
            warn(collection,
                 "this is the last part, from %s on: what was live then is shown as allocated then",
                 units_format_time(change->time_ns, 0).text);
        else if (change->state == POOL_RECORDING && !has_begun && change->time_ns > 0)
            warn(collection,
                 "recording began after %s: what was allocated before is not in this report",
                 units_format_time(change->time_ns, 0).text);
        if (change->state == POOL_ENDED)
            warn(collection, "recording ended after %s, %sthe program went on",
                 units_format_time(change->time_ns, 0).text,
                 change->cause == CAUSE_MAX_FILE ? "as the capture had become too large; " : "");
        if (change->state == POOL_PAUSED) {
            pauses++;
            paused_ns += until_ns - change->time_ns;
        }
        has_begun |= change->state != POOL_DORMANT;
    }
    if (!has_begun)
        warn(collection, "recording was never begun");
    if (pauses > 0)
        warn(collection,
             "recording was paused %s time%s, for %s: what was released in it is shown as live",
             numbers_format_count(pauses).text, numbers_plural(pauses),
             units_format_time(paused_ns, 0).text);
}

static void warn_of_events(struct collection *collection, const struct capture *capture,
                           const struct profile *profile)
{
    const struct profile_totals *totals = &profile->totals;

    if (profile->damage.is_damaged)
        warn(collection, "%s", profile->damage.error.text);
    warn_of_count(collection, "events lost", totals->lost_events);
    warn_of_count(collection, "allocations of an address that was in use (order violations)",
                  totals->order_violations);
    warn_of_count(collection, "releases of blocks that were not seen being allocated",
                  totals->unknown_frees);
    warn_of_count(collection, "news of processes that came too late to be told in their place",
                  totals->late_news);
    warn_of_count(collection, "records damaged by writes of the program", capture->summary.faults);
}

struct health health_collect(const struct capture *capture, const struct profile *profile,
                             struct memory_pool *pool)
{
    struct collection collection = {.pool = pool};

    warn_of_state(&collection, capture, profile);
    warn_of_silence(&collection, capture);
    warn_of_processes(&collection, capture);
    if (profile != NULL)
        warn_of_events(&collection, capture, profile);
    return collection.health;
}
