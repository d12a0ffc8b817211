/*
 * The one model of a capture: what was live when, by which stack, in which thread.
 *
 * Built in one pass over the events. Memory is O(live blocks + stacks), never O(events). A row is
 * one (stack, thread) pair; everything the reports show is a sum over rows. The peak is exact: each
 * row knows its live bytes at the instant of the highest total.
 *
 * Heap is what counts as heap (docs/format.md section 4): blocks, anonymous and shared maps, brk.
 * Reserved, file and arena maps are counted apart. What a forked child inherited is not counted
 * again: its heap is what it allocated itself. What a process has not released is gone when it ends,
 * and counts as a leak. A release by realloc, mremap or a fixed mmap takes place together with the
 * next event of its thread, so that what is moved is counted once at every instant. A range that is
 * unmapped or changed in part counts once for each part that is left; ranges are never temporary.
 *
 * Blocks of the program's own pools (domain pool) lie in what the heap has counted already, so they are
 * never added to it: each pool has sums of its own, or they are all that is shown.
 *
 * Of a sample (docs/sampling.md) all of it is estimated, but for maps and large blocks. It does not
 * tell what was temporary: there is none then.
 */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include "capture/capture.h"
#include "profile/window.h"

#include <stdbool.h>
#include <stdint.h>

/* Which numbers of a row a report shows. */
enum profile_view {
    VIEW_PEAK = 0,        /* live at the peak of the heap */
    VIEW_LEAKS = 1,       /* live at the end */
    VIEW_ALLOCATED = 2,   /* all that was ever allocated */
    VIEW_TEMPORARY = 3,   /* released with at most so many allocations of its thread in between */
    VIEW_WHOLE_COUNT = 4, /* those of the whole run, which are stored */
    VIEW_WINDOW = 4,      /* a part of the time, where profile_show_window() was asked for one */
    VIEW_COUNT = 5,
};

struct profile_row {
    uint32_t stack;  /* index in capture.stacks */
    uint32_t stream; /* thread: index in capture.threads + 1 */
    struct profile_cost costs[VIEW_COUNT];
};

/* One instant of the timeline: the highest moment of the heap in its bucket. */
struct profile_sample {
    uint64_t time_ns;
    uint64_t heap_bytes;
    uint64_t heap_blocks;
    uint64_t rss_bytes; /* all processes, the most in its bucket; 0 before the first sample */
    uint64_t failed_allocations; /* in its bucket */
    uint64_t allocations;        /* up to its bucket's end; 0: that is not stored */
};

#define PROFILE_NEVER UINT32_MAX

/*
 * Blocks of one row allocated in one bucket and released in another (or the same, when they were
 * live at its sample's instant). Sorted by row, then from_bucket, then to_bucket.
 */
struct profile_interval {
    uint32_t row;
    uint32_t from_bucket; /* first bucket whose sample shows them */
    uint32_t to_bucket;   /* first bucket whose sample does not; sample_count: they went behind the
                             last sample; PROFILE_NEVER: they were not released */
    uint64_t bytes;
    uint64_t allocations;
};

struct profile_totals {
    uint64_t allocations, frees, allocated_bytes;
    uint64_t peak_bytes, peak_allocations, peak_time_ns;
    uint64_t leaked_bytes, leaked_allocations;
    uint64_t temporary_allocations;
    uint64_t peak_rss_bytes;
    uint64_t reserved_peak_bytes, mapped_file_peak_bytes;
    uint64_t unknown_frees, order_violations, lost_events, failed_allocations;
    uint64_t late_news; /* of an aggregated capture: what could not be told in its place */
};

struct profile_allocator {
    uint8_t allocator; /* enum allocator */
    uint64_t allocations, allocated_bytes, peak_bytes;
};

/* By process and by thread; indexed as in the capture. */
struct profile_owner {
    uint64_t allocations, frees, allocated_bytes, peak_bytes;
    uint64_t peak_rss_bytes; /* processes only */
};

/* Allocations of one stack and thread that failed. */
struct profile_failure {
    uint32_t stack, stream; /* as in struct profile_row */
    uint64_t count;
    uint64_t largest_bytes;     /* that was asked for */
    uint64_t first_ns, last_ns; /* since the session's start */
};

/* An instant that a program has marked; in their order. */
struct profile_mark {
    const char *name; /* the capture's */
    uint64_t time_ns;
    uint32_t process_index, stream; /* as indexes in the capture; UINT32_MAX: from outside */
    uint64_t name_number; /* of the name in the capture; from outside: index in capture.marks */
};

/* A phase of a program; by their beginning. */
struct profile_phase {
    const char *name; /* the capture's */
    uint64_t from_ns;
    uint64_t to_ns;      /* of one that has not ended: of its process's end, or of the capture's */
    uint64_t peak_bytes; /* the highest that all that is shown was in it */
    uint32_t process_index, stream; /* as in struct profile_mark; of its beginning */
    bool has_ended;
    uint64_t name_number; /* of the name in the capture */
};

/* A pool of a program's own: its blocks lie in memory that the heap has counted already. */
struct profile_pool {
    uint8_t allocator; /* its name: label_allocator() */
    uint64_t allocations, frees, allocated_bytes, peak_bytes;
    uint64_t leaked_bytes, leaked_allocations; /* never released */
};

enum {
    PROFILE_SIZE_CLASSES = 65, /* class i: sizes of i bits; 0 is size 0 */
    PROFILE_LIFETIMES = 6,     /* < 1 ms, < 10 ms, < 100 ms, < 1 s, longer, to the end */
    PROFILE_BUCKETS = 2048,
};

struct profile {
    const struct capture *capture; /* the owner's */
    struct profile_row *rows;
    uint32_t row_count;
    struct profile_totals totals;
    struct profile_allocator *allocators; /* those that occur, by number */
    uint32_t allocator_count;
    struct profile_owner *processes; /* capture.process_count */
    struct profile_owner *threads;   /* capture.thread_count */
    uint64_t size_allocations[PROFILE_SIZE_CLASSES], size_bytes[PROFILE_SIZE_CLASSES];
    uint64_t lifetimes[PROFILE_LIFETIMES];
    uint64_t standard_errors[VIEW_COUNT]; /* of the view's bytes, in bytes; 0: they are exact */
    struct profile_sample *samples;       /* one a bucket, in time order */
    uint32_t sample_count;                /* at most PROFILE_BUCKETS */
    uint32_t peak_sample;                 /* the one that stands at the peak */
    struct profile_interval *intervals;   /* NULL unless asked for */
    uint64_t interval_count;
    struct profile_failure *failures; /* in the order of their first one */
    uint32_t failure_count;
    struct profile_mark *marks; /* in time order */
    uint32_t mark_count;
    struct profile_phase *phases;
    uint32_t phase_count;
    struct profile_pool *pools; /* by number; none when pools are what the rows show */
    uint32_t pool_count;
    uint64_t end_ns;
    struct profile_window window; /* what VIEW_WINDOW shows */
    struct profile_range range;   /* of it, where that was asked for */
    struct capture_damage damage; /* of the events; the capture's own is in the capture */
};

struct profile_options {
    bool has_intervals;
    bool shows_pools;             /* blocks of pools in place of the heap: never both */
    uint64_t temporary_threshold; /* allocations of the thread in between: memray's N, 1 */
    uint32_t process_number;      /* only this process; 0: all */
    uint32_t tid;                 /* only threads of this id; 0: all */
    bool reads_events;            /* although the capture may have stored what they come to */
    capture_progress *progress;   /* may be NULL */
    void *progress_user;
};

/*
 * Build the model: read all events, or what the capture has stored of them.
 * capture: stays the caller's and must outlive the profile.
 * Returns NULL only when progress gave up. Damage found on the way is in profile->damage. Of an
 * aggregated capture there is only what profile_is_stored(), and else nothing, which counts as damage.
 * Context: tool.
 */
struct profile *profile_build(const struct capture *capture, const struct profile_options *options);

/*
 * Return whether what a capture stores of its events is what these options ask for: all that is to be
 * had of an aggregated one. Context: tool.
 */
bool profile_is_stored(const struct profile_options *options);

/* Give it back; NULL is allowed. Context: tool. */
void profile_destroy(struct profile *profile);

#endif
