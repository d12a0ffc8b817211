/*
 * Our slot in the process table, and the end of recording.
 *
 * Runs in the program's threads, on slow paths. What a forked child must not inherit lies in wiped
 * memory; that it is zero is how a child knows that it is one. What it may inherit (the pool, the
 * page tags, the counter of segments) it goes on with from its copy.
 *
 * Relaxed, where nothing is said: words that say only themselves.
 */
#include "record/process.h"

#include "base/arch.h"
#include "base/syscalls.h"
#include "python/allocators.h"
#include "python/walk.h"
#include "record/context.h"
#include "record/names.h"
#include "record/passed.h"
#include "record/sample_set.h"
#include "unwind/unwind.h"

#include <linux/futex.h>
#include <sys/mman.h>

enum process_image_state {
    IMAGE_NEW = 0, /* a forked child that has not recorded yet */
    IMAGE_CLAIMING = 1,
    IMAGE_LIVE = 2,
    IMAGE_REFUSED = 3, /* there is no slot for it, or it is not to be followed */
};

enum {
    IMAGE_BYTES = 4096,
    PAGE_MAX_BYTES = 65536,
};

#define CLAIM_LIMIT_NS UINT64_C(1000000000)

enum {
    EPOCH_OF_NOBODY = 1,
};

/* No context's epoch is 1 while this is looked at: those that are not claimed have 0. */
static _Atomic uint32_t epoch_of_nobody = EPOCH_OF_NOBODY;

/* Nor is it 0 in one that is claimed; those that are not have no slots, which is looked at next. */
static _Atomic uint32_t epoch_of_none;

struct process process = {
    .epoch = &epoch_of_nobody, .usual_epoch = &epoch_of_nobody, .silent_epoch = EPOCH_OF_NOBODY};
struct order process_order;

static void slot_fill(struct pool_process *slot, enum pool_process_how how)
{
    uint32_t number =
        atomic_fetch_add_explicit(&process.header->next_process, 1, memory_order_relaxed) + 1;

    slot->pid = sys_process_id();
    if (slot->pid == 0)
        slot->pid = sys_thread_id(); /* a child's first thread, which is the one to come here */
    slot->parent_number = process.parent_number;
    slot->how = (uint8_t)(how == PROCESS_BY_EXEC && number == 1 ? PROCESS_BY_START : how);
    slot->flags = process.flags;
    slot->first_segment = atomic_load_explicit(&process_order.next_segment, memory_order_relaxed);
    slot->started_ns = sys_now_ns();
    process.walks_failed_before = python_walks_failed();
    process.names_lost_before = python_names_lost();
    process.stuck_before = unwind_stuck_count();
    if (atomic_load_explicit(&slot->epoch, memory_order_relaxed) == 0)
        atomic_store_explicit(&slot->epoch, 1, memory_order_relaxed);
    atomic_store_explicit(&slot->number, number, memory_order_relaxed);
    /* Release: who sees LIVE sees the rest. */
    atomic_store_explicit(&slot->state, PROCESS_LIVE, memory_order_release);

    process.slot = slot;
    process.epoch = &slot->epoch;
    atomic_store_explicit(&process.usual_epoch,
                          (process.wanted_mode & PROCESS_IS_PARTIAL) != 0 ? &epoch_of_none
                                                                          : process.epoch,
                          memory_order_relaxed);
    process.parent_number = number;
    process.image->pid = slot->pid;
    process.image->number = number;
}

static void follow_mode(void)
{
    if (process.follow_mode != NULL)
        process.follow_mode();
}

void process_follow_level(void)
{
    uint32_t level = atomic_load_explicit(&process.header->sample_level, memory_order_relaxed);

    if (level == 0 || (process.wanted_mode & PROCESS_SAMPLES) != 0)
        return;
    passed_prepare();
    /*
     * First of all, no release goes the way of before any more. Release, below: who sees the mode and passes
     * over a block, and whoever gets that block from there, sees this too (track.c: pass_over()).
     */
    atomic_store_explicit(&process.usual_epoch, &epoch_of_none, memory_order_relaxed);
    __atomic_store_n(&process.apart_bytes, SIZE_MAX, __ATOMIC_RELAXED);
    atomic_fetch_or_explicit(&process.wanted_mode, PROCESS_SAMPLES | PROCESS_DEGRADES,
                             memory_order_release);
    if (!process_is_silent())
        atomic_store_explicit(&process.mode, process.wanted_mode, memory_order_release);
    follow_mode();
}

uint64_t process_sample_mean(void)
{
    uint32_t level;

    if ((process.wanted_mode & PROCESS_DEGRADES) == 0)
        return process.sample_bytes;
    level = atomic_load_explicit(&process.header->sample_level, memory_order_relaxed);
    /* Not 0: the pool has been let go. */
    if (level == 0 || level > SAMPLE_LEVEL_MOST)
        level = SAMPLE_LEVEL_MOST;
    return SAMPLE_LEVEL_BYTES(level);
}

bool process_open(struct pool_header *header, size_t mapped_bytes, uint32_t ring_count,
                  uint32_t slot_index)
{
    char *pool = (char *)header;
    size_t context_bytes = ring_count * sizeof(struct context);
    char *wiped = sys_map_wiped(IMAGE_BYTES + context_bytes);

    if (wiped == NULL)
        return false;
    process.image = (struct process_image *)wiped;
    process.contexts = (struct context *)(wiped + IMAGE_BYTES);
    process.header = header;
    process.mapped_bytes = mapped_bytes;
    process.table = (struct pool_process *)(pool + header->process_offset);
    process.directory = (struct ring_entry *)(pool + header->directory_offset);
    process.rings = (struct slot *)(pool + header->rings_offset);
    process.death_word = (_Atomic uint32_t *)(pool + header->death_word_offset);
    process.ring_count = process.context_count = ring_count;
    if (header->min_size > 0)
        process.wanted_mode |= PROCESS_SKIPS_SMALL;
    if (header->sample_bytes > 0)
        process.wanted_mode |= PROCESS_SAMPLES;
    if ((header->options & POOL_OPTION_NATIVE) != 0) {
        python_marks_boundaries = unwind_prepare();
        if (python_marks_boundaries)
            process.wanted_mode |= PROCESS_WALKS_NATIVE;
        else
            process.flags |= PROCESS_HAS_NO_UNWINDER;
    }
    process.sample_bytes = header->sample_bytes;
    process_follow_level();
    process.mode = process.wanted_mode;
    follow_mode();
    process.silent_epoch = 0; /* until somebody has looked; no slot's epoch is 0 */
    /* Segment 0 is left out: a highest segment of 0 says "none yet". */
    atomic_store_explicit(&process_order.next_segment, 1, memory_order_relaxed);
    slot_fill(&process.table[slot_index], PROCESS_BY_EXEC);
    process.image->state = IMAGE_LIVE;
    return true;
}

/* Take a free slot for a forked child. */
static bool slot_take(void)
{
    for (uint32_t i = 0; i < process.header->process_count; i++) {
        struct pool_process *slot = &process.table[i];
        uint32_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);

        /* Acquire: what the collector did to the slot before it gave it back is over. */
        if (state != PROCESS_FREE ||
            !atomic_compare_exchange_strong_explicit(&slot->state, &state, PROCESS_CLAIMED,
                                                     memory_order_acquire, memory_order_relaxed))
            continue;
        slot_fill(slot, PROCESS_BY_FORK);
        return true;
    }
    return false;
}

/* Take a slot, waiting for one as for room in a ring. Runs in one thread of the child. */
static enum process_image_state child_enter(void)
{
    uint64_t began_ns = sys_now_ns();

    process.is_alone = false; /* our parent was */
    if (!process_is_followed())
        return IMAGE_REFUSED;
    process_begin_alone();
    while (!slot_take()) {
        if (process_lost_collector() || sys_now_ns() - began_ns > CLAIM_LIMIT_NS)
            return IMAGE_REFUSED;
        process_ring_doorbell();
        sys_sleep(UINT64_C(1000000));
    }
    return IMAGE_LIVE;
}

bool process_claim(void)
{
    uint32_t state = IMAGE_NEW;
    uint64_t began_ns;

    if (atomic_compare_exchange_strong(&process.image->state, &state, IMAGE_CLAIMING)) {
        state = child_enter();
        /* Release: threads that see LIVE see our slot and epoch. */
        atomic_store_explicit(&process.image->state, state, memory_order_release);
        return state == IMAGE_LIVE;
    }
    /* Another thread of the child is at it: it has its signals blocked and comes to an end. */
    for (began_ns = sys_now_ns(); state == IMAGE_CLAIMING;) {
        if (sys_now_ns() - began_ns > 2 * CLAIM_LIMIT_NS)
            return false;
        arch_pause();
        state = atomic_load_explicit(&process.image->state, memory_order_acquire);
    }
    return state == IMAGE_LIVE && !process_is_borrowed();
}

void process_find_python(void)
{
    uint64_t options = process.header->options;

    if ((options & (POOL_OPTION_PYTHON | POOL_OPTION_PYTHON_ALLOCATORS)) == 0)
        return;
    python_find_runtime();
    if (!python_is_ready)
        return;
    /* Without a GIL its objects lie in an allocator of its own, of which only maps would be seen. */
    if ((options & POOL_OPTION_PYTHON_ALLOCATORS) != 0 || python_is_free_threaded())
        python_trace_allocators();
    if ((options & POOL_OPTION_PYTHON) == 0)
        return;
    process.wanted_mode |= PROCESS_WALKS_PYTHON;
    if (!process_is_silent())
        process.mode = process.wanted_mode;
    follow_mode();
}

bool process_is_refused(void)
{
    return atomic_load_explicit(&process.image->state, memory_order_relaxed) == IMAGE_REFUSED;
}

bool process_is_followed(void)
{
    return (process.header->options & POOL_OPTION_FOLLOW) != 0;
}

bool process_is_borrowed(void)
{
    /* A forked child's is zero until it takes a slot. */
    return !sys_makes_no_calls() && process.image->pid != 0 &&
           process.image->pid != sys_process_id();
}

void process_begin_alone(void)
{
    process.is_alone = sys_prepare_fence();
}

void process_end_alone(void)
{
    if (!process.is_alone)
        return;
    process.is_alone = false;
    sys_fence_threads();
}

bool process_has_threads(void)
{
    return process.image->rings_claimed > 1;
}

bool process_lost_collector(void)
{
    uint32_t word = atomic_load_explicit(process.death_word, memory_order_relaxed);

    if (word != 0 && (word & FUTEX_OWNER_DIED) == 0)
        return false;
    process.is_off = true;
    return true;
}

/*
 * Put memory of our own in the pool's place: a store that is still on its way then hits nothing that
 * others read. Without memory for that, the pool stays.
 */
static void let_go_of_pool(void)
{
    if (atomic_exchange(&process.is_off, true))
        return;
    if (process.image->state == IMAGE_LIVE && !process_is_borrowed())
        atomic_store_explicit(&process.slot->state, PROCESS_DETACHED, memory_order_release);
    sys_map_over(process.header, process.mapped_bytes);
}

/* Whether one of our threads has a ring from this number on. */
static bool has_ring_from(uint32_t first)
{
    uint32_t ready = atomic_load_explicit(&process.header->rings_ready, memory_order_acquire);

    for (uint32_t i = first; i < ready; i++)
        if (atomic_load_explicit(&process.directory[i].state, memory_order_acquire) != RING_FREE &&
            process.directory[i].process == process.image->number)
            return true;
    return false;
}

/* Of any size that a machine may have. */
static size_t whole_pages(size_t size_bytes)
{
    return (size_bytes + PAGE_MAX_BYTES - 1) & ~(size_t)(PAGE_MAX_BYTES - 1);
}

/* Unmap what lies behind the first so many rings and contexts. */
static void unmap_from(uint32_t ring_count)
{
    size_t kept_bytes = whole_pages(process.header->rings_offset + (size_t)ring_count * RING_BYTES);
    size_t context_bytes = whole_pages(ring_count * sizeof(struct context));
    size_t all_bytes = process.context_count * sizeof(struct context);

    if (kept_bytes < process.mapped_bytes)
        sys_unmap((char *)process.header + kept_bytes, process.mapped_bytes - kept_bytes);
    if (context_bytes < all_bytes)
        sys_unmap((char *)process.contexts + context_bytes, all_bytes - context_bytes);
    process.mapped_bytes = kept_bytes;
}

void process_keep_few_rings(void)
{
    uint32_t before = process.ring_count, count;

    if (process.header == NULL || process.is_off || process.image->state != IMAGE_LIVE)
        return;
    count = atomic_load_explicit(&process.header->rings_ready, memory_order_acquire);
    if (count < POOL_RINGS_OF_SMALL_TARGET)
        count = POOL_RINGS_OF_SMALL_TARGET;
    if (count >= before)
        return;
    /* Sequentially consistent, both here and where a claim begins: one of us sees the other. */
    process.ring_count = count;
    if (process.image->claims != 0 || has_ring_from(count))
        process.ring_count = before;
    else
        unmap_from(count);
}

/* Nothing is recorded in this epoch: events take the shortest way. */
static void begin_silence(uint32_t epoch)
{
    process.mode = 0;
    process.silent_epoch = epoch;
}

static void end_silence(void)
{
    process.silent_epoch = 0;
    process.mode = process.wanted_mode;
}

bool process_is_recording(void)
{
    /* Acquire: an epoch that was begun for a new state is seen with it. */
    uint32_t epoch = atomic_load_explicit(process.epoch, memory_order_acquire), state;

    if (process.header == NULL)
        return false;
    if (process.is_off) {
        begin_silence(epoch);
        return false;
    }
    state = atomic_load_explicit(&process.header->state, memory_order_relaxed);
    if (state == POOL_RECORDING) {
        if (process.silent_epoch != 0)
            end_silence();
        return true;
    }
    begin_silence(epoch);
    if (state == POOL_ENDED) {
        let_go_of_pool();
        begin_silence(atomic_load_explicit(process.epoch, memory_order_relaxed));
    }
    return false;
}

void process_next_epoch(void)
{
    uint32_t epoch = atomic_load_explicit(process.epoch, memory_order_relaxed);

    /* The collector adds too, and 0 is nobody's. */
    while (!atomic_compare_exchange_weak_explicit(process.epoch, &epoch,
                                                  epoch + 1 == 0 ? 1 : epoch + 1,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

/* At most what we have touched: of the tables, all. */
static uint64_t memory_bytes(void)
{
    uint64_t contexts =
        atomic_load_explicit(&process.image->contexts_touched, memory_order_relaxed);

    return sizeof(process) + sizeof(process_order) + IMAGE_BYTES +
           contexts * sizeof(struct context) + python_memory_bytes() + names_memory_bytes() +
           ((process.wanted_mode & PROCESS_WALKS_NATIVE) != 0 ? unwind_memory_bytes() : 0) +
           ((process.wanted_mode & PROCESS_SAMPLES) == 0    ? 0
            : (process.wanted_mode & PROCESS_DEGRADES) != 0 ? passed_bytes()
                                                            : sample_set_bytes());
}

static void tell(enum pool_counter counter, uint64_t total)
{
    atomic_store_explicit(&process.slot->counters[counter], total, memory_order_relaxed);
}

void process_tell_totals(void)
{
    tell(COUNTER_WALKS_FAILED, python_walks_failed() - process.walks_failed_before);
    tell(COUNTER_NAMES_LOST, python_names_lost() - process.names_lost_before);
    tell(COUNTER_UNWINDER, unwind_stuck_count() - process.stuck_before);
    tell(COUNTER_PYTHON_REFUSED, python_interpreters_refused());
    tell(COUNTER_MEMORY_BYTES, memory_bytes());
}

void process_count(enum pool_counter counter, uint64_t amount)
{
    atomic_fetch_add_explicit(&process.slot->counters[counter], amount, memory_order_relaxed);
}

void process_ring_doorbell(void)
{
    struct pool_header *header = process.header;

    /*
     * In this order, as the collector says first that it sleeps and then looks: either it finds
     * another number, or we find it sleeping. It is woken once, by whoever may make the call.
     */
    atomic_fetch_add(&header->doorbell, 1);
    if (!sys_makes_no_calls() && atomic_exchange(&header->collector_sleeping, 0) != 0)
        sys_futex_wake(&header->doorbell, 1);
}

void process_wake_collector(void)
{
    if (atomic_load_explicit(&process.header->collector_sleeping, memory_order_relaxed) != 0)
        process_ring_doorbell();
}
