/*
 * A capture, opened: every section checked, the names and tables in memory, the events not yet.
 *
 * Runs in the tools. What holds: after capture_open() every id in every table is within its table
 * (0 or smaller than the count), so users need not check again; every payload's checksum is right.
 * A damaged or unfinished capture opens too: state, damage and bounds say what is missing.
 */
#ifndef CAPTURE_CAPTURE_H
#define CAPTURE_CAPTURE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum capture_state {
    CAPTURE_CLEAN = 0,
    CAPTURE_RUNNING = 1,
    CAPTURE_TRUNCATED = 2,
};

struct capture_text {
    const char *text; /* NUL-terminated, the capture's; "" when absent, never NULL */
    uint32_t length_bytes;
};

struct capture_session {
    const char *version, *host, *machine, *directory;
    uint64_t page_bytes, tick_period_us, options;
    uint64_t min_size;     /* smaller blocks were not recorded */
    uint64_t sample_bytes; /* mean between two picks of a sample; 0: there was none */
    uint64_t max_file_bytes, max_overhead_ppm; /* what recording might cost at most; 0: anything */
    uint64_t realtime_ns, monotonic_ns, boottime_ns;
    const char *const *arguments; /* NULL-terminated; what the user asked to run */
    uint32_t argument_count;
    uint8_t uuid[16];
};

struct capture_process {
    uint32_t number; /* 1, 2, ...; not an index */
    uint32_t pid;    /* as the collector saw it; inner_pid when it never did */
    uint32_t inner_pid;
    uint32_t parent_number;
    uint8_t how; /* enum pool_process_how */
    uint8_t end; /* enum process_end; 0: not known to have ended */
    bool is_tracked, is_free_threaded;
    bool has_python_allocators; /* its raw, mem and object domains were recorded */
    int64_t end_code;
    uint64_t first_segment;
    uint64_t started_ns, ended_ns; /* since the session's start; ended_ns 0: has not */
    const char *const *arguments;  /* NULL-terminated */
    uint32_t argument_count;
    const char *executable, *python_version;  /* "" when unknown, not Python */
    const char *python_allocator;             /* of small objects, as CPython calls it; likewise */
    uint64_t counters[16];                    /* enum pool_counter */
    uint64_t last_resident_bytes, skipped_ns; /* read along: see capture_load_rss() */
    bool is_late_child;     /* read once: forked where its parent's blocks are not known any more */
    uint64_t bound_segment; /* events in greater segments are not to be used; UINT64_MAX: all are */
};

struct capture_thread {
    uint32_t stream;        /* 1, 2, ... */
    uint32_t process_index; /* in capture.processes */
    uint32_t tid;
    bool is_main;
    const char *name; /* "" when none */
    uint64_t lost, repaired;
};

struct capture_code {
    struct capture_text file, name;
    const uint8_t *line_table; /* the capture's */
    uint32_t line_table_bytes;
    int32_t first_line;
    uint8_t line_table_kind; /* enum line_table */
    uint8_t flags;           /* enum code_flag */
};

struct capture_node {
    uint32_t parent; /* 0: root */
    uint32_t code;   /* 0: special frame, offset is enum frame_special */
    int32_t offset;  /* of the instruction, bytes */
    bool is_entry;
};

/* Code that native frames lie in. */
struct capture_module {
    const char *path; /* "" when there is none */
    const uint8_t *build_id;
    uint32_t build_id_bytes; /* 0: it has none */
    uint32_t process_index;  /* of MODULE_JIT; else UINT32_MAX */
    uint8_t kind;            /* enum module_kind */
    uint64_t extent_bytes;
    uint64_t file_bytes, changed_ns; /* as it was met; 0: not known */
};

/* What stands at an instruction, as it was called where the capture was made. */
struct capture_place {
    const char *function, *file; /* "" when unknown */
    uint32_t line, column;       /* 0: unknown */
};

/* The places of an address, innermost first. */
struct capture_symbol {
    uint64_t address; /* of an instruction, from the module's load bias */
    uint32_t module;
    uint32_t first_place, place_count; /* in capture.places; 1 or more */
};

struct capture_native_node {
    uint32_t parent; /* 0: root */
    uint32_t module; /* 0: special frame, offset is enum frame_special */
    uint64_t offset; /* from the module's load bias; of MODULE_JIT the address */
    bool is_exact;   /* the instruction itself; else the one behind a call */
    bool is_eval;    /* it runs a group of Python frames */
};

struct capture_stack {
    uint32_t python_node, native_node; /* 0: none */
    uint8_t allocator;                 /* enum allocator */
    uint8_t map_class;                 /* enum map_class */
    uint8_t
        level; /* its blocks were picked with SAMPLE_LEVEL_BYTES(level) in between; 0: as the session says */
};

/* From an instant on small blocks were sampled. */
struct capture_sampling {
    uint64_t time_ns;
    uint8_t level; /* of the pool's header, 1 to SAMPLE_LEVEL_MOST */
    uint8_t cause; /* enum sampling_cause */
};

struct capture_tick {
    uint32_t tick;
    uint64_t time_ns;
};

struct capture_rss {
    uint32_t process_index;
    uint64_t time_ns, resident_bytes, huge_bytes;
};

struct capture_summary {
    bool is_present;
    uint64_t cpu_ns;       /* of the collector */
    uint64_t model_cpu_ns; /* of it, for the model */
    uint64_t ended_ns, events, slots, lost, holes, faults, raw_bytes, rss_bytes;
    const char *reason;          /* "" : ended as it should */
    bool is_snapshot;            /* a copy, up to an instant, of a capture that went on */
    const char *const *failures; /* what was asked for and could not be done; NULL: nothing */
    uint32_t failure_count;
};

/* From an instant on events were recorded or not. */
struct capture_state_change {
    uint64_t time_ns;
    uint8_t state; /* enum pool_state */
    uint8_t cause; /* enum state_cause */
};

/* An instant that was marked from outside. */
struct capture_mark {
    uint64_t time_ns;
    const char *name;       /* the capture's */
    uint32_t process_index; /* UINT32_MAX: not known */
};

/* A limit, in force from an instant on until the next one of its process and kind. */
struct capture_limit {
    uint64_t time_ns, bytes;
    uint32_t process_index; /* UINT32_MAX: the machine's */
    uint32_t cgroup;        /* that has it: index in capture.cgroups; UINT32_MAX: none has */
    uint8_t kind;           /* enum limit_kind */
    bool is_set;            /* false: there is none any more */
};

/* What counted against a limit at an instant. */
struct capture_use {
    uint64_t time_ns, bytes;
    uint32_t owner; /* index in capture.cgroups of USE_CGROUP, of others in capture.processes */
    uint8_t kind;   /* enum use_kind */
};

enum {
    CAPTURE_POOLS = 256, /* as there are allocators */
};

/* Where the first wrong byte is, and what to say about it. */
struct capture_damage {
    bool is_damaged;
    uint64_t offset;
    struct error error;
};

/* A section of the stored model. */
struct capture_model_part {
    const uint8_t *bytes; /* as they stand in the file */
    uint64_t offset;      /* of the payload, for messages */
    uint32_t payload_bytes, raw_bytes;
    uint32_t left_count; /* sections of the model that follow */
    bool is_packed;
};

struct capture_section_entry;

/* All tables are indexed from 0; entry 0 of codes, nodes, modules, native nodes and stacks
 * stands for "none". */
struct capture {
    const char *file; /* its name, as given */
    uint64_t file_bytes;
    enum capture_state state;
    bool is_aggregated; /* it holds what its events come to, not the events */
    struct capture_damage damage;
    struct capture_session session;
    struct capture_process *processes;
    uint32_t process_count;
    struct capture_thread *threads; /* index = stream - 1 */
    uint32_t thread_count;
    struct capture_code *codes;
    uint32_t code_count;
    struct capture_node *nodes;
    uint32_t node_count;
    struct capture_module *modules;
    uint32_t module_count;
    struct capture_native_node *native_nodes;
    uint32_t native_node_count;
    struct capture_symbol *symbols; /* in file order: of two of one address the last one counts */
    size_t symbol_count;
    struct capture_place *places;
    size_t place_count;
    struct capture_stack *stacks;
    uint32_t stack_count;
    struct capture_tick *ticks; /* rising */
    uint32_t tick_count;
    uint32_t tick_base; /* of a capture that is read along: so many before these are not kept */
    struct capture_rss *rss; /* in file order */
    uint32_t rss_count;
    struct capture_state_change *states; /* in time order; none: recorded from the start on */
    uint32_t state_count;
    struct capture_sampling *samplings; /* in time order; none: blocks are as the session says */
    uint32_t sampling_count;
    struct capture_mark *marks; /* in time order */
    uint32_t mark_count;
    struct capture_limit *limits; /* in file order, as are uses: of one owner in time order */
    uint32_t limit_count;
    struct capture_use *uses;
    uint32_t use_count;
    const char **cgroups; /* their paths */
    uint32_t cgroup_count;
    const char **mark_names; /* of marks and phases */
    uint32_t mark_name_count;
    const char *pool_names[CAPTURE_POOLS]; /* by allocator; NULL where it is none of a pool's */
    struct capture_summary summary;
    uint64_t event_payload_bytes; /* EVENTS sections as they stand in the file */
    uint64_t event_record_count;  /* with SYNC and notes */
    uint64_t ended_ns;            /* last instant known */
    /* The reader's own. */
    const uint8_t *bytes;
    struct capture_section_entry *sections; /* EVENTS sections in file order */
    uint32_t section_count;
    bool is_followed;    /* read along (capture/follow.h): nothing of it is mapped, bytes is NULL */
    int follow_fd;       /* then: the file */
    bool is_read_once;   /* then: it is gone once it has been read: nothing can be begun again */
    uint64_t late_count; /* ... news that came too late to be told in their place */
    struct capture_model_part *models; /* in file order; at the end of the capture, or none */
    uint32_t model_count;
    void *memory;
};

/*
 * Called now and then while something long runs. done, total: in the same unit.
 * Returns false to give up.
 */
typedef bool capture_progress(void *user, uint64_t done, uint64_t total);

/*
 * Open a capture and load its tables.
 * path: a regular file. progress: may be NULL.
 * Returns NULL when nothing can be read at all (not there, no permission, not a capture, of an
 * unknown major version, damaged before the first record); err says which. A capture that can be
 * read in part is returned, with damage set.
 * Context: tool.
 */
struct capture *capture_open(const char *path, capture_progress *progress, void *user,
                             struct error *err);

/*
 * Open what stands so far in a capture that is being written, up to the end of a section.
 * fd: stays the caller's. name: for messages. Otherwise as capture_open(); the state is running.
 * Context: tool.
 */
struct capture *capture_open_part(int fd, const char *name, uint64_t size_bytes, struct error *err);

/* Give all of it back; NULL is allowed. Context: tool. */
void capture_close(struct capture *capture);

/* Return how many of the listed ticks are <= a tick: they are the first ones. Context: any thread. */
uint32_t capture_ticks_until(const struct capture *capture, uint32_t tick);

/* Return the time of a tick, as near as is known: that of the last listed tick <= it. */
uint64_t capture_tick_time_ns(const struct capture *capture, uint32_t tick);

/* Return the index of a process by its number, or UINT32_MAX. */
uint32_t capture_process_index(const struct capture *capture, uint32_t number);

/*
 * Return whether a time without recording began at an instant, from one to another, after which events
 * may have been recorded again.
 * Context: tool.
 */
bool capture_has_silence(const struct capture *capture, uint64_t from_ns, uint64_t to_ns);

/* Return whether the capture has blocks that stand for others, or may have. Context: tool. */
static inline bool capture_is_estimate(const struct capture *capture)
{
    return capture->session.sample_bytes > 0 || capture->sampling_count > 0;
}

/* Return the largest mean bytes between two picks; 0: there is no sample. Context: tool. */
uint64_t capture_largest_mean(const struct capture *capture);

/* Return whether blocks might come to be sampled while it was recorded. Context: tool. */
static inline bool capture_has_budget(const struct capture *capture)
{
    return capture->session.max_file_bytes > 0 || capture->session.max_overhead_ppm > 0;
}

/*
 * Return the name of a mark or a phase: the capture's, "" when the number stands for none.
 * Context: tool.
 */
const char *capture_mark_name(const struct capture *capture, uint64_t number);

#endif
