/*
 * Events that are not the usual one.
 *
 * Runs in the program's threads, inside their malloc. An event that cannot be recorded is counted
 * once, here; a thread whose context vanishes under it (a handler forked, and we are the child)
 * begins the event again.
 */
#include "record/track.h"

#include "base/syscalls.h"
#include "record/chain.h"
#include "record/passed.h"
#include "record/segment.h"

enum outcome {
    RECORDED,
    LOST,
    BEGIN_AGAIN,
};

/* One event on its way. */
struct event {
    uint64_t w0;
    uint64_t w1;
    uintptr_t address;
    uintptr_t frame;
    const void *caller;
    uint64_t segment;      /* it may stand in this one without another look at its page; 0: none */
    unsigned count_deltas; /* slots of context->scratch that go ahead of it */
};

/* Record an event and the deltas ahead of it as one group. */
static enum outcome write_event(struct context *context, struct event *event)
{
    unsigned need = event->count_deltas + 1;

    for (;;) {
        struct ring_entry *ring = context->ring;
        struct slot *slots;
        uint64_t cursor;

        atomic_signal_fence(memory_order_seq_cst);
        slots = context->slots;
        if (slots == NULL)
            return BEGIN_AGAIN;
        /* Relaxed: words of this thread; the page's owner is order.c's. */
        cursor = atomic_load_explicit(&ring->cursor, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        if (cursor + need > context->end) {
            if (ring_make_room(context, need))
                continue;
            return context->slots == NULL ? BEGIN_AGAIN : LOST;
        }
        if (event->segment != atomic_load_explicit(&context->order.segment, memory_order_relaxed) &&
            atomic_load_explicit(&process_order.owner[order_bucket(event->address)],
                                 memory_order_relaxed) !=
                atomic_load_explicit(&context->order.match, memory_order_relaxed)) {
            if (segment_enter_page(context, event->address, event->frame, &event->segment))
                continue;
            return context->slots == NULL ? BEGIN_AGAIN : LOST;
        }
        if (!arch_reserve(&ring->cursor, cursor, cursor + need))
            continue;
        ring_fill_group(slots, cursor, context->scratch, event->count_deltas);
        ring_fill(slots, cursor + event->count_deltas, event->w0, event->w1);
        return RECORDED;
    }
}

/* Record an event with the calling thread's stack. */
static enum outcome write_with_stack(struct context *context, struct event *event)
{
    const struct call_site site = {event->caller, NULL};
    struct chain_news news;
    enum outcome outcome;

    event->count_deltas = 0;
    event->w0 &= ~SLOT_DETACHED;
    if (!chain_take(context, event->frame)) {
        event->w0 |= SLOT_DETACHED;
        return write_event(context, event);
    }
    outcome = LOST;
    if (chain_update(context, &site, &news)) {
        event->count_deltas = news.count_slots;
        outcome = write_event(context, event);
    }
    if (context->slots == NULL)
        return BEGIN_AGAIN;
    chain_release(context);
    return outcome;
}

static bool has_stack(void)
{
    return (process.mode & PROCESS_HAS_STACKS) != 0;
}

/*
 * What the interpreter's debug hooks add to a block of the raw domain, which an object's block can be
 * (Objects/obmalloc.c: PYMEM_DEBUG_EXTRA_BYTES, with its serial number).
 */
enum {
    PYTHON_DEBUG_BYTES = 4 * sizeof(void *),
    PYTHON_DEBUG_AHEAD_BYTES = 2 * sizeof(void *),
};

/*
 * Whether an event is about the block that the wrapper was called for which this thread is inside of. It
 * may be larger by what hooks add, or by 1: the interpreter asks malloc for 1 byte instead of none. There
 * are no others of nearly the same size, or as near: lists of arenas are larger than what is cut from
 * arenas.
 */
static bool is_at_hand(const struct event *event)
{
    switch ((enum slot_op)(event->w0 >> SLOT_OP_SHIFT & SLOT_OP_MASK)) {
    case OP_ALLOC:
    case OP_FAIL:
        return (event->w1 & BLOCK_BYTES_MASK) - context_held.size_bytes <= PYTHON_DEBUG_BYTES;
    case OP_FREE:
    case OP_UNDO:
        return event->address != 0 &&
               context_held.block - event->address <= PYTHON_DEBUG_AHEAD_BYTES;
    default:
        return false;
    }
}

/*
 * Who is to be told to have asked. What one of Python's allocators does for the block that it is asked
 * for is not an event: it is as if malloc itself had asked. All else that it does is: arenas, lists of
 * them, what tracemalloc forgets about a block that is released.
 */
static const void *asker_of(const struct event *event)
{
    if (context_own == &context_muted && is_at_hand(event))
        return (const void *)process.provider_start;
    return event->caller;
}

/* Begin a segment for a map's event: a range has more pages than one tag. */
static bool begin_for_range(struct context *context, struct event *event)
{
    if (!segment_begin(context, SYNC_MAP, event->frame))
        return false;
    event->segment = atomic_load_explicit(&context->order.segment, memory_order_relaxed);
    return true;
}

/* Count a block's bytes, and begin a segment when so many have come together. */
static bool count_bytes(struct context *context, const struct event *event, size_t size_bytes)
{
    uint64_t left_bytes = context->sync_bytes;

    if (size_bytes >= TRACK_SYNC_BYTES)
        return segment_begin(context, SYNC_BIG, event->frame);
    if (left_bytes < size_bytes) {
        left_bytes = TRACK_SYNC_BYTES - 1;
        /* A thread alone is in order already. */
        if (process_has_threads() && !segment_begin(context, SYNC_NET, event->frame))
            return false;
    }
    context->sync_bytes = left_bytes - size_bytes;
    return true;
}

/* Record an allocation of a block, a map, or a failure. Returns whether it is recorded now. */
static bool record_allocation(struct event *event, size_t size_bytes, bool is_range)
{
    enum outcome outcome = BEGIN_AGAIN;

    while (outcome == BEGIN_AGAIN) {
        struct context *context = context_enter(event->frame, asker_of(event));

        if (context == NULL)
            return false;
        if (is_range ? !begin_for_range(context, event) : !count_bytes(context, event, size_bytes))
            outcome = context->slots == NULL ? BEGIN_AGAIN : LOST;
        else
            outcome = has_stack() ? write_with_stack(context, event) : write_event(context, event);
        if (outcome == LOST)
            context_lose_event(context);
    }
    return outcome == RECORDED;
}

/* Record what has no stack: a release, or that it did not happen, or a change of class. */
static void record_plain(struct event *event, bool is_range)
{
    enum outcome outcome = BEGIN_AGAIN;

    while (outcome == BEGIN_AGAIN) {
        struct context *context = context_enter(event->frame, asker_of(event));

        if (context == NULL)
            return;
        if (is_range && !begin_for_range(context, event))
            outcome = context->slots == NULL ? BEGIN_AGAIN : LOST;
        else
            outcome = write_event(context, event);
        if (outcome == LOST)
            context_lose_event(context);
    }
}

/* Make the event of a block that has been allocated. frame: of the exported function. */
static struct event block_event(enum domain domain, uintptr_t address, size_t size_bytes,
                                enum allocator allocator, uintptr_t frame, const void *caller)
{
    return (struct event){
        .w0 = track_w0(OP_ALLOC, domain, address),
        .w1 = track_w1(size_bytes, allocator, address),
        .address = address,
        .frame = frame,
        .caller = caller,
    };
}

/*
 * A block is not recorded. Acquire: together with the mode it is seen that its release goes a way on
 * which it is looked for. Returns the address.
 */
static uintptr_t pass_over(enum domain domain, uintptr_t address)
{
    if ((process.wanted_mode & PROCESS_DEGRADES) != 0) {
        atomic_thread_fence(memory_order_acquire);
        passed_put(domain, address);
    }
    return address;
}

uintptr_t track_allocated_slow(enum domain domain, uintptr_t address, size_t size_bytes,
                               enum allocator allocator, const void *caller)
{
    struct event event;

    /* The mode is another when this is the event that finds a silence over. */
    if (context_is_silent())
        return address;
    if ((process.wanted_mode & PROCESS_IS_PARTIAL) != 0 && domain != DOMAIN_POOL) {
        if ((process.wanted_mode & PROCESS_SAMPLES) != 0)
            return track_allocated_picked(domain, address, size_bytes, allocator, caller);
        if (size_bytes < process.header->min_size)
            return address;
    }
    event = block_event(domain, address, size_bytes, allocator,
                        (uintptr_t)__builtin_frame_address(0), caller);
    record_allocation(&event, size_bytes, false);
    return address;
}

/*
 * Go on with an event that has taken the chain and is not as usual.
 * is_updated: the chain is up to date, the event's deltas are counted in it.
 */
static __attribute__((noinline)) void
finish_with_stack(struct context *context, struct event *event, size_t size_bytes, bool is_updated)
{
    enum outcome outcome = is_updated ? write_event(context, event) : LOST;

    if (context->slots == NULL) {
        record_allocation(event, size_bytes, false);
        return;
    }
    chain_release(context);
    if (outcome == LOST)
        context_lose_event(context);
    else if (context->sync_bytes >= size_bytes)
        context->sync_bytes -= size_bytes;
}

/*
 * Record an allocation whose own slot can say what is new of its stacks; one attempt. Where nothing has been
 * recorded, the deltas are in scratch all the same.
 */
static inline bool try_short(struct context *context, const struct event *event,
                             const struct chain_news *news, size_t size_bytes)
{
    uint64_t w0 = event->w0 ^ (uint64_t)(OP_ALLOC ^ news->short_op) << SLOT_OP_SHIFT;

    return news->short_op != OP_NOP && size_bytes <= MOVED_MASK &&
           track_try(context, process.epoch, w0, event->w1 | news->short_w1, event->address,
                     size_bytes, true);
}

/* frame: of the function that the hook has called. */
static inline __attribute__((always_inline)) uintptr_t
allocated_stack(enum domain domain, uintptr_t address, size_t size_bytes, enum allocator allocator,
                uintptr_t frame, const struct call_site *site)
{
    struct context *context = context_own;
    struct event event = block_event(domain, address, size_bytes, allocator, frame, site->caller);
    unsigned mode = track_mode();
    struct chain_news news;
    bool is_updated;

    if (context_is_silent())
        return address;
    /* Of what a program says itself nothing is left out. */
    if ((mode & PROCESS_IS_PARTIAL) != 0 && domain != DOMAIN_POOL) {
        if ((mode & PROCESS_SAMPLES) != 0)
            return sample_passes(&context->sample, size_bytes)
                       ? pass_over(domain, address)
                       : track_allocated_picked(domain, address, size_bytes, allocator,
                                                site->caller);
        if (size_bytes < process.header->min_size)
            return address;
    }
    if ((mode & PROCESS_HAS_STACKS) == 0) {
        if (!track_try(context, process.epoch, event.w0, event.w1, address, size_bytes, true))
            record_allocation(&event, size_bytes, false);
        return address;
    }
    if (unlikely(context->epoch != atomic_load_explicit(process.epoch, memory_order_relaxed)) ||
        unlikely(context->sync_bytes < size_bytes) || unlikely(!chain_take(context, frame))) {
        record_allocation(&event, size_bytes, false);
        return address;
    }
    is_updated = chain_update(context, site, &news);
    event.count_deltas = news.count_slots;
    if (likely(is_updated) &&
        (try_short(context, &event, &news, size_bytes) ||
         (likely(event.count_deltas <= 1) &&
          likely(track_try_after(context, event.count_deltas != 0 ? context->scratch : NULL,
                                 process.epoch, event.w0, event.w1, address, size_bytes, true)))))
        chain_release(context);
    else
        finish_with_stack(context, &event, size_bytes, is_updated);
    return address;
}

uintptr_t track_allocated_stack(enum domain domain, uintptr_t address, size_t size_bytes,
                                enum allocator allocator, const void *caller)
{
    return allocated_stack(domain, address, size_bytes, allocator,
                           (uintptr_t)__builtin_frame_address(0),
                           &(struct call_site){caller, NULL});
}

uintptr_t track_allocated_native(enum domain domain, uintptr_t address, size_t size_bytes,
                                 enum allocator allocator, const struct call_site *site)
{
    return allocated_stack(domain, address, size_bytes, allocator,
                           (uintptr_t)__builtin_frame_address(0), site);
}

/* Whether a block is of the sample. ret_mean_bytes: between two picks, as it was for this block. */
static bool is_picked(struct context *context, size_t size_bytes, uint64_t *ret_mean_bytes)
{
    uint64_t mean_bytes = process_sample_mean();

    if (context->sample.random == 0) {
        /* A forked child begins anew in each thread: its contexts have been wiped. */
        uint64_t number = (uint64_t)process.image->number << 32 | context->ring->tid;

        sample_begin(&context->sample, mean_bytes, sys_now_ns() ^ number << 20);
    }
    *ret_mean_bytes = context->sample.mean_bytes;
    return sample_picks(&context->sample, mean_bytes, size_bytes) &&
           ((process.wanted_mode & PROCESS_SKIPS_SMALL) == 0 ||
            size_bytes >= process.header->min_size);
}

/* The level that a block was picked at: 0 when there was no chance in it. */
static uint64_t level_bits(uint64_t mean_bytes, size_t size_bytes)
{
    if (size_bytes >= mean_bytes)
        return 0;
    return (uint64_t)(__builtin_ctzll(mean_bytes) - SAMPLE_LEVEL_SHIFT) << BLOCK_CLASS_SHIFT;
}

/* Record a block of the sample. */
static void record_picked(struct context *context, struct event *event, enum domain domain,
                          size_t size_bytes, uint64_t mean_bytes)
{
    bool has_begun_late = (process.wanted_mode & PROCESS_DEGRADES) != 0;

    /* First: once the program has the block, any thread may release it. */
    if (has_begun_late) {
        passed_take(domain, event->address); /* it was released and nobody saw it */
        event->w1 |= level_bits(mean_bytes, size_bytes);
    } else if (!sample_set_put(domain, event->address)) {
        context_lose_event(context);
        return;
    }
    if (!record_allocation(event, size_bytes, false) && !has_begun_late)
        sample_set_take(domain, event->address);
}

uintptr_t track_allocated_picked(enum domain domain, uintptr_t address, size_t size_bytes,
                                 enum allocator allocator, const void *caller)
{
    struct event event = block_event(domain, address, size_bytes, allocator,
                                     (uintptr_t)__builtin_frame_address(0), caller);
    struct context *context = context_enter(event.frame, asker_of(&event));
    uint64_t mean_bytes;

    if (context == NULL) {
        /* Nobody records now: what comes next is passed over again. */
        if (context_own->sample.random != 0)
            is_picked(context_own, size_bytes, &mean_bytes);
        return address;
    }
    if (!is_picked(context, size_bytes, &mean_bytes))
        return pass_over(domain, address);
    record_picked(context, &event, domain, size_bytes, mean_bytes);
    return address;
}

/*
 * Whether a block may be of those that are recorded. Of a sample's this is certain, and it is taken
 * out; where the sample began in the midst of the recording, most of those that are not in it are known.
 * Where small blocks are left out, its size as asked for is not
 * known here: one that was rounded up past min_size passes, and its release is one of a block that the
 * reader does not know.
 */
static bool may_be_recorded(enum domain domain, uintptr_t address)
{
    unsigned mode = process.wanted_mode;

    if ((mode & PROCESS_DEGRADES) != 0 && domain != DOMAIN_POOL) {
        if (passed_take(domain, address))
            return false;
    } else if ((mode & PROCESS_SAMPLES) != 0 && domain != DOMAIN_POOL) {
        return sample_set_take(domain, address);
    }
    if ((mode & PROCESS_SKIPS_SMALL) == 0 || domain != DOMAIN_HEAP || process.usable_bytes == NULL)
        return true;
    return process.usable_bytes((void *)address) >= process.header->min_size;
}

uintptr_t track_released_slow(enum domain domain, uintptr_t address, enum allocator allocator,
                              const void *caller)
{
    struct event event = {
        .w0 = track_w0(OP_FREE, domain, address),
        .w1 = track_w1(0, allocator, address),
        .address = address,
        .caller = caller,
    };

    if (context_is_silent() || !may_be_recorded(domain, address))
        return 0;
    if (track_try(context_own, process.epoch, event.w0, event.w1, address, 0, false))
        return address;
    event.frame = (uintptr_t)__builtin_frame_address(0);
    record_plain(&event, false);
    return address;
}

/* As track_w1(), for sizes that nobody has checked yet. */
static uint64_t range_w1(size_t size_bytes, enum allocator allocator, uintptr_t address)
{
    return track_w1(size_bytes < BLOCK_BYTES_MASK ? size_bytes : BLOCK_BYTES_MASK, allocator,
                    address);
}

void track_undone(enum domain domain, uintptr_t address, size_t size_bytes,
                  enum allocator allocator, const void *caller)
{
    struct event event = {
        .w0 = track_w0(OP_UNDO, domain, address),
        .w1 = range_w1(size_bytes, allocator, address),
        .address = address,
        .frame = (uintptr_t)__builtin_frame_address(0),
        .caller = caller,
    };

    /* It is there again; where there is no room for it any more, its release will not be told. */
    if ((process.wanted_mode & PROCESS_SAMPLES) != 0 &&
        (process.wanted_mode & PROCESS_DEGRADES) == 0 && domain != DOMAIN_MAP &&
        !sample_set_put(domain, address))
        context_lose_event(NULL);
    record_plain(&event, domain == DOMAIN_MAP);
}

void track_failed(enum domain domain, size_t size_bytes, enum allocator allocator,
                  const void *caller)
{
    struct event event = {
        .w0 = track_w0(OP_FAIL, domain, 0),
        .w1 = range_w1(size_bytes, allocator, 0),
        .frame = (uintptr_t)__builtin_frame_address(0),
        .caller = caller,
    };

    record_allocation(&event, 0, false);
}

/* Make the event of a range. frame: of the exported function. */
static struct event range_event(enum slot_op op, uintptr_t address, uint64_t w1, uintptr_t frame,
                                const void *caller)
{
    return (struct event){
        .w0 = track_w0(op, DOMAIN_MAP, address),
        .w1 = w1,
        .address = address,
        .frame = frame,
        .caller = caller,
    };
}

void track_mapped(uintptr_t address, size_t size_bytes, enum allocator allocator,
                  enum map_class map_class, const void *caller)
{
    uint64_t w1 = range_w1(size_bytes, allocator, address) | (uint64_t)map_class
                                                                 << BLOCK_CLASS_SHIFT;
    struct event event =
        range_event(OP_MAP, address, w1, (uintptr_t)__builtin_frame_address(0), caller);

    record_allocation(&event, size_bytes, true);
}

void track_unmapped(uintptr_t address, size_t size_bytes, enum allocator allocator,
                    const void *caller)
{
    uint64_t w1 = range_w1(size_bytes, allocator, address);
    struct event event =
        range_event(OP_UNMAP, address, w1, (uintptr_t)__builtin_frame_address(0), caller);

    record_plain(&event, true);
}

void track_protected(uintptr_t address, size_t size_bytes, enum map_class map_class,
                     const void *caller)
{
    uint64_t w1 = range_w1(size_bytes, ALLOCATOR_MPROTECT, address) | (uint64_t)map_class
                                                                          << BLOCK_CLASS_SHIFT;
    struct event event =
        range_event(OP_PROTECT, address, w1, (uintptr_t)__builtin_frame_address(0), caller);

    record_plain(&event, true);
}
