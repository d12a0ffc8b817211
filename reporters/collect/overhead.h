/*
 * What recording costs, beside what the programs use themselves: processor time.
 *
 * The collector's own time and that of the programs are the kernel's; time in the tracker's slow
 * paths is measured there. What events cost in the programs cannot be measured without making them
 * slower: it is taken for OVERHEAD_SLOT_NS each, of a sample for OVERHEAD_PICK_NS. Not counted: what blocks cost that are passed
 * over, and the model thread, which has what nobody else wants of a processor.
 */
#ifndef COLLECT_OVERHEAD_H
#define COLLECT_OVERHEAD_H

#include "collect/session.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    OVERHEAD_SLOT_NS = 8,     /* 4 in C, 6 to 8 with Python's stacks: docs/hot-path.md */
    OVERHEAD_PICK_NS = 150,   /* a block and its release take 0.3 us: docs/sampling.md */
    OVERHEAD_COLLECT_NS = 50, /* of the collector's, with packing: docs/benchmarks.md */
};

/* From the start on. */
struct overhead_sums {
    uint64_t own_ns;       /* processor time of the programs without us */
    uint64_t recording_ns; /* of all that recording takes, in them and in the collector */
    uint64_t blocks_ns;    /* about how much of that would be less if fewer blocks were recorded */
};

struct overhead_process {
    uint32_t number; /* of the one in this slot when it was looked at last */
    uint64_t cpu_ns, slow_ns;
};

/* All zero bytes before the first look. */
struct overhead {
    struct overhead_process *processes; /* POOL_PROCESS_COUNT; NULL: not looked yet */
    uint64_t cpu_ns, slow_ns;           /* of all programs, also those that have ended */
    uint64_t slots, events_ns,
        blocks_ns; /* seen; what they are taken for, in programs and in all */
};

/*
 * Sum up. idle_ns: of the collector's time, what is not to be counted. is_sample: since the last look
 * blocks were sampled. Context: main thread.
 */
struct overhead_sums overhead_look(struct overhead *overhead, struct session *session,
                                   uint64_t idle_ns, bool is_sample);

/* Whether recording takes more than so many parts per million of the programs' own time. Context: any thread. */
bool overhead_exceeds(const struct overhead_sums *sums, uint64_t most_ppm);

/* Whether fewer blocks would make a difference: they are a quarter of it. Context: any thread. */
bool overhead_is_of_blocks(const struct overhead_sums *sums);

/* Return what was added between two looks. Context: any thread. */
struct overhead_sums overhead_between(const struct overhead_sums *before,
                                      const struct overhead_sums *after);

/* Give it back. Context: main thread. */
void overhead_finish(struct overhead *overhead);

#endif
