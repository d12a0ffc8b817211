/*
 * Marks and phases, and how high the heap was in each phase.
 *
 * Not thread-safe. Time is cut where a phase begins or ends; of each piece the highest heap is kept as
 * long as no later piece is higher, so a phase's peak is that of the first piece kept that is its own.
 */
#ifndef PROFILE_MARKS_H
#define PROFILE_MARKS_H

#include "capture/merge.h"
#include "profile/ledger.h"
#include "profile/live_blocks.h"
#include "profile/profile.h"

#include <stddef.h>
#include <stdint.h>

/* A piece of time. */
struct marks_high {
    uint64_t piece; /* number, growing */
    uint64_t bytes; /* falling from entry to entry */
};

/* All zero bytes is its beginning. */
struct marks {
    struct profile_mark *marks;
    size_t mark_count, mark_capacity;
    struct profile_phase *phases;
    uint64_t *first_pieces; /* of the phases */
    size_t phase_count, phase_capacity, first_capacity;
    struct live_blocks open; /* by process and number; bytes: index in phases */
    struct marks_high *highs;
    size_t high_count, high_capacity;
    uint64_t piece; /* the one that time is in */
};

/* Take a NOTE_MARK. ledger: as it is at that instant. Context: tool. */
void marks_take(struct marks *marks, struct ledger *ledger, const struct event *event);

/* A process has ended, and its phases with it. Context: tool. */
void marks_end_process(struct marks *marks, struct ledger *ledger, uint32_t process_index);

/*
 * There are no more events: what was marked from outside is put between.
 * process_number: only of this one; 0: of all. end_ns: the last instant. Context: tool.
 */
void marks_end(struct marks *marks, struct ledger *ledger, uint32_t process_number,
               uint64_t end_ns);

/*
 * Return what marks_end() would leave of all processes now, while these go on: marks and phases, to be
 * given to marks_finish(). Context: tool.
 */
struct marks marks_so_far(struct marks *marks, struct ledger *ledger);

/* Give it back, but for what its owner has taken and set to NULL. Context: tool. */
void marks_finish(struct marks *marks);

#endif
