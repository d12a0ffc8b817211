/*
 * The model, kept while the capture is written. Runs in the collector's model thread, at the end in its
 * main thread.
 *
 * What holds: what has been told is what a reader of the finished capture would tell first. What
 * processes do is ordered by ticks, and news of them (a child, an end) come a while after the
 * instant that they are of, so nothing is told of the latest LAG_NS. Where news come later still,
 * the parts say so (capture_merge_extend(), replay_extend()), and all is begun again from the
 * file's first section with twice the lag, or given up when that would be too much work.
 */
#include "profile/online.h"

#include "base/memory.h"
#include "capture/follow.h"
#include "capture/merge.h"
#include "profile/build.h"

#include <stdlib.h>

#define LAG_NS    UINT64_C(100000000)
#define FORGET_NS UINT64_C(2000000000) /* beyond the longest lifetime that is told from others */

enum {
    BATCH_EVENTS = 512,
    OWNER_BYTES = 512,      /* about what all tables have for a thread or a process */
    FIRST_LAGS = 2,         /* times LAG_NS, where nothing can be told again, */
    MOST_LAGS = 8,          /* ... and at most */
    MOST_IN_VAIN = 8 << 20, /* events that may be told once more, in all: a fifth of a second */
};

struct online {
    int fd;
    char *file;
    uint64_t most_bytes;
    bool is_once;
    capture_follow_records *take_records;
    void *user;
    struct profile_options options;
    struct capture *capture;
    struct capture_merge *merge;
    struct ledger *ledger;
    struct replay *replay;
    uint64_t lag_ns;
    uint64_t told_count, vain_count; /* events: told; told and forgotten */
    bool is_last, is_given_up;
    bool is_up_to_date; /* all that may be told has been */
    struct event events[BATCH_EVENTS];
};

static void begin(struct online *online)
{
    if (online->is_once)
        online->capture =
            capture_follow_once(online->fd, online->file, online->take_records, online->user);
    else
        online->capture = capture_follow_open(online->fd, online->file);
    online->merge = capture_merge_follow(online->capture);
    online->ledger = memory_allocate(1, sizeof(*online->ledger));
    ledger_init(online->ledger, online->capture, true);
    online->replay = replay_open(online->capture, &online->options, online->ledger);
    online->told_count = 0;
}

static void end(struct online *online)
{
    replay_close(online->replay);
    if (online->ledger != NULL)
        ledger_finish(online->ledger);
    free(online->ledger);
    capture_merge_close(online->merge);
    capture_close(online->capture);
    online->replay = NULL;
    online->ledger = NULL;
    online->merge = NULL;
    online->capture = NULL;
}

static struct online *create(int fd, const char *file)
{
    struct online *online = memory_allocate(1, sizeof(*online));

    online->fd = fd;
    online->file = memory_copy_text(file);
    online->most_bytes = UINT64_MAX;
    online->options = (struct profile_options){.has_intervals = true, .temporary_threshold = 1};
    online->lag_ns = LAG_NS;
    return online;
}

struct online *online_open(int fd, const char *file, uint64_t most_bytes)
{
    struct online *online = create(fd, file);

    online->most_bytes = most_bytes;
    begin(online);
    return online;
}

struct online *online_open_once(int fd, const char *file, capture_follow_records *take_records,
                                void *user)
{
    struct online *online = create(fd, file);

    online->is_once = true;
    online->lag_ns = FIRST_LAGS * LAG_NS;
    online->take_records = take_records;
    online->user = user;
    begin(online);
    return online;
}

/* There will be no model; what it took is given back at once. */
static bool give_up(struct online *online)
{
    online->is_given_up = true;
    end(online);
    return false;
}

/* The last tick of which there will be no more news. */
static uint32_t limit_tick(const struct online *online)
{
    const struct capture *capture = online->capture;
    uint64_t limit_ns, low = 0, high = capture->tick_count;

    if (online->is_last)
        return UINT32_MAX;
    if (high == 0 || capture->ticks[high - 1].time_ns < online->lag_ns)
        return 0;
    limit_ns = capture->ticks[high - 1].time_ns - online->lag_ns;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (capture->ticks[middle].time_ns <= limit_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? capture->ticks[low - 1].tick : 0;
}

uint64_t online_bytes(const struct online *online)
{
    const struct capture *capture = online->capture;
    uint64_t bytes;

    if (online->is_given_up)
        return 0;
    bytes = replay_block_bytes(online->replay);
    bytes += (uint64_t)capture->tick_count * sizeof(*capture->ticks);
    bytes += (uint64_t)capture->rss_count * sizeof(*capture->rss);
    bytes += (uint64_t)capture->use_count * sizeof(*capture->uses);
    bytes += ((uint64_t)capture->thread_count + capture->process_count) * OWNER_BYTES;
    bytes += online->ledger->intervals.item_count * sizeof(struct profile_interval);
    return bytes;
}

/* What an instant long ago was like is not asked any more: it is as good as for ever. */
static void forget(struct online *online)
{
    if (online->ledger->now_ns > FORGET_NS)
        capture_follow_forget(online->capture, online->ledger->now_ns - FORGET_NS);
}

static uint64_t late_news(const struct online *online)
{
    return online->capture->late_count + online->ledger->totals.late_news;
}

/* Let everybody know what the capture has got. Returns false when it comes too late. */
static bool extend(struct online *online)
{
    uint64_t late_before = late_news(online);
    bool is_in_time;

    forget(online);
    ledger_extend(online->ledger);
    if (online->is_last)
        capture_follow_end(online->capture);
    if (online->is_once) /* who comes late is known there */
        is_in_time = capture_merge_extend(online->merge, online->capture, limit_tick(online)) &&
                     replay_extend(online->replay);
    else
        is_in_time = replay_extend(online->replay) &&
                     capture_merge_extend(online->merge, online->capture, limit_tick(online));
    if (online->is_once && late_news(online) > late_before && online->lag_ns < MOST_LAGS * LAG_NS)
        online->lag_ns *= 2;
    return is_in_time;
}

bool online_follow(struct online *online, uint64_t end_offset)
{
    online->is_up_to_date = false;
    while (!online->is_given_up) {
        if (!capture_follow(online->capture, end_offset) ||
            online_bytes(online) > online->most_bytes)
            return give_up(online);
        if (extend(online))
            return true;
        online->vain_count += online->told_count;
        if (online->told_count == 0 || online->vain_count > MOST_IN_VAIN || online->is_once)
            return give_up(online);
        online->lag_ns *= 2;
        end(online);
        begin(online);
    }
    return false;
}

bool online_last(struct online *online, uint64_t end_offset)
{
    online->is_last = true;
    return online_follow(online, end_offset);
}

uint64_t online_tell(struct online *online, uint64_t most_count)
{
    uint64_t done_count = 0;

    while (!online->is_given_up && done_count < most_count) {
        struct capture_damage damage = {0};
        uint64_t left_count = most_count - done_count;
        uint32_t count = capture_merge_next(
            online->merge, online->events,
            left_count < BATCH_EVENTS ? (uint32_t)left_count : BATCH_EVENTS, &damage);

        if (damage.is_damaged)
            give_up(online);
        online->is_up_to_date = count == 0;
        if (count == 0)
            break;
        replay_events(online->replay, online->events, count);
        done_count += count;
    }
    online->told_count += done_count;
    return done_count;
}

uint64_t online_told(const struct online *online)
{
    return online->told_count;
}

uint64_t online_needed(const struct online *online)
{
    return online->is_given_up ? UINT64_MAX : capture_follow_needed(online->capture);
}

const struct capture *online_capture(const struct online *online)
{
    return online->is_given_up ? NULL : online->capture;
}

uint64_t online_reached_ns(const struct online *online)
{
    if (online->is_given_up)
        return UINT64_MAX;
    if (online->is_up_to_date)
        return capture_tick_time_ns(online->capture, limit_tick(online));
    /* Of the tick that it is in there may be more. */
    return online->ledger->now_ns > 0 ? online->ledger->now_ns - 1 : 0;
}

struct profile *online_so_far(struct online *online)
{
    struct profile *profile;
    uint32_t reached;

    if (online->is_given_up)
        return NULL;
    reached = limit_tick(online);
    if (online->is_up_to_date && !online->is_last && reached > 0)
        replay_reach(online->replay, reached);
    profile = memory_allocate(1, sizeof(*profile));
    profile->capture = online->capture;
    build_so_far(profile, &online->options, online->replay, online->ledger);
    return profile;
}

struct profile *online_finish(struct online *online, uint64_t end_offset)
{
    struct profile *profile;

    if (!online_last(online, end_offset))
        return NULL;
    online_tell(online, UINT64_MAX); /* all of it once more, if it had to be begun again */
    if (online->is_given_up || !replay_is_right(online->replay))
        return NULL;
    profile = memory_allocate(1, sizeof(*profile));
    profile->capture = online->capture;
    build_finish(profile, &online->options, online->replay, online->ledger);
    return profile;
}

void online_limit(struct online *online, uint64_t most_bytes)
{
    online->most_bytes = most_bytes;
}

void online_close(struct online *online)
{
    if (online == NULL)
        return;
    end(online);
    free(online->file);
    free(online);
}
