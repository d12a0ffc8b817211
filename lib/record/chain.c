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
    struct slot records[2] = {{slot_head(OP_PY) | DELTA_POP_ALL, 0},
                              {slot_head(OP_NATIVE) | DELTA_POP_ALL, 0}};
    bool is_native = (process.wanted_mode & PROCESS_WALKS_NATIVE) != 0;

    python_walk_forget(&context->walk);
    unwind_forget(&context->unwind);
    context->must_pop =
        !ring_write(context, &records[0], 1) || (is_native && !ring_write(context, &records[1], 1));
    return !context->must_pop;
}

/* Make one record of a delta. pop: with what the op says besides. Returns its slots. */
static unsigned delta_fill(struct slot *record, enum slot_op op, uint64_t pop,
                           const uint64_t *frames, uint32_t count_frames)
{
    unsigned count_slots = 1;
    uint64_t w0 = slot_head(op) | pop | (uint64_t)count_frames << DELTA_PUSH_SHIFT;

    atomic_init(&record[0].w0, w0);
    atomic_init(&record[0].w1, count_frames > 0 ? frames[0] : 0);
    for (uint32_t i = 1; i < count_frames; i += 2) {
        atomic_init(&record[count_slots].w0, frames[i]);
        atomic_init(&record[count_slots].w1, i + 1 < count_frames ? frames[i + 1] : 0);
        count_slots++;
    }
    return count_slots;
}

/* How many slots the record of so many frames takes. */
static uint32_t delta_slots(uint32_t count_frames)
{
    return 1 + count_frames / 2;
}

/*
 * Put a delta behind what is in scratch. All that has no room in one group beside the event goes ahead, in
 * groups of its own. last: what the last record of it says besides.
 */
static bool delta_put(struct context *context, enum slot_op op, uint64_t pop, uint64_t last,
                      const uint64_t *frames, uint32_t count_frames, unsigned *count_slots)
{
    uint32_t done = 0;

    if (*count_slots + delta_slots(count_frames) >= GROUP_MAX_SLOTS && *count_slots > 0) {
        if (!ring_write(context, context->scratch, *count_slots))
            return false;
        *count_slots = 0;
    }
    while (count_frames - done > DELTA_MAX_FRAMES) {
        unsigned count = delta_fill(context->scratch, op, pop, frames + done, DELTA_MAX_FRAMES);

        if (!ring_write(context, context->scratch, count))
            return false;
        done += DELTA_MAX_FRAMES;
        pop = 0;
    }
    *count_slots += delta_fill(context->scratch + *count_slots, op, pop | last, frames + done,
                               count_frames - done);
    return true;
}

/* Walk the Python stack. Returns false when it is what it was. */
static bool update_python(struct context *context, struct python_delta *ret_delta)
{
    const struct announcer announcer = {blob_write, context};

    if (unlikely(!process.image->has_announced_python) &&
        !atomic_exchange(&process.image->has_announced_python, true))
        python_announce_runtime(&announcer);
    if (!python_walk_update(&context->walk, &announcer, ret_delta))
        return false;
    /* PYTHONMALLOC and -X dev have been heeded before the first frame. */
    if (unlikely(!process.image->has_announced_frames) && ret_delta->push > 0 &&
        !atomic_exchange(&process.image->has_announced_frames, true))
        python_announce_runtime(&announcer);
    return true;
}

/* See whether the slot of an allocation can say it. NULL: nothing of that kind is new. */
static void find_short(const struct python_delta *python, const struct unwind_delta *native,
                       struct chain_news *news)
{
    uint64_t offset = MOVED_NOT;

    if (python != NULL) {
        offset = python->pushed[0] & ((UINT64_C(1) << FRAME_OFFSET_BITS) - 1);
        if (!python->has_moved || offset >= MOVED_NOT)
            return;
    }
    if (native != NULL && (native->memo & NATIVE_MEMO_RECALL) == 0)
        return;
    news->short_op = native != NULL ? OP_ALLOC_AGAIN : OP_ALLOC_MOVED;
    news->short_w1 = offset << MOVED_OFFSET_SHIFT;
    if (native != NULL)
        news->short_w1 |= (native->memo >> NATIVE_MEMO_SHIFT & NATIVE_MEMO_MASK) << BLOCK_LOW_SHIFT;
}

bool chain_update(struct context *context, const struct call_site *site,
                  struct chain_news *ret_news)
{
    unsigned mode = process.wanted_mode;
    struct python_delta python;
    struct unwind_delta native;
    bool has_python, has_native;

    *ret_news = (struct chain_news){.short_op = OP_NOP};
    if (context->must_pop && !pop_all(context))
        return false;
    /* Both first: what they announce goes through scratch. */
    has_python = (mode & PROCESS_WALKS_PYTHON) != 0 && update_python(context, &python);
    has_native = (mode & PROCESS_WALKS_NATIVE) != 0 && native_update(context, site, &native);
    if ((mode & PROCESS_WALKS_NATIVE) != 0 && (has_python || has_native))
        find_short(has_python ? &python : NULL, has_native ? &native : NULL, ret_news);
    if (has_python && !delta_put(context, OP_PY, python.pop, 0, python.pushed, python.push,
                                 &ret_news->count_slots))
        return false;
    return !has_native || delta_put(context, OP_NATIVE, native.pop, native.memo, native.pushed,
                                    native.push, &ret_news->count_slots);
}
