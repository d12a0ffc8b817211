/*
 * Taking a ring, and telling a handler from a stack that has been left.
 *
 * Runs in the program's threads, at a thread's first event. All signals are blocked meanwhile, so
 * that no handler finds a ring half taken.
 */
#include "record/context.h"

#include "base/arch.h"
#include "base/syscalls.h"
#include "python/allocators.h"
#include "record/process.h"
#include "record/ring.h"
#include "record/segment.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define CLAIM_LIMIT_NS  UINT64_C(1000000000)
#define CLAIM_SLEEP_NS  UINT64_C(100000000)
#define RETURN_LIMIT_NS UINT64_C(50000000)
#define RETURN_SLEEP_NS UINT64_C(5000000)
#define REFUSED_NS      UINT64_C(1000000000)

/* Farther away than this is another stack. */
#define STACK_NEAR_BYTES ((uintptr_t)8 << 20)

/* They stay as they are: their epoch is no process's, their slots are NULL. */
static struct context context_of_nobody;
struct context context_muted;

__thread struct context *context_own __attribute__((tls_model("initial-exec"))) =
    &context_of_nobody;
__thread struct context_held context_held __attribute__((tls_model("initial-exec")));
__thread bool context_has_loaded __attribute__((tls_model("initial-exec")));

/* Make the context of a ring that is ours a new thread's. Memory of its walks is kept. */
static void context_reset(struct context *context, uint32_t ring_index)
{
    memset(context, 0, offsetof(struct context, walk));
    python_walk_forget(&context->walk);
    /* Ring 0 has tag 1: 0 says "nobody". */
    order_join(&process_order, &context->order, (uint16_t)(ring_index + 1));
    context->ring = &process.directory[ring_index];
    context->slots = process.rings + (uint64_t)ring_index * RING_SLOT_COUNT;
    /* The first record is SYNC; begin() has CLOCK written behind it. */
    context->lap = context->ring->start / RING_SLOT_COUNT + 1;
}

static struct context *ring_take(uint32_t ring_index)
{
    struct ring_entry *ring = &process.directory[ring_index];
    uint32_t state = atomic_load_explicit(&ring->state, memory_order_relaxed);

    /* Acquire: the owner before has stopped, the collector has read it all and said so. */
    if (state != RING_FREE ||
        !atomic_compare_exchange_strong_explicit(&ring->state, &state, RING_CLAIMING,
                                                 memory_order_acquire, memory_order_relaxed))
        return NULL;
    /* Before this thread's first segment. */
    if (atomic_fetch_add_explicit(&process.image->rings_claimed, 1, memory_order_relaxed) != 0)
        process_end_alone();
    ring->process = process.image->number;
    ring->tid = sys_thread_id();
    ring->birth = 0;
    ring->start = atomic_load_explicit(&ring->cursor, memory_order_relaxed);
    atomic_store_explicit(&ring->lost, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->repaired, 0, memory_order_relaxed);
    if (process.contexts[ring_index].lap == 0)
        atomic_fetch_add_explicit(&process.image->contexts_touched, 1, memory_order_relaxed);
    context_reset(&process.contexts[ring_index], ring_index);
    /* Release: who sees it owned sees whose it is. */
    atomic_store_explicit(&ring->state, RING_OWNED, memory_order_release);
    return &process.contexts[ring_index];
}

/* Take the lowest free ring of the first so many. */
static struct context *ring_take_any(uint32_t count)
{
    for (uint32_t i = 0; i < count && i < process.ring_count; i++) {
        struct context *context = ring_take(i);

        if (context != NULL)
            return context;
    }
    return NULL;
}

/*
 * Take a ring; wait for one as for room in a ring. When all that there can be are taken, one of a
 * thread that has ended may come back soon, or none. A process that has waited in vain does not wait
 * again for a while: a thread without a ring comes here at each event.
 */
static struct context *ring_wait_for(void)
{
    uint64_t moved_ns = sys_now_ns(), refused_ns = process.image->refused_ns;
    bool may_wait = refused_ns == 0 || moved_ns - refused_ns > REFUSED_NS;
    uint32_t asked_for = 0;

    for (;;) {
        /* Acquire: a ring that is ready has memory. */
        uint32_t ready = atomic_load_explicit(&process.header->rings_ready, memory_order_acquire);
        struct context *context = ring_take_any(ready);
        bool can_grow = ready < process.ring_count;

        if (context != NULL || !may_wait)
            return context;
        if (ready != asked_for) {
            atomic_fetch_add_explicit(&process.header->ring_requests, 1, memory_order_relaxed);
            asked_for = ready;
            moved_ns = sys_now_ns(); /* others have been given some: our turn comes */
        }
        if (process_lost_collector() ||
            sys_now_ns() - moved_ns > (can_grow ? CLAIM_LIMIT_NS : RETURN_LIMIT_NS))
            break;
        process_ring_doorbell();
        /* Long: we are woken when there is one, and many who look again and again are a burden. */
        sys_futex_wait(&process.header->rings_ready, ready,
                       can_grow ? CLAIM_SLEEP_NS : RETURN_SLEEP_NS);
    }
    process.image->refused_ns = sys_now_ns();
    return NULL;
}

/* Write the first records into a ring that is ours. */
static bool begin(struct context *context, uintptr_t frame)
{
    if (!segment_begin(context, SYNC_CLAIM, frame) || !ring_write_clock(context))
        return false;
    context->epoch = atomic_load_explicit(process.epoch, memory_order_relaxed);
    process_follow_level();
    process_tell_totals();
    return true;
}

/*
 * Give the calling thread a ring and a context, and its process a slot if it is a new child.
 * Returns NULL when there is none to be had.
 */
static struct context *claim(uintptr_t frame)
{
    uint64_t signals = sys_block_signals();
    bool is_muted = context_own == &context_muted;
    struct context *claimed;

    /* A handler's event, or an arena's: the allocator's others are out already. */
    if (is_muted)
        context_own = context_held.context;
    if (context_own->slots == NULL && process_claim()) {
        struct context *context;

        process.image->claims++;
        context = ring_wait_for();
        process.image->claims--;
        if (context != NULL)
            context_own = context;
    }
    /*
     * A handler may have been faster than we were. A ring that is ours but had no room for its first
     * records is tried again.
     */
    if (context_own->epoch == 0 && context_own->slots != NULL)
        begin(context_own, frame);
    claimed = context_own->epoch != 0 ? context_own : NULL;
    if (is_muted) {
        context_held.context = context_own;
        context_own = &context_muted;
    }
    sys_restore_signals(signals);
    return claimed;
}

/*
 * Something has changed since the thread looked last, if only the time.
 * Returns false when there was no room to say so.
 */
static bool refresh(struct context *context, uint32_t epoch, uintptr_t frame)
{
    uint64_t began_ns = sys_now_ns();
    uint64_t waited_ns = context->wait_ns;
    bool has_begun;

    context->epoch = epoch;
    python_keep_allocators();
    process_follow_level();
    has_begun = segment_begin(context, SYNC_EPOCH, frame);
    process_tell_totals();
    process_count(COUNTER_SLOW_NS, sys_now_ns() - began_ns - (context->wait_ns - waited_ns));
    return has_begun;
}

bool context_is_muted(uintptr_t frame)
{
    if (context_own != &context_muted)
        return false;
    if (!context_has_left(context_held.frame, frame))
        return true;
    context_own = context_held.context;
    return false;
}

/* Whether an event of a muted thread is the allocator's own. */
static bool is_muted(uintptr_t frame, const void *caller)
{
    return context_is_muted(frame) && process_is_provider(caller);
}

/*
 * This thread has called dlopen(): there may be an interpreter now. The loader relocates all that it
 * loads before it runs any of it, so once somebody else than the loader calls us in this thread, what
 * there is to find is complete.
 */
static void look_for_python(const void *caller)
{
    int errno_of_program = errno;

    if (process_is_loader(caller))
        return;
    context_has_loaded = false;
    process_find_python(); /* asks the loader */
    errno = errno_of_program;
}

struct context *context_enter(uintptr_t frame, const void *caller)
{
    bool is_recording = process_is_recording();
    struct context *context;
    uint32_t epoch;

    if ((!is_recording && (process.header == NULL || !context_has_loaded)) ||
        is_muted(frame, caller))
        return NULL;
    if (unlikely(context_has_loaded))
        look_for_python(caller);
    if (!is_recording)
        return NULL;
    context = context_own == &context_muted ? context_held.context : context_own;
    if (context->epoch == 0) {
        context = process_is_refused() ? NULL : claim(frame);
        if (context == NULL) {
            context_lose_event(NULL);
            return NULL;
        }
    }
    epoch = atomic_load_explicit(process.epoch, memory_order_relaxed);
    if (context->epoch != epoch && !refresh(context, epoch, frame)) {
        context_lose_event(context);
        return NULL;
    }
    return context;
}

void context_lose_event(struct context *context)
{
    if (context == NULL || context->slots == NULL) {
        if (process_is_followed())
            process_count(COUNTER_LOST, 1);
        return;
    }
    context->must_pop = true; /* a delta may be among what is lost */
    context->lost++;
    /* Relaxed: a tally of ours alone. */
    atomic_store_explicit(&context->ring->lost,
                          atomic_load_explicit(&context->ring->lost, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

bool context_has_left(uintptr_t frame, uintptr_t frame_now)
{
    return frame_now >= frame && frame_now - frame < STACK_NEAR_BYTES && !sys_is_on_signal_stack();
}
