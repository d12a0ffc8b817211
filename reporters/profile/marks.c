/*
 * What programs said, in its place among the events. Runs in the tools.
 */
#include "profile/marks.h"

#include "base/memory.h"
#include "memtrack/protocol.h"

#include <stdlib.h>

enum {
    KEY_PROCESS_SHIFT = 32,
};

static uint64_t key_of(const struct event *event)
{
    return LIVE_KEY | (uint64_t)event->process_index << KEY_PROCESS_SHIFT |
           (event->bytes & UINT32_MAX);
}

/* A phase begins or ends: a new piece of time. */
static void cut(struct marks *marks, struct ledger *ledger)
{
    struct marks_high high = {marks->piece++, ledger->high_bytes};

    ledger->high_bytes = ledger->heap.bytes;
    if (marks->open.count == 0) {
        marks->high_count = 0; /* nobody will ask for what was */
        return;
    }
    while (marks->high_count > 0 && marks->highs[marks->high_count - 1].bytes <= high.bytes)
        marks->high_count--;
    marks->highs = memory_grow(marks->highs, &marks->high_capacity, marks->high_count + 1,
                               sizeof(*marks->highs));
    marks->highs[marks->high_count++] = high;
}

/* The highest heap from a piece on; the one that time is in has been cut. */
static uint64_t highest_from(const struct marks *marks, uint64_t piece)
{
    size_t low = 0, end = marks->high_count;

    while (low < end) {
        size_t middle = low + (end - low) / 2;

        if (marks->highs[middle].piece < piece)
            low = middle + 1;
        else
            end = middle;
    }
    return low < marks->high_count ? marks->highs[low].bytes : 0;
}

/* The phase's last piece has been cut. */
static void close_phase(struct marks *marks, uint64_t to_ns, size_t index)
{
    struct profile_phase *phase = &marks->phases[index];

    phase->to_ns = to_ns;
    phase->peak_bytes = highest_from(marks, marks->first_pieces[index]);
}

static void begin_phase(struct marks *marks, struct ledger *ledger, const struct event *event)
{
    struct live_block *open;
    bool is_new;

    cut(marks, ledger);
    marks->phases = memory_grow(marks->phases, &marks->phase_capacity, marks->phase_count + 1,
                                sizeof(*marks->phases));
    marks->first_pieces = memory_grow(marks->first_pieces, &marks->first_capacity,
                                      marks->phase_count + 1, sizeof(*marks->first_pieces));
    marks->phases[marks->phase_count] = (struct profile_phase){
        .name = capture_mark_name(ledger->capture, event->address),
        .from_ns = ledger->now_ns,
        .process_index = event->process_index,
        .stream = event->stream,
        .name_number = event->address,
    };
    marks->first_pieces[marks->phase_count] = marks->piece;
    /* A number that is given twice is not right: the earlier one is over. */
    open = live_blocks_put(&marks->open, key_of(event), &is_new);
    if (!is_new)
        close_phase(marks, ledger->now_ns, open->block.bytes);
    open->block = (struct block){.bytes = marks->phase_count++};
}

static void end_phase(struct marks *marks, struct ledger *ledger, const struct event *event)
{
    struct live_block *open = live_blocks_find(&marks->open, key_of(event));
    size_t index;

    if (open == NULL) /* begun before recording, or by the process that forked this one */
        return;
    cut(marks, ledger);
    index = open->block.bytes;
    live_blocks_remove(&marks->open, open);
    close_phase(marks, ledger->now_ns, index);
    marks->phases[index].has_ended = true;
}

void marks_take(struct marks *marks, struct ledger *ledger, const struct event *event)
{
    if (event->mark == MARK_PHASE_BEGIN) {
        begin_phase(marks, ledger, event);
    } else if (event->mark == MARK_PHASE_END) {
        end_phase(marks, ledger, event);
    } else if (event->mark == MARK_INSTANT) {
        marks->marks = memory_grow(marks->marks, &marks->mark_capacity, marks->mark_count + 1,
                                   sizeof(*marks->marks));
        marks->marks[marks->mark_count++] = (struct profile_mark){
            .name = capture_mark_name(ledger->capture, event->address),
            .time_ns = ledger->now_ns,
            .process_index = event->process_index,
            .stream = event->stream,
            .name_number = event->address,
        };
    }
}

/* Close what is open, of a process or, with UINT32_MAX, of all. */
static void close_open(struct marks *marks, struct ledger *ledger, uint32_t process_index,
                       uint64_t to_ns)
{
    bool is_cut = false;

    for (size_t i = 0; marks->open.count > 0 && i < marks->open.slot_count;) {
        struct live_block *open = &marks->open.slots[i];
        size_t index = open->block.bytes;

        if (open->key == 0 ||
            (process_index != UINT32_MAX && marks->phases[index].process_index != process_index)) {
            i++;
            continue;
        }
        if (!is_cut)
            cut(marks, ledger);
        is_cut = true;
        close_phase(marks, to_ns, index);
        live_blocks_remove(&marks->open, open); /* and another may stand there now */
    }
}

void marks_end_process(struct marks *marks, struct ledger *ledger, uint32_t process_index)
{
    close_open(marks, ledger, process_index, ledger->now_ns);
}

/* Is a mark from outside for the process that is wanted? */
static bool is_wanted(const struct capture *capture, const struct capture_mark *mark,
                      uint32_t process_number)
{
    return process_number == 0 ||
           (mark->process_index != UINT32_MAX &&
            capture->processes[mark->process_index].number == process_number);
}

/* Return our marks and those from outside, which are in time order as ours are. */
static struct profile_mark *merge_outside(const struct marks *marks, const struct capture *capture,
                                          uint32_t process_number, size_t *ret_count)
{
    size_t count = marks->mark_count, at = 0, end = 0;
    struct profile_mark *merged = memory_allocate(count + capture->mark_count, sizeof(*merged));

    for (uint32_t i = 0; i < capture->mark_count; i++) {
        const struct capture_mark *mark = &capture->marks[i];

        if (!is_wanted(capture, mark, process_number))
            continue;
        while (at < count && marks->marks[at].time_ns <= mark->time_ns)
            merged[end++] = marks->marks[at++];
        merged[end++] =
            (struct profile_mark){mark->name, mark->time_ns, mark->process_index, UINT32_MAX, i};
    }
    while (at < count)
        merged[end++] = marks->marks[at++];
    *ret_count = end;
    return merged;
}

void marks_end(struct marks *marks, struct ledger *ledger, uint32_t process_number, uint64_t end_ns)
{
    size_t count;
    struct profile_mark *merged = merge_outside(marks, ledger->capture, process_number, &count);

    free(marks->marks);
    marks->marks = merged;
    marks->mark_count = marks->mark_capacity = count;
    close_open(marks, ledger, UINT32_MAX, end_ns);
}

struct marks marks_so_far(struct marks *marks, struct ledger *ledger)
{
    struct marks so_far = {.phase_count = marks->phase_count};

    so_far.marks = merge_outside(marks, ledger->capture, 0, &so_far.mark_count);
    so_far.phases = memory_copy(marks->phases, marks->phase_count, sizeof(*so_far.phases));
    if (marks->open.count > 0)
        cut(marks, ledger);
    for (size_t i = 0; i < marks->open.slot_count; i++) {
        size_t index = marks->open.slots[i].block.bytes;

        if (marks->open.slots[i].key == 0)
            continue;
        so_far.phases[index].to_ns = ledger->now_ns;
        so_far.phases[index].peak_bytes = highest_from(marks, marks->first_pieces[index]);
    }
    return so_far;
}

void marks_finish(struct marks *marks)
{
    free(marks->marks);
    free(marks->phases);
    free(marks->first_pieces);
    free(marks->highs);
    live_blocks_finish(&marks->open);
    *marks = (struct marks){0};
}
