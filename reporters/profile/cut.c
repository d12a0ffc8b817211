/*
 * The last part of a capture. Runs in the tools.
 *
 * The events up to the instant are told to a replay; how far that has come in each process is a
 * segment, and what is left of the events begins behind it. What holds: told to a replay of its own,
 * what is written here makes live what is live in this one, down to releases that still wait for
 * what follows them in their thread.
 */
#include "profile/cut.h"

#include "base/memory.h"
#include "capture/ahead.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "profile/ledger.h"
#include "profile/replay.h"
#include "profile/replay_state.h"

#include <stdlib.h>

/* An event to be told, with what stands before and behind it. */
struct told {
    bool is_late; /* behind all that is live in any thread: by these */
    uint32_t stream, tick, ordinal, order;
    uint64_t w0, w1, bytes;
    uint8_t new_class; /* of a map that was changed */
    bool has_new_class;
};

enum told_order {
    TOLD_PHASE = 0, /* phases, then what is live, then what waits */
    TOLD_LIVE = 1,
    TOLD_WAITING = 2,
};

struct cut {
    const struct capture *capture;
    struct profile_options options;
    struct ledger *ledger;
    struct replay *replay;
    uint64_t *segments;
    uint32_t tick;
    struct told *told;
    size_t told_count, told_capacity;
};

/* Tell the events up to an instant. Returns false with err. */
static bool read_events(struct cut *cut, uint64_t time_ns, struct error *err)
{
    uint32_t last = capture_ticks_until(cut->capture, UINT32_MAX);
    struct capture_ahead *ahead = capture_ahead_open(cut->capture);
    struct capture_damage damage = {0};
    const struct event *events;
    bool is_over = false;
    uint32_t count;

    while (last > 0 && cut->capture->ticks[last - 1].time_ns > time_ns)
        last--;
    cut->tick = last > 0 ? cut->capture->ticks[last - 1].tick : 0;
    while (!is_over && (events = capture_ahead_next(ahead, &count, &damage)) != NULL) {
        uint32_t before = 0;

        while (before < count && (last == cut->capture->tick_count ||
                                  events[before].tick < cut->capture->ticks[last].tick)) {
            cut->segments[events[before].process_index] = events[before].segment;
            before++;
        }
        replay_events(cut->replay, events, before);
        is_over = before < count;
    }
    capture_ahead_close(ahead);
    replay_end_processes(cut->replay, time_ns + 1);
    if (damage.is_damaged)
        *err = damage.error;
    return !damage.is_damaged;
}

static struct told *add(struct cut *cut, uint32_t stream, enum told_order order)
{
    struct told *told;

    cut->told = memory_grow(cut->told, &cut->told_capacity, cut->told_count + 1, sizeof(*told));
    told = &cut->told[cut->told_count++];
    *told = (struct told){.stream = stream, .order = order};
    return told;
}

static uint64_t word(enum event_op op, uint8_t domain, uint64_t address)
{
    return (uint64_t)op << EVENT_OP_SHIFT | (uint64_t)domain << EVENT_DOMAIN_SHIFT |
           (address & EVENT_ADDRESS_MASK);
}

static uint64_t key_word(enum event_op op, uint64_t key)
{
    return word(op, (uint8_t)(key >> REPLAY_DOMAIN_SHIFT & EVENT_DOMAIN_MASK), key);
}

static void add_blocks(struct cut *cut, const struct live_blocks *blocks)
{
    for (size_t i = 0; i < blocks->slot_count; i++) {
        const struct live_block *live = &blocks->slots[i];
        const struct row *row;
        struct told *told;

        if (live->key == 0 || live->block.row == ROW_NONE)
            continue;
        row = &cut->ledger->rows.rows[live->block.row];
        told = add(cut, row->stream, TOLD_LIVE);
        told->tick = live->block.tick;
        told->ordinal = live->block.ordinal;
        told->w0 = key_word(EVENT_ALLOC, live->key);
        told->w1 = (uint64_t)row->stack << EVENT_STACK_SHIFT;
        told->bytes = live->block.bytes;
    }
}

static void add_pool_blocks(struct cut *cut, uint32_t process_index)
{
    const struct pools *pools = replay_pools(cut->replay);
    const struct live_blocks *blocks;

    if (process_index >= pools->process_capacity)
        return;
    blocks = &pools->blocks[process_index];
    for (size_t i = 0; i < blocks->slot_count; i++) {
        const struct live_block *live = &blocks->slots[i];
        struct told *told;

        if (live->key == 0)
            continue;
        told = add(cut, live->block.shown, TOLD_LIVE);
        told->w0 = word(EVENT_ALLOC, DOMAIN_POOL, live->key);
        told->w1 = (uint64_t)live->block.tick << EVENT_STACK_SHIFT;
        told->bytes = live->block.bytes;
    }
}

static void add_ranges(struct cut *cut, const struct ranges *ranges)
{
    const struct range *range = ranges_first(ranges, 0, UINT64_MAX);

    for (; range != NULL; range = ranges_first(ranges, range->end, UINT64_MAX)) {
        struct told *told;

        if (!range->is_counted)
            continue;
        told = add(cut, range->stream, TOLD_LIVE);
        told->tick = range->block.tick;
        told->ordinal = range->block.ordinal;
        told->w0 = word(EVENT_MAP, DOMAIN_MAP, range->start);
        told->w1 = (uint64_t)range->stack << EVENT_STACK_SHIFT;
        told->bytes = range->end - range->start;
        told->new_class = range->map_class;
        told->has_new_class = cut->capture->stacks[range->stack].map_class != range->map_class;
    }
}

/*
 * A release that waits for what follows it in its thread. What other threads hold must have been told
 * before, or would have it take place; so it has a segment of its own, where there is one left.
 */
static void add_waiting(struct cut *cut, uint32_t stream)
{
    static const uint8_t entries[] = {ALLOCATOR_REALLOC, ALLOCATOR_PYMALLOC + PYTHON_REALLOC,
                                      ALLOCATOR_PYMALLOC + PYTHON_ENTRIES + PYTHON_REALLOC,
                                      ALLOCATOR_PYMALLOC + 2 * PYTHON_ENTRIES + PYTHON_REALLOC};
    const struct pending *pending = &cut->replay->streams[stream].pending;
    uint32_t process_index = cut->capture->threads[stream].process_index;
    struct told *told = add(cut, stream, TOLD_WAITING);

    told->is_late = cut->segments[process_index] >= UINT64_C(2) * cut->capture->thread_count;
    if (pending->is_range) {
        told->w0 = word(EVENT_UNMAP, DOMAIN_MAP, pending->key);
        told->w1 = (uint64_t)ALLOCATOR_MREMAP << EVENT_ALLOCATOR_SHIFT;
        told->bytes = pending->bytes;
    } else {
        uint8_t domain = (uint8_t)(pending->key >> REPLAY_DOMAIN_SHIFT & EVENT_DOMAIN_MASK);

        told->w0 = key_word(EVENT_FREE, pending->key);
        told->w1 = entries[domain < sizeof(entries) ? domain : 0];
    }
}

static void add_phases(struct cut *cut)
{
    const struct marks *marks = replay_marks(cut->replay);

    for (size_t i = 0; i < marks->open.slot_count; i++) {
        const struct live_block *open = &marks->open.slots[i];
        const struct profile_phase *phase;
        struct told *told;

        if (open->key == 0)
            continue;
        phase = &marks->phases[open->block.bytes];
        told = add(cut, phase->stream, TOLD_PHASE);
        told->ordinal = (uint32_t)open->block.bytes;
        told->w0 = (uint64_t)EVENT_NOTE << EVENT_OP_SHIFT | NOTE_MARK |
                   (uint64_t)MARK_PHASE_BEGIN << NOTE_MARK_KIND_SHIFT |
                   phase->name_number << NOTE_MARK_NAME_SHIFT;
        told->w1 = open->key & UINT32_MAX;
    }
}

static int compare(const void *left, const void *right)
{
    const struct told *a = left, *b = right;

    if (a->is_late != b->is_late)
        return a->is_late ? 1 : -1;
    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    if (a->tick != b->tick)
        return a->tick < b->tick ? -1 : 1;
    if (a->ordinal != b->ordinal)
        return a->ordinal < b->ordinal ? -1 : 1;
    return (a->w0 > b->w0) - (a->w0 < b->w0);
}

static void collect(struct cut *cut)
{
    const struct replay *replay = cut->replay;

    for (uint32_t i = 0; i < replay->process_count; i++) {
        add_blocks(cut, &replay->processes[i].blocks);
        add_ranges(cut, &replay->processes[i].ranges);
        add_pool_blocks(cut, i);
        for (size_t k = 0; k < replay->processes[i].pending_count; k++)
            add_waiting(cut, replay->processes[i].pending[k]);
    }
    add_phases(cut);
    if (cut->told_count > 0)
        qsort(cut->told, cut->told_count, sizeof(*cut->told), compare);
}

/* A size that has no room in its record stands before it. */
static bool tell_sized(struct archive *archive, uint32_t stream, uint64_t w0, uint64_t w1,
                       uint64_t bytes)
{
    uint64_t wide = (uint64_t)EVENT_WIDE << EVENT_OP_SHIFT;

    return (bytes <= UINT32_MAX || archive_tell(archive, stream, wide, bytes >> 32)) &&
           archive_tell(archive, stream, w0, w1 | (bytes & UINT32_MAX));
}

static bool tell_one(struct archive *archive, const struct told *told)
{
    uint64_t w0 = told->w0, op = w0 >> EVENT_OP_SHIFT;

    if (op == EVENT_FREE || op == EVENT_NOTE)
        return archive_tell(archive, told->stream, w0, told->w1);
    if (!tell_sized(archive, told->stream, w0, told->w1, told->bytes))
        return false;
    return !told->has_new_class ||
           tell_sized(archive, told->stream, word(EVENT_PROTECT, DOMAIN_MAP, w0),
                      (uint64_t)told->new_class << EVENT_ALLOCATOR_SHIFT, told->bytes);
}

/* Is this the first event of its thread, or of what is late of it? */
static bool is_first(const struct cut *cut, size_t index)
{
    const struct told *told = &cut->told[index];

    return index == 0 || told->stream != told[-1].stream || told->is_late != told[-1].is_late;
}

/*
 * Each thread has a segment of its own, the last ones of what is left out: there are enough, as each
 * has had one in which it did what is told.
 */
static bool tell_live(void *user, struct archive *archive)
{
    struct cut *cut = user;
    uint64_t *segments = memory_allocate(cut->capture->process_count, sizeof(*segments));
    bool is_told = true;

    for (uint32_t i = 0; i < cut->capture->process_count; i++)
        segments[i] = cut->segments[i];
    for (size_t i = cut->told_count; i-- > 0;)
        if (is_first(cut, i))
            segments[cut->capture->threads[cut->told[i].stream].process_index]--;
    for (size_t i = 0; i < cut->told_count && is_told; i++) {
        const struct told *told = &cut->told[i];

        if (is_first(cut, i))
            is_told = archive_tell(
                archive, told->stream,
                word(EVENT_SYNC, 0, ++segments[cut->capture->threads[told->stream].process_index]),
                cut->tick | (uint64_t)SYNC_SECTION << EVENT_ALLOCATOR_SHIFT);
        is_told = is_told && tell_one(archive, told);
    }
    free(segments);
    return is_told;
}

enum archive_result cut_write(const struct capture *capture, uint64_t time_ns, bool is_quick,
                              struct capture_writer *writer, capture_progress *progress, void *user,
                              struct error *err)
{
    struct cut cut = {.capture = capture, .options = {.temporary_threshold = 1}};
    struct archive_cut archive = {
        .time_ns = time_ns, .tell = tell_live, .user = &cut, .is_quick = is_quick};
    enum archive_result result = ARCHIVE_INPUT;

    /* A block stands for others by its number in its thread, and at the level that it was picked at. */
    if (capture_is_estimate(capture)) {
        error_set(err, "%s: is a sample, of which no part can be taken: leave out --last",
                  capture->file);
        return ARCHIVE_INPUT;
    }
    cut.segments = memory_allocate(capture->process_count, sizeof(*cut.segments));
    archive.segments = cut.segments;
    cut.ledger = memory_allocate(1, sizeof(*cut.ledger));
    ledger_init(cut.ledger, capture, false);
    cut.replay = replay_open(capture, &cut.options, cut.ledger);
    if (read_events(&cut, time_ns, err)) {
        collect(&cut);
        result = archive_write(capture, writer, &archive, progress, user, err);
    }
    replay_close(cut.replay);
    ledger_finish(cut.ledger);
    free(cut.ledger);
    free(cut.segments);
    free(cut.told);
    return result;
}
