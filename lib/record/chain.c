/*
 * From what a walk found to the slots that say it.
 *
 * Runs in the program's threads, inside their malloc. What holds: the chain that the walk has cached
 * is the one that the reader has after all that is in the ring and in scratch; or must_pop is set.
 */
#include "record/chain.h"

#include "python/walk.h"
#include "record/blob.h"
#include "record/process.h"
#include "record/ring.h"

bool chain_take_left(struct context *context, uintptr_t frame)
{
    if (!context_has_left(context->busy, frame))
        return false;
    context->must_pop = true; /* left in the middle: nobody knows what the reader got */
    context->busy = frame;
    atomic_signal_fence(memory_order_seq_cst);
    return true;
}

void chain_release_own(void)
{
    chain_release(context_own);
}

static bool pop_all(struct context *context)
{
    struct slot record = {slot_head(OP_PY) | DELTA_POP_ALL, 0};

    python_walk_forget(&context->walk);
    context->must_pop = !ring_write(context, &record, 1);
    return !context->must_pop;
}

/* Make one record of a delta. Returns its slots. */
static unsigned delta_fill(struct slot *record, uint32_t pop, const uint64_t *frames,
                           uint32_t count_frames)
{
    unsigned count_slots = 1;
    uint64_t w0 = slot_head(OP_PY) | pop | (uint64_t)count_frames << DELTA_PUSH_SHIFT;

    atomic_init(&record[0].w0, w0);
    atomic_init(&record[0].w1, count_frames > 0 ? frames[0] : 0);
    for (uint32_t i = 1; i < count_frames; i += 2) {
        atomic_init(&record[count_slots].w0, frames[i]);
        atomic_init(&record[count_slots].w1, i + 1 < count_frames ? frames[i + 1] : 0);
        count_slots++;
    }
    return count_slots;
}

bool chain_update(struct context *context, unsigned *ret_count_slots)
{
    const struct python_announcer announcer = {blob_write, context};
    struct python_delta delta;
    uint32_t done = 0;

    *ret_count_slots = 0;
    if (unlikely(!process.image->has_announced_python) &&
        !atomic_exchange(&process.image->has_announced_python, true))
        python_announce_runtime(&announcer);
    if (context->must_pop && !pop_all(context))
        return false;
    if (!python_walk_update(&context->walk, &announcer, &delta))
        return true;
    /* PYTHONMALLOC and -X dev have been heeded before the first frame. */
    if (unlikely(!process.image->has_announced_frames) && delta.push > 0 &&
        !atomic_exchange(&process.image->has_announced_frames, true))
        python_announce_runtime(&announcer);
    /* All but the last record in groups of their own: one group cannot hold them. */
    while (delta.push - done > DELTA_MAX_FRAMES) {
        unsigned count_slots =
            delta_fill(context->scratch, delta.pop, delta.pushed + done, DELTA_MAX_FRAMES);

        if (!ring_write(context, context->scratch, count_slots))
            return false;
        done += DELTA_MAX_FRAMES;
        delta.pop = 0;
    }
    *ret_count_slots =
        delta_fill(context->scratch, delta.pop, delta.pushed + done, delta.push - done);
    return true;
}
