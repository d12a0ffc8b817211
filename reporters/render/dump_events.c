/*
 * Steps of a dump. Runs in the tools.
 *
 * Events wait in a queue, so that what follows a release in its own stream can be seen before the
 * release is shown. The queue is bounded: where the follower is farther away, the release is shown
 * as what it looks like, and an UNDO by itself.
 */
#include "render/dump_events.h"

#include "base/memory.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "profile/live_blocks.h"

#include <stdlib.h>
#include <string.h>

enum {
    QUEUE_EVENTS = 4096,
    OP_LEFT_OUT = 0, /* an UNDO whose release has been left out */
};

#define NOT_FOUND SIZE_MAX

struct dump_events {
    const struct capture *capture;
    struct capture_merge *merge;
    struct event queue[QUEUE_EVENTS];
    size_t first, end;
    bool has_ended;
    struct live_blocks *blocks; /* of each process */
};

/* Read as many events behind the queue as there is room for; events move to the front for it. */
static void fill(struct dump_events *events, struct capture_damage *ret_damage)
{
    uint32_t count;

    if (events->first > 0) {
        memmove(events->queue, events->queue + events->first,
                (events->end - events->first) * sizeof(events->queue[0]));
        events->end -= events->first;
        events->first = 0;
    }
    if (events->has_ended || events->end == QUEUE_EVENTS)
        return;
    count = capture_merge_next(events->merge, events->queue + events->end,
                               (uint32_t)(QUEUE_EVENTS - events->end), ret_damage);
    events->has_ended = count == 0;
    events->end += count;
}

/* Whether a release is the first half of a realloc or mremap, or may have failed. */
static bool may_have_follower(const struct event *event)
{
    if (event->op == EVENT_UNMAP)
        return true;
    return event->op == EVENT_FREE &&
           (event->allocator == ALLOCATOR_REALLOC || event->allocator == ALLOCATOR_REALLOCARRAY ||
            event->allocator == ALLOCATOR_PYMALLOC + 2 ||
            event->allocator == ALLOCATOR_PYMALLOC + 6 ||
            event->allocator == ALLOCATOR_PYMALLOC + 10);
}

/* Where in the queue the next event of the first one's stream stands. Notes are not looked at. */
static size_t find_in_queue(const struct dump_events *events, size_t from)
{
    uint32_t stream = events->queue[events->first].stream;

    for (size_t i = from; i < events->end; i++) {
        if (events->queue[i].stream == stream && events->queue[i].op != EVENT_NOTE &&
            events->queue[i].op != OP_LEFT_OUT)
            return i;
    }
    return NOT_FOUND;
}

static size_t find_follower(struct dump_events *events, struct capture_damage *ret_damage)
{
    size_t found = find_in_queue(events, events->first + 1), searched;

    while (found == NOT_FOUND && !events->has_ended && events->end - events->first < QUEUE_EVENTS) {
        searched = events->end - events->first;
        fill(events, ret_damage);
        found = find_in_queue(events, events->first + searched);
    }
    return found;
}

static bool is_undo_of(const struct event *undo, const struct event *release)
{
    return undo->op == EVENT_UNDO && undo->address == release->address &&
           undo->domain == release->domain;
}

/*
 * Whether an event is the second half of what a release began. Where blocks were left out, one that
 * follows may be of another realloc.
 */
static bool is_second_half(const struct dump_events *events, const struct event *event,
                           const struct event *release)
{
    uint8_t op = release->op == EVENT_FREE ? EVENT_ALLOC : EVENT_MAP;
    const struct capture_session *session = &events->capture->session;

    if (op == EVENT_ALLOC && (session->min_size > 0 || capture_is_estimate(events->capture)))
        return false;
    return event->op == op && event->domain == release->domain &&
           events->capture->stacks[event->stack].allocator == release->allocator;
}

static uint64_t key_of(const struct event *event)
{
    return LIVE_KEY | (uint64_t)event->domain << EVENT_DOMAIN_SHIFT | event->address;
}

/* Keep the sizes of blocks; the size of the one that a step releases goes into the step. */
static void note_sizes(struct dump_events *events, struct dump_step *step)
{
    const struct event *event = step->event;
    const struct event *release = step->release != NULL ? step->release : event;
    struct live_blocks *blocks = &events->blocks[event->process_index];
    bool is_new;

    if (release->op == EVENT_FREE) {
        struct live_block *block = live_blocks_find(blocks, key_of(release));

        if (block != NULL) {
            step->has_old_bytes = true;
            step->old_bytes = block->block.bytes;
            live_blocks_remove(blocks, block);
        }
    } else if (release->op == EVENT_UNMAP) {
        step->has_old_bytes = true;
        step->old_bytes = release->bytes;
    }
    if (event->op == EVENT_ALLOC)
        live_blocks_put(blocks, key_of(event), &is_new)->block.bytes = event->bytes;
}

struct dump_events *dump_events_open(const struct capture *capture)
{
    struct dump_events *events = memory_allocate(1, sizeof(*events));

    events->capture = capture;
    events->merge = capture_merge_open(capture);
    events->blocks = memory_allocate(capture->process_count, sizeof(events->blocks[0]));
    return events;
}

/* The step that begins with the queue's first event. Returns false when it is left out. */
static bool take_step(struct dump_events *events, struct dump_step *ret_step,
                      struct capture_damage *ret_damage)
{
    struct event *event;
    size_t follower = NOT_FOUND;

    if (may_have_follower(&events->queue[events->first]))
        follower = find_follower(events, ret_damage);
    event = &events->queue[events->first++];
    if (event->op == OP_LEFT_OUT)
        return false;
    *ret_step = (struct dump_step){.event = event};
    if (follower == NOT_FOUND)
        return true;
    if (is_undo_of(&events->queue[follower], event)) {
        events->queue[follower].op = OP_LEFT_OUT;
        return false;
    }
    if (follower == events->first && is_second_half(events, &events->queue[follower], event)) {
        *ret_step = (struct dump_step){.event = &events->queue[events->first++], .release = event};
    }
    return true;
}

bool dump_events_next(struct dump_events *events, struct dump_step *ret_step,
                      struct capture_damage *ret_damage)
{
    for (;;) {
        if (events->first == events->end)
            fill(events, ret_damage);
        if (events->first == events->end)
            return false;
        if (take_step(events, ret_step, ret_damage)) {
            note_sizes(events, ret_step);
            return true;
        }
    }
}

void dump_events_close(struct dump_events *events)
{
    if (events == NULL)
        return;
    for (uint32_t i = 0; i < events->capture->process_count; i++)
        live_blocks_finish(&events->blocks[i]);
    capture_merge_close(events->merge);
    free(events->blocks);
    free(events);
}
