/*
 * Tables of a capture that is cut. Runs in the tools.
 *
 * What holds: no record is of an instant before the cut; what was in force there is said of the cut.
 */
#include "capture/cut_tables.h"

#include "base/memory.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "memtrack/varint.h"

#include <stdlib.h>
#include <string.h>

enum {
    TICKS_OF_RECORD = 4096,
    HEAD_BYTES = 2 * VARINT_MAX_BYTES, /* of a record: kind and length */
};

struct putting {
    const struct capture *capture;
    uint64_t time_ns;
    bool (*put)(void *user, const uint8_t *bytes, size_t size_bytes);
    void *user;
    size_t body_bytes;
    uint8_t bytes[HEAD_BYTES + TICKS_OF_RECORD * VARINT_MAX_BYTES];
};

static void add(struct putting *putting, uint64_t value)
{
    putting->body_bytes += varint_encode(value, putting->bytes + HEAD_BYTES + putting->body_bytes);
}

/* The body is complete: put its head before it. */
static bool end_record(struct putting *putting, enum record_kind kind)
{
    uint8_t head[HEAD_BYTES];
    size_t head_bytes = varint_encode(kind, head);
    uint8_t *begin;
    size_t size_bytes;

    head_bytes += varint_encode(putting->body_bytes, head + head_bytes);
    begin = putting->bytes + HEAD_BYTES - head_bytes;
    memcpy(begin, head, head_bytes);
    size_bytes = head_bytes + putting->body_bytes;
    putting->body_bytes = 0;
    return putting->put(putting->user, begin, size_bytes);
}

bool cut_tables_has(uint64_t kind, struct cursor body, uint64_t time_ns)
{
    uint64_t at_ns, other;

    switch (kind) {
    case RECORD_TICKS:
    case RECORD_STATE:
        return true;
    case RECORD_MARK:
        return cursor_varint(&body, &at_ns) && at_ns < time_ns;
    case RECORD_RSS:
        return cursor_varint(&body, &other) && cursor_varint(&body, &at_ns) && at_ns < time_ns;
    case RECORD_USE:
        return cursor_varint(&body, &other) && cursor_varint(&body, &other) &&
               cursor_varint(&body, &at_ns) && at_ns < time_ns;
    default:
        return false;
    }
}

/* The tick in force at the cut, and all behind it. A record has ticks that follow each other. */
static bool put_ticks(struct putting *putting)
{
    const struct capture_tick *ticks = putting->capture->ticks;
    uint32_t count = putting->capture->tick_count, at = 0, end;

    while (at + 1 < count && ticks[at + 1].time_ns <= putting->time_ns)
        at++;
    for (; at < count; at = end) {
        for (end = at + 1; end < count && end - at < TICKS_OF_RECORD - 2 &&
                           ticks[end].tick == ticks[end - 1].tick + 1;)
            end++;
        add(putting, ticks[at].tick);
        add(putting, end - at);
        add(putting, ticks[at].time_ns);
        for (uint32_t i = at + 1; i < end; i++)
            add(putting, ticks[i].time_ns - ticks[i - 1].time_ns);
        if (!end_record(putting, RECORD_TICKS))
            return false;
    }
    return true;
}

static bool put_state(struct putting *putting, uint64_t time_ns, uint8_t state, uint8_t cause)
{
    add(putting, time_ns);
    add(putting, state);
    add(putting, cause);
    return end_record(putting, RECORD_STATE);
}

/* Before the cut nothing is recorded; at it what was in force begins. */
static bool put_states(struct putting *putting)
{
    const struct capture *capture = putting->capture;
    uint8_t state = POOL_RECORDING, cause = CAUSE_LAST;
    uint32_t next = 0;

    for (; next < capture->state_count && capture->states[next].time_ns <= putting->time_ns;
         next++) {
        state = capture->states[next].state;
        cause = capture->states[next].cause;
    }
    if (!put_state(putting, 0, POOL_DORMANT, CAUSE_LAST) ||
        !put_state(putting, putting->time_ns, state, cause))
        return false;
    for (; next < capture->state_count; next++)
        if (!put_state(putting, capture->states[next].time_ns, capture->states[next].state,
                       capture->states[next].cause))
            return false;
    return true;
}

/* Of each process the last before the cut. */
static bool put_resident(struct putting *putting)
{
    const struct capture *capture = putting->capture;
    bool *is_said = memory_allocate(capture->process_count, sizeof(*is_said));
    bool is_put = true;

    for (uint32_t i = capture->rss_count; i-- > 0 && is_put;) {
        const struct capture_rss *rss = &capture->rss[i];

        if (rss->time_ns >= putting->time_ns || is_said[rss->process_index])
            continue;
        is_said[rss->process_index] = true;
        add(putting, capture->processes[rss->process_index].number);
        add(putting, putting->time_ns);
        add(putting, rss->resident_bytes);
        add(putting, rss->huge_bytes);
        is_put = end_record(putting, RECORD_RSS);
    }
    free(is_said);
    return is_put;
}

/* The number that the file has for the owner of a use. */
static uint64_t owner_number(const struct capture *capture, const struct capture_use *use)
{
    return use->kind == USE_CGROUP ? use->owner + UINT64_C(1)
                                   : capture->processes[use->owner].number;
}

/* Likewise of each owner and kind. */
static bool put_uses(struct putting *putting)
{
    const struct capture *capture = putting->capture;
    size_t owner_count = (size_t)capture->process_count + capture->cgroup_count;
    bool *is_said = memory_allocate(owner_count, (size_t)UINT8_MAX + 1);
    bool is_put = true;

    for (uint32_t i = capture->use_count; i-- > 0 && is_put;) {
        const struct capture_use *use = &capture->uses[i];
        bool *is_this_said = &is_said[use->owner * ((size_t)UINT8_MAX + 1) + use->kind];

        if (use->time_ns >= putting->time_ns || *is_this_said)
            continue;
        *is_this_said = true;
        add(putting, use->kind);
        add(putting, owner_number(capture, use));
        add(putting, putting->time_ns);
        add(putting, use->bytes);
        is_put = end_record(putting, RECORD_USE);
    }
    free(is_said);
    return is_put;
}

bool cut_tables_put(const struct capture *capture, uint64_t time_ns,
                    bool (*put)(void *user, const uint8_t *bytes, size_t size_bytes), void *user)
{
    struct putting *putting = memory_allocate(1, sizeof(*putting));
    bool is_put;

    putting->capture = capture;
    putting->time_ns = time_ns;
    putting->put = put;
    putting->user = user;
    is_put =
        put_ticks(putting) && put_states(putting) && put_resident(putting) && put_uses(putting);
    free(putting);
    return is_put;
}
