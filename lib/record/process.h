/*
 * This process's place in the session: the pool that it maps, its slot in the process table, and
 * what all its threads share.
 *
 * Filled in once at start-up, before any thread records; a forked child takes a slot of its own at
 * its first event. What holds: threads look at process.epoch before anything else, and it differs
 * from the epoch of every context as long as there is nothing to record to.
 */
#ifndef RECORD_PROCESS_H
#define RECORD_PROCESS_H

#include "memtrack/protocol.h"
#include "record/order.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context;

/* How much work an allocation is; 0: the hot path does it all. */
enum process_mode {
    PROCESS_WALKS_PYTHON = 1u << 0,
    PROCESS_SKIPS_SMALL = 1u << 1, /* min_size */
    PROCESS_WALKS_NATIVE = 1u << 3,
    PROCESS_DEGRADES = 1u << 2, /* it samples since sample_level: what was before is recorded */
    PROCESS_SAMPLES = 1u << 31, /* sample_bytes; the sign, which malloc() has at hand */
};

/* Events have stacks. */
#define PROCESS_HAS_STACKS (PROCESS_WALKS_PYTHON | PROCESS_WALKS_NATIVE)

/* Not all blocks are recorded: releases too have to be looked at. */
#define PROCESS_IS_PARTIAL (PROCESS_SKIPS_SMALL | PROCESS_SAMPLES)

struct process {
    /* Read by the hot path; constant between the start (or a child's first event) and the end. */
    _Atomic uint32_t *epoch; /* of our slot; before there is one, a word that no context matches */
    /* When the process is partial, which it may become, such a word: no event is the usual one then. */
    _Atomic uint32_t *_Atomic usual_epoch;
    _Atomic uint32_t mode; /* enum process_mode; 0 while nothing is recorded */
    _Atomic bool is_alone; /* one thread has a ring, and until another has it looks at no page */
    /* Blocks that free() hands to another function at once: of before the beginning; in a sample all. */
    uintptr_t apart_start;
    /*
     * Grows when the process begins to sample: stored as an atomic word. free() reads it as a plain one, as
     * gcc compares no atomic word where it lies: an instruction more in each release.
     */
    size_t apart_bytes;
    /* Constant once started. */
    struct pool_header *header;
    struct pool_process *table;
    struct ring_entry *directory;
    struct slot *rings;
    _Atomic uint32_t *death_word;
    struct context *contexts;    /* one for each ring; wiped memory */
    uint32_t context_count;      /* when it was mapped */
    struct process_image *image; /* wiped memory */
    uint64_t sample_bytes;       /* of the header, which may be gone at the end */
    /* Changing. */
    _Atomic uint32_t silent_epoch; /* process_is_silent() */
    _Atomic uint32_t wanted_mode;  /* the mode while events are recorded */
    _Atomic uint32_t ring_count;   /* how many rings we have mapped; may fall once */
    size_t mapped_bytes;           /* of the pool, from header on */
    struct pool_process *slot;
    _Atomic uint32_t parent_number;      /* for the child that is forked next: our own number */
    _Atomic bool is_off;                 /* for good: nobody drains, or the session is over */
    uint8_t flags;                       /* enum pool_process_flag, for our slots */
    void (*follow_mode)(void);           /* called when wanted_mode is another; or NULL */
    size_t (*usable_bytes)(void *block); /* of the allocator: at least as asked for; may be NULL */
    uint64_t walks_failed_before;        /* of the process that forked us */
    uint64_t names_lost_before;
    uint64_t stuck_before;
    uintptr_t loader_start; /* the dynamic loader, likewise */
    uintptr_t loader_end;
    uintptr_t provider_start; /* the object whose malloc we call, as far as it is mapped */
    uintptr_t provider_end;
};

/* What a forked child finds zeroed. */
struct process_image {
    _Atomic uint32_t state; /* enum process_image_state */
    _Atomic uint32_t number;
    _Atomic uint32_t pid;
    _Atomic uint32_t rings_claimed;
    _Atomic uint32_t claims;           /* threads that are about to take a ring */
    _Atomic uint64_t refused_ns;       /* when a thread last waited for a ring in vain; 0: never */
    _Atomic uint32_t contexts_touched; /* that cost memory */
    _Atomic bool has_announced_python;
    _Atomic bool has_announced_frames; /* Python again, once it runs: with its allocator */
    _Atomic uint64_t phases;           /* numbers that have been given to them */
};

/* Hidden is said here too: only then does the compiler address them without a table between. */
extern struct process process __attribute__((visibility("hidden")));
extern struct order process_order __attribute__((visibility("hidden")));

/*
 * Take part in a session.
 * header: the pool, mapped shared and checked, with ring_count rings at least; stays mapped.
 * slot_index: our slot in the process table, claimed for us.
 * Returns false when there is no memory for the threads' contexts: nothing has been done.
 * Context: start-up.
 */
bool process_open(struct pool_header *header, size_t mapped_bytes, uint32_t ring_count,
                  uint32_t slot_index);

/*
 * Make sure that this process has a slot of its own: a forked child takes one here.
 * Returns false when it has none, or when the memory is another process's (vfork): no event may be
 * recorded from here.
 * Context: hot path (slow paths only), all signals blocked.
 */
bool process_claim(void);

/*
 * Look for a Python interpreter whose stacks are to be recorded, if they are wanted. Cheap when
 * there is none; safe to repeat.
 * Context: start-up, or any thread outside the loader's lock.
 */
void process_find_python(void);

/*
 * Begin to sample, when the collector wants that. What was recorded before is released as it was
 * recorded; threads that have not seen it yet record all, as before.
 * Context: start-up, hot path (slow paths only).
 */
void process_follow_level(void);

/* Return the mean bytes between two picks that the collector wants now. Context: hot path (slow paths only). */
uint64_t process_sample_mean(void);

/* Whether process_claim() would fail for good. Context: hot path (slow paths only). */
bool process_is_refused(void);

/* Whether a child that is refused is a loss: children are to be followed. Context: any thread. */
bool process_is_followed(void);

/* Whether an address lies in the object that provides malloc. Context: hot path. */
static inline bool process_is_provider(const void *address)
{
    return (uintptr_t)address - process.provider_start <
           process.provider_end - process.provider_start;
}

/* Whether it lies in the dynamic loader. Context: hot path. */
static inline bool process_is_loader(const void *address)
{
    return (uintptr_t)address - process.loader_start < process.loader_end - process.loader_start;
}

/*
 * Whether the memory is another process's: this is a child of vfork. Once a filter is expected,
 * nobody can tell: false.
 * Context: any thread.
 */
bool process_is_borrowed(void);

/*
 * From now on, as long as a single thread records, it need not look at the tags of pages. Does
 * nothing where that could not be taken back in time.
 * Context: start-up, or a forked child before its first thread has a ring.
 */
void process_begin_alone(void);

/*
 * A second thread is about to record, or to make it impossible for us to say so: the first one looks
 * at tags from now on. What it has recorded without stands in segments begun before this returns.
 * Context: any thread.
 */
void process_end_alone(void);

/* Whether more than one thread has recorded. Context: hot path. */
bool process_has_threads(void);

/*
 * Whether the collector has died. Recording then ends for good, here.
 * Context: hot path (slow paths only).
 */
bool process_lost_collector(void);

/*
 * Whether events are recorded now. Sees to it that the pool is let go once the session has ended, and
 * that little is done for events as long as nothing is recorded.
 * Context: hot path (slow paths only).
 */
bool process_is_recording(void);

/*
 * Whether it is known that nothing is recorded: the state was looked at in this epoch, which ends when
 * the state changes.
 * Context: hot path (slow paths only).
 */
static inline bool process_is_silent(void)
{
    /* Relaxed: whoever sees another epoch looks at the state with it. */
    return atomic_load_explicit(process.epoch, memory_order_relaxed) ==
           atomic_load_explicit(&process.silent_epoch, memory_order_relaxed);
}

/*
 * Give back the address space of rings that do not have memory yet: from now on no more threads can
 * record than do or may now. Does nothing while a thread is about to take a ring.
 * Context: any thread.
 */
void process_keep_few_rings(void);

/* Add 1 to the epoch, so that every thread begins a segment. Context: any thread. */
void process_next_epoch(void);

/*
 * Write into our counters what others count: the walkers' failures, our memory.
 * Context: hot path (slow paths only).
 */
void process_tell_totals(void);

/* Add to one of our counters. Context: hot path (slow paths only). */
void process_count(enum pool_counter counter, uint64_t amount);

/* Wake the collector if it sleeps. Context: hot path (slow paths only). */
void process_ring_doorbell(void);

/*
 * Wake the collector if it sleeps now: one that is at work comes by anyway.
 * Context: hot path (slow paths only).
 */
void process_wake_collector(void);

#endif
