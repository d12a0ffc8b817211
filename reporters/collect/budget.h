/*
 * What recording may cost at most: bytes of the capture, part of the programs' processor time.
 *
 * Main thread. All blocks are recorded until a budget is hit; then small ones are sampled, more and
 * more coarsely (docs/sampling.md), by steps that are in the capture. The size is kept: when not even
 * the coarsest sample does, recording ends. Of the time it is only said that it could not be kept.
 */
#ifndef COLLECT_BUDGET_H
#define COLLECT_BUDGET_H

#include "collect/collect.h"
#include "collect/control.h"
#include "collect/model_thread.h"
#include "collect/overhead.h"
#include "collect/session.h"

#include <stdbool.h>
#include <stdint.h>

/* All zero but for what budget_init() fills in. */
struct budget {
    const struct collect_options *options; /* the caller's */
    struct session *session;
    struct control *control;
    const struct model_thread *model;
    uint32_t level;      /* in force; 0: all blocks are recorded */
    uint64_t stepped_ns; /* when it was last raised */
    unsigned file_steps; /* of the size's that have been passed */
    uint64_t model_ns;   /* processor time of the model thread, which is not counted */
    struct overhead overhead;
    struct overhead_sums sums; /* at the last look that was decided on */
    uint64_t looked_ns;
    bool is_settling;  /* since then the level has been raised */
    bool has_given_up; /* on the time, and said so */
};

/*
 * Begin, once the pack thread is there. All pointers stay the caller's, until budget_finish().
 * Context: main thread.
 */
void budget_init(struct budget *budget, const struct collect_options *options,
                 struct session *session, struct control *control,
                 const struct model_thread *model);

/* Do what is to be done now. Context: main thread. */
void budget_look(struct budget *budget);

/* Return how long to wait until another look is due; at most so long. Context: main thread. */
int budget_wait_ms(const struct budget *budget, int most_ms);

/*
 * Return how many bytes a model may take; UINT64_MAX: any number. Context: main thread, behind the
 * last events.
 */
uint64_t budget_model_bytes(const struct budget *budget, const struct capture_writer *writer);

/* Say when the capture has become too large all the same. Context: main thread, before SUMMARY. */
void budget_judge(const struct budget *budget, const struct capture_writer *writer);

/* Give it back; one that was not begun too. Context: main thread. */
void budget_finish(struct budget *budget);

#endif
