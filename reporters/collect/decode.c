/*
 * Slots to records. Drain thread; this is what an event costs the collector, so allocations and
 * releases are decoded in one loop, and all else in functions aside.
 *
 * Each word of a slot is read once, and what was read is checked: the program may be writing over
 * it. What no target writes is counted as a fault and passed over.
 */
#include "collect/decode.h"

#include "collect/announce.h"
#include "collect/process.h"
#include "collect/slots.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"

enum {
    DOMAIN_COUNT = DOMAIN_POOL + 1,
    ADDRESS_LOW_BITS = 3,
    WIDE_SHIFT = 32,
    MARK_KIND_MASK = 7,
    NO_KIND = 1 << 16,  /* no allocator has it */
    KIND_MASK = 0xf8ff, /* of w1's bits from the allocator on: without those of the address */
};

_Static_assert((int)EVENT_ALLOC == (int)OP_ALLOC && (int)EVENT_FREE == (int)OP_FREE,
               "the ops of blocks are the same in ring and capture");

static uint64_t event_w0(uint32_t op, uint32_t domain, uint64_t address)
{
    return address | (uint64_t)domain << EVENT_DOMAIN_SHIFT | (uint64_t)op << EVENT_OP_SHIFT;
}

static uint32_t domain_of(uint64_t w0)
{
    return (uint32_t)(w0 >> SLOT_DOMAIN_SHIFT & SLOT_DOMAIN_MASK);
}

static uint64_t address_of(uint64_t w0, uint64_t w1)
{
    return (w0 & SLOT_PAYLOAD_MASK) << ADDRESS_LOW_BITS | (w1 >> BLOCK_LOW_SHIFT & 7);
}

static uint8_t allocator_of(uint64_t w1)
{
    return (uint8_t)(w1 >> BLOCK_ALLOCATOR_SHIFT);
}

/* The stack id of an allocation with the thread's current stack. */
static inline uint32_t stack_of(struct ring_reader *reader, struct sink *sink, uint64_t w0,
                                uint16_t kind)
{
    bool is_detached = (w0 & SLOT_DETACHED) != 0;
    uint32_t python = is_detached ? sink->handler_node : chain_node(&reader->chain);
    uint32_t native = is_detached ? 0 : chain_node(&reader->native_chain);
    struct stack_cache *cached = &reader->stack_cache[(python + native + kind) % STACK_CACHE_COUNT];

    if (cached->id == 0 || cached->python != python || cached->native != native ||
        cached->kind != kind)
        *cached = (struct stack_cache){python, native,
                                       trie_stack(&sink->trie, python, native, kind), kind};
    return cached->id;
}

/* What the stack of a block is besides its frames: the allocator, and the level it was picked at. */
static uint16_t block_kind(struct sink *sink, uint64_t w1)
{
    uint64_t level = w1 >> BLOCK_CLASS_SHIFT;

    if (level > SAMPLE_LEVEL_MOST) {
        sink->counts.faults++;
        level = 0;
    }
    return trie_kind(allocator_of(w1), (uint8_t)(level > 0 ? STACK_LEVEL_BASE + level : 0));
}

static void put_wide(struct ring_reader *reader, uint64_t bytes)
{
    if (bytes >> WIDE_SHIFT != 0)
        stream_put(&reader->stream, event_w0(EVENT_WIDE, 0, 0), bytes >> WIDE_SHIFT);
}

/* MAP and FAIL, whose stack knows the class too. */
static void put_allocation(struct ring_reader *reader, struct sink *sink, uint32_t op, uint64_t w0,
                           uint64_t w1)
{
    uint64_t bytes = w1 & BLOCK_BYTES_MASK, map_class = w1 >> BLOCK_CLASS_SHIFT;
    uint64_t address = op == EVENT_FAIL ? 0 : address_of(w0, w1);
    uint16_t kind;

    if (map_class >= CLASS_COUNT) {
        sink->counts.faults++;
        map_class = CLASS_ANONYMOUS;
    }
    kind = trie_kind(allocator_of(w1), (uint8_t)map_class);
    put_wide(reader, bytes);
    stream_put(&reader->stream, event_w0(op, domain_of(w0), address),
               (bytes & UINT32_MAX) | (uint64_t)stack_of(reader, sink, w0, kind)
                                          << EVENT_STACK_SHIFT);
    sink->counts.events++;
}

/* UNMAP, UNDO, PROTECT: bytes, and allocator or class. */
static void put_range(struct ring_reader *reader, struct sink *sink, uint32_t op, uint64_t w0,
                      uint64_t w1)
{
    uint64_t bytes = w1 & BLOCK_BYTES_MASK, extra = allocator_of(w1);

    if (op == EVENT_PROTECT) {
        extra = w1 >> BLOCK_CLASS_SHIFT;
        if (extra >= CLASS_COUNT) {
            sink->counts.faults++;
            return;
        }
    }
    put_wide(reader, bytes);
    stream_put(&reader->stream, event_w0(op, domain_of(w0), address_of(w0, w1)),
               (bytes & UINT32_MAX) | extra << EVENT_ALLOCATOR_SHIFT);
    sink->counts.events++;
}

static void put_note(struct ring_reader *reader, uint32_t kind, uint64_t life, uint64_t w1)
{
    stream_put(&reader->stream, event_w0(EVENT_NOTE, 0, kind | life << NOTE_LIFE_SHIFT), w1);
}

/* A segment begins. One out of a hole, lower than the one in force, begins nothing any more. */
static void put_sync(struct ring_reader *reader, struct sink *sink, uint64_t w0, uint64_t w1)
{
    struct stream *stream = &reader->stream;
    uint64_t segment = w0 & SLOT_PAYLOAD_MASK;
    uint32_t tick = (uint32_t)w1, newest = atomic_load_explicit(sink->tick, memory_order_acquire);

    if (segment < stream->segment)
        return;
    if (tick > newest) {
        sink->counts.faults++;
        tick = newest;
    }
    if (tick < stream->tick)
        tick = stream->tick;
    stream->segment = segment;
    stream->tick = tick;
    if (segment > reader->process->segment_seen)
        reader->process->segment_seen = segment;
    if (stream->block == NULL)
        stream_begin_block(stream, sink, false);
    stream_put(stream, event_w0(EVENT_SYNC, 0, segment), tick | (w1 & (UINT64_C(0xff) << 32)));
}

static void take_life(struct ring_reader *reader, struct sink *sink, uint64_t w0, uint64_t w1)
{
    struct process *process = reader->process;
    uint64_t life = w0 & 0xffff;

    if (life == LIFE_EXIT) {
        process->has_exit_code = true;
        process->exit_code = (int64_t)(w1 & 0xff);
    } else if (life == LIFE_FORK) {
        sink->counts.forks++;
    } else if (life == LIFE_EXEC) {
        atomic_fetch_add_explicit(&process->execs, 1, memory_order_relaxed);
    }
    put_note(reader, NOTE_LIFE, life, w1);
}

/* Read the frames of a delta as they stand in the ring. */
static void read_frames(struct ring_reader *reader, uint64_t number, uint64_t w1, uint32_t count,
                        uint64_t *ret_frames)
{
    for (uint32_t i = 0; i < count; i++) {
        struct slot *slot = slots_at(reader->slots, number + (i + 1) / 2);
        uint64_t word = w1;

        if (i > 0)
            word = atomic_load_explicit(i % 2 != 0 ? &slot->w0 : &slot->w1, memory_order_relaxed);
        ret_frames[i] = word & SLOT_DATA_MASK;
    }
}

/*
 * Give a Python frame the capture's code number.
 * Returns false when the code is not known and not given up.
 */
static bool name_python(struct ring_reader *reader, struct sink *sink, uint64_t *frame)
{
    uint64_t id = *frame >> FRAME_CODE_SHIFT & FRAME_CODE_MASK;
    uint64_t code = id == 0 ? 0 : code_map_find(&reader->process->codes, (uint32_t)id);

    if (id != 0 && code == 0) {
        if (!reader->process->has_name_given_up)
            return false;
        sink->counts.faults++;
        *frame &= FRAME_ENTRY;
        *frame |= SPECIAL_UNKNOWN;
    }
    *frame = (*frame & ~(FRAME_CODE_MASK << FRAME_CODE_SHIFT)) | code << FRAME_CODE_SHIFT;
    return true;
}

/* The module of code that is in none: one for all of a process. */
static uint32_t jit_module(struct process *process, struct sink *sink)
{
    uint64_t started_ns = process->started_ns;

    started_ns = started_ns > sink->start_ns ? started_ns - sink->start_ns : 0;
    if (process->jit_module == 0)
        process->jit_module = modules_of_jit(&sink->modules, process->number, process->inner_pid,
                                             started_ns, &sink->records);
    return process->jit_module;
}

/* The same of a native frame, in the trie's form. */
static bool name_native(struct ring_reader *reader, struct sink *sink, uint64_t *frame)
{
    uint64_t id = *frame >> NATIVE_MODULE_SHIFT & NATIVE_MODULE_MASK, module = 0, flags;
    uint64_t offset = *frame & ((UINT64_C(1) << NATIVE_OFFSET_BITS) - 1);

    flags = ((*frame & NATIVE_EXACT) != 0 ? TRIE_EXACT : 0) |
            ((*frame & NATIVE_EVAL) != 0 ? TRIE_EVAL : 0);
    if ((*frame & NATIVE_ABSOLUTE) != 0) {
        flags = 0;
        module = jit_module(reader->process, sink);
        offset = *frame & ((UINT64_C(1) << TRIE_OFFSET_BITS) - 1);
    } else if (id != 0) {
        module = code_map_find(&reader->process->modules, (uint32_t)id);
        if (module == 0 && !reader->process->has_name_given_up)
            return false;
    }
    if (module == 0 && (id != 0 || (*frame & NATIVE_ABSOLUTE) != 0)) {
        sink->counts.faults++;
        offset = SPECIAL_UNKNOWN;
    }
    *frame = offset | module << TRIE_MODULE_SHIFT | flags;
    return true;
}

/* The native chain is a memo again. */
static void recall(struct ring_reader *reader, struct sink *sink, uint64_t number)
{
    const struct chain_memo *memo = &reader->native_memos[number];

    if (!chain_recall(&reader->native_chain, memo))
        sink->counts.faults++;
    chain_cut_memos(reader->native_memos, memo->base);
}

/* What a native delta says of stacks that may come again, behind its pop and push. */
static void take_memo(struct ring_reader *reader, struct sink *sink, uint64_t w0)
{
    uint64_t number = w0 >> NATIVE_MEMO_SHIFT & NATIVE_MEMO_MASK;

    if ((w0 & NATIVE_MEMO_RECALL) != 0)
        recall(reader, sink, number);
    else if ((w0 & NATIVE_MEMO_MAKE) != 0 &&
             !chain_make_memo(&reader->native_chain, &reader->native_memos[number]))
        sink->counts.faults++;
}

/* Returns false when it waits for the name of a frame. */
static bool take_delta(struct ring_reader *reader, struct sink *sink, uint64_t number, uint64_t w0,
                       uint64_t w1)
{
    bool is_native = slots_op(w0) == OP_NATIVE;
    struct chain *chain = is_native ? &reader->native_chain : &reader->chain;
    struct trie_nodes *nodes = is_native ? &sink->trie.native : &sink->trie.python;
    uint64_t frames[DELTA_MAX_FRAMES];
    uint32_t count = slots_delta_push(w0);

    read_frames(reader, number, w1, count, frames);
    for (uint32_t i = 0; i < count; i++)
        if (!(is_native ? name_native(reader, sink, &frames[i])
                        : name_python(reader, sink, &frames[i])))
            return false;
    if (chain_pop(chain, slots_delta_pop(w0)) != 0)
        sink->counts.faults++;
    if (is_native)
        chain_cut_memos(reader->native_memos, chain->depth);
    for (uint32_t i = 0; i < count; i++)
        chain_push(chain, nodes, frames[i]);
    if (is_native)
        take_memo(reader, sink, w0);
    return true;
}

static void take_blob(struct ring_reader *reader, struct sink *sink, uint64_t number, uint64_t w0,
                      uint64_t w1)
{
    struct slot *slots = slots_at(reader->slots, number + 1);

    switch (blob_add(&reader->blob, w0, w1, slots)) {
    case BLOB_MORE:
        break;
    case BLOB_COMPLETE:
        if (!announce_take(reader, sink))
            sink->counts.faults++;
        break;
    case BLOB_WRONG:
        sink->counts.faults++;
        break;
    }
}

/*
 * Find the allocator that a pool has in the capture.
 * Returns false when its name is not known and not given up.
 */
static bool find_pool(struct ring_reader *reader, struct sink *sink, uint64_t w1,
                      uint8_t *ret_allocator)
{
    uint8_t allocator = text_map_pool(&reader->process->texts, allocator_of(w1));

    if (allocator == ALLOCATOR_NONE && !reader->process->has_name_given_up)
        return false;
    sink->counts.faults += allocator == ALLOCATOR_NONE;
    *ret_allocator = allocator != ALLOCATOR_NONE ? allocator : ALLOCATOR_POOL;
    return true;
}

/* A block of a pool. Returns false when it waits for the pool's name. */
static bool take_pool_block(struct ring_reader *reader, struct sink *sink, uint64_t w0, uint64_t w1)
{
    uint64_t bytes = w1 & BLOCK_BYTES_MASK;
    uint8_t allocator;

    if (!find_pool(reader, sink, w1, &allocator))
        return false;
    if (slots_op(w0) == OP_ALLOC) {
        put_wide(reader, bytes);
        stream_put(&reader->stream, event_w0(EVENT_ALLOC, DOMAIN_POOL, address_of(w0, w1)),
                   (bytes & UINT32_MAX) | (uint64_t)stack_of(reader, sink, w0, allocator)
                                              << EVENT_STACK_SHIFT);
    } else {
        stream_put(&reader->stream, event_w0(EVENT_FREE, DOMAIN_POOL, address_of(w0, w1)),
                   allocator);
    }
    sink->counts.events++;
    return true;
}

/* What the program says itself. Returns false when it waits for the name. */
static bool take_mark(struct ring_reader *reader, struct sink *sink, uint64_t w0, uint64_t w1)
{
    uint64_t id = w0 & SLOT_PAYLOAD_MASK, kind = w0 >> SLOT_DOMAIN_SHIFT & MARK_KIND_MASK;
    uint64_t name = text_map_mark(&reader->process->texts, id), stack;

    if (id != 0 && name == 0) {
        if (!reader->process->has_name_given_up)
            return false;
        sink->counts.faults++;
        return true;
    }
    stack = stack_of(reader, sink, w0, trie_kind(ALLOCATOR_NONE, CLASS_ANONYMOUS));
    stream_put(&reader->stream,
               event_w0(EVENT_NOTE, 0,
                        NOTE_MARK | kind << NOTE_MARK_KIND_SHIFT | name << NOTE_MARK_NAME_SHIFT),
               (w1 & UINT32_MAX) | stack << EVENT_STACK_SHIFT);
    return true;
}

/* A record of one slot that is neither ALLOC nor FREE. There is room for it. */
static void decode_rare(struct ring_reader *reader, struct sink *sink, uint64_t w0, uint64_t w1)
{
    switch (slots_op(w0)) {
    case OP_MAP:
        put_allocation(reader, sink, EVENT_MAP, w0, w1);
        break;
    case OP_FAIL:
        put_allocation(reader, sink, EVENT_FAIL, w0, w1);
        break;
    case OP_UNMAP:
        put_range(reader, sink, EVENT_UNMAP, w0, w1);
        break;
    case OP_PROTECT:
        put_range(reader, sink, EVENT_PROTECT, w0, w1);
        break;
    case OP_UNDO:
        put_range(reader, sink, EVENT_UNDO, w0, w1);
        break;
    case OP_LOST:
        put_note(reader, NOTE_LOST, 0, w1);
        break;
    case OP_CLOCK:
        put_note(reader, NOTE_CLOCK, 0, w1 > sink->start_ns ? w1 - sink->start_ns : 0);
        break;
    case OP_LIFE:
        take_life(reader, sink, w0, w1);
        break;
    default: /* a later version's, or one that the capture does not keep */
        break;
    }
}

/*
 * Check a record's extent, before it is decoded.
 * Returns its slots, 0 when it cannot be one.
 */
static uint32_t extent_of(const struct ring_reader *reader, uint64_t number, uint64_t end,
                          uint64_t w0)
{
    uint32_t count = slots_of_record(w0);
    uint64_t left_of_lap = RING_SLOT_COUNT - (number & SLOT_INDEX_MASK);

    if (count == 0 || count > end - number || count > left_of_lap)
        return 0;
    for (uint32_t i = 1; i < count; i++) {
        uint64_t next = slots_load(reader->slots, number + i);

        if (!slots_is_committed(next, number + i) || (next & SLOT_HEAD) != 0)
            return 0;
    }
    return count;
}

/* Make room in the block before a record that is at the position. */
static void make_room(struct ring_reader *reader, struct sink *sink)
{
    if (reader->stream.block != NULL)
        ring_reader_flush(reader, sink, false);
    stream_begin_block(&reader->stream, sink, true);
}

/* Is it an allocation or a release that may be decoded as it stands? Blocks of pools have names. */
static inline bool is_block(uint64_t w0)
{
    uint32_t op = slots_op(w0);

    return (op == OP_ALLOC || op == OP_FREE || op == OP_ALLOC_MOVED || op == OP_ALLOC_AGAIN) &&
           (w0 & SLOT_HEAD) != 0 && domain_of(w0) < DOMAIN_POOL;
}

/* Let the innermost frame move on, and the native chain be a memo again. Returns w1 as ALLOC has it. */
static uint64_t take_move(struct ring_reader *reader, struct sink *sink, uint64_t op, uint64_t w1)
{
    if (op == OP_ALLOC_AGAIN) {
        recall(reader, sink, w1 >> BLOCK_LOW_SHIFT & NATIVE_MEMO_MASK);
        w1 &= ~(NATIVE_MEMO_MASK << BLOCK_LOW_SHIFT);
    }
    if ((op == OP_ALLOC_MOVED || (w1 >> MOVED_OFFSET_SHIFT & MOVED_MASK) != MOVED_NOT) &&
        !chain_move(&reader->chain, &sink->trie.python, w1 >> MOVED_OFFSET_SHIFT & MOVED_MASK))
        sink->counts.faults++;
    return w1 & ~(MOVED_MASK << MOVED_OFFSET_SHIFT);
}

/*
 * Decode the record at a position, which is none of the hot loop's.
 * Returns its slots, 0 when it waits for a name.
 */
static uint32_t decode_other(struct ring_reader *reader, struct sink *sink, uint64_t number,
                             uint64_t end, uint64_t w0)
{
    uint64_t w1 = atomic_load_explicit(&slots_at(reader->slots, number)->w1, memory_order_relaxed);
    uint32_t op = slots_op(w0), count;

    if ((w0 & SLOT_HEAD) == 0) {
        /* Where a record was begun and left, its continuations stand behind a NOP. */
        sink->counts.faults += !reader->is_left_over;
        return 1;
    }
    if (op == OP_NOP)
        return 1;
    /* Of a pool; where that waits for its name, once more is no matter. */
    if (op == OP_ALLOC_MOVED || op == OP_ALLOC_AGAIN) {
        w1 = take_move(reader, sink, op, w1);
        w0 ^= (uint64_t)(op ^ OP_ALLOC) << SLOT_OP_SHIFT;
        op = OP_ALLOC;
    }
    count = extent_of(reader, number, end, w0);
    if (count == 0 || (op <= OP_FAIL && domain_of(w0) >= DOMAIN_COUNT)) {
        sink->counts.faults++;
        return 1;
    }
    if (op == OP_SYNC) {
        if (reader->stream.block != NULL && !stream_has_room(&reader->stream))
            ring_reader_flush(reader, sink, false);
        put_sync(reader, sink, w0, w1);
    } else if (op == OP_PY || op == OP_NATIVE) {
        if (!take_delta(reader, sink, number, w0, w1))
            return 0;
    } else if (op == OP_BLOB) {
        take_blob(reader, sink, number, w0, w1);
    } else {
        if (!stream_has_room(&reader->stream))
            make_room(reader, sink);
        if (op == OP_MARK)
            return take_mark(reader, sink, w0, w1) ? count : 0;
        if (op == OP_ALLOC || op == OP_FREE)
            return take_pool_block(reader, sink, w0, w1) ? count : 0;
        decode_rare(reader, sink, w0, w1);
    }
    return count;
}

/*
 * Decode allocations and releases, up to whatever else comes, the end of the lap or of the room in
 * the block. Between two moves no delta can come, so there is one stack, but for the allocator.
 * Returns the number behind the last.
 */
static uint64_t decode_blocks(struct ring_reader *reader, struct sink *sink, uint64_t number,
                              uint64_t end)
{
    struct slot *slot = slots_at(reader->slots, number);
    uint64_t lap_end = (number | SLOT_INDEX_MASK) + 1, begin = number;
    uint64_t head = (slots_lap(number) | SLOT_HEAD) >> SLOT_OP_SHIFT;
    uint64_t kind = NO_KIND, stack = 0;

    if (end > lap_end)
        end = lap_end;
    for (; number < end && stream_has_room(&reader->stream); number++, slot++) {
        uint64_t w0 = atomic_load_explicit(&slot->w0, memory_order_acquire);
        uint64_t op = (w0 >> SLOT_OP_SHIFT) - head, w1, out;

        if ((op != OP_ALLOC && op != OP_FREE && op != OP_ALLOC_MOVED && op != OP_ALLOC_AGAIN) ||
            domain_of(w0) >= DOMAIN_POOL)
            break;
        w1 = atomic_load_explicit(&slot->w1, memory_order_relaxed);
        if (op == OP_ALLOC_MOVED || op == OP_ALLOC_AGAIN) {
            w1 = take_move(reader, sink, op, w1);
            op = OP_ALLOC;
            kind = NO_KIND;
        }
        out = allocator_of(w1);
        if (op == OP_ALLOC) {
            uint64_t bytes = w1 & BLOCK_BYTES_MASK;

            out = (w1 >> BLOCK_ALLOCATOR_SHIFT & KIND_MASK) | (w0 & SLOT_DETACHED);
            if (kind != out) {
                kind = out;
                stack = stack_of(reader, sink, w0, block_kind(sink, w1));
            }
            put_wide(reader, bytes);
            out = (bytes & UINT32_MAX) | stack << EVENT_STACK_SHIFT;
        }
        stream_put(&reader->stream, event_w0((uint32_t)op, domain_of(w0), address_of(w0, w1)), out);
    }
    sink->counts.events += number - begin;
    return number;
}

enum decode_stop decode_run(struct ring_reader *reader, struct sink *sink, uint64_t *position,
                            uint64_t end)
{
    uint64_t number = *position;
    enum decode_stop stop = DECODE_AT_END;

    while (number < end) {
        uint64_t w0 = slots_load(reader->slots, number);
        uint32_t count;

        if (!slots_is_committed(w0, number)) {
            stop = DECODE_AT_UNFILLED;
            break;
        }
        *position = number;
        if (is_block(w0)) {
            if (!stream_has_room(&reader->stream))
                make_room(reader, sink);
            number = decode_blocks(reader, sink, number, end);
            continue;
        }
        reader->is_left_over = reader->is_gone || position != &reader->position;
        count = decode_other(reader, sink, number, end, w0);
        if (count == 0) {
            stop = DECODE_AT_UNKNOWN_NAME;
            break;
        }
        number += count;
    }
    *position = number;
    return stop;
}
