/*
 * The walk. Runs in the program's threads, inside their malloc.
 *
 * What holds between walks: frames[0, depth) are the stack walked last, root first, but for a mark that may
 * stand in the place of outer frames. A walk writes only into fresh until it is done, so one that is
 * left by siglongjmp() leaves frames as they were, or depth 0.
 */
#include "unwind/unwind.h"

#include "base/arch.h"
#include "base/syscalls.h"
#include "unwind/cfi.h"
#include "unwind/frame.h"
#include "unwind/objects.h"
#include "unwind/places.h"
#include "unwind/rows.h"
#include "unwind/step.h"

#include <memtrack/protocol.h>
#include <stdatomic.h>
#include <string.h>

enum {
    FIRST_CAPACITY = 128,
    DEPTH_MAX = 1 << 15, /* 2.9 MB of frames; a deeper stack is truncated */
    OWN_FRAMES_MAX = 16,
    FRAME_BYTES = 2 * sizeof(struct unwind_frame) + sizeof(uint64_t),
};

/* A walk under way. */
struct walk {
    struct unwind_state state; /* of the frame that comes next */
    uintptr_t slot;            /* where its frame pointer was read */
    uintptr_t limit;
    uint32_t count; /* frames in fresh */
    uint32_t left;  /* frames of the last walk that may still be met */
    uint32_t kept;  /* of these, that stay; set when the walk is done */
    uint64_t mark;  /* what stands for the frames that are not there; 0: they all are */
};

bool unwind_is_ready;

/* Tallies: relaxed. */
static _Atomic uint64_t stuck_count;
static _Atomic uint64_t memory_bytes;

bool unwind_prepare(void)
{
    if (!objects_prepare() || !places_prepare())
        return false;
    rows_prefault();
    unwind_is_ready = true;
    return true;
}

/*
 * Make room for twice as many frames. Frames of the last walk and those of this one are copied and only
 * then replaced. Returns false when it is as large as it may be, or there is no memory.
 */
static __attribute__((noinline)) bool grow(struct unwind_thread *thread, uint32_t count_fresh)
{
    uint32_t capacity = thread->capacity != 0 ? thread->capacity * 2 : FIRST_CAPACITY;
    size_t old_bytes = thread->capacity * (size_t)FRAME_BYTES;
    struct unwind_frame *old = thread->frames, *frames, *fresh;

    if (capacity > DEPTH_MAX)
        return false;
    frames = sys_map_wiped(capacity * (size_t)FRAME_BYTES);
    if (frames == NULL)
        return false;
    fresh = frames + capacity;
    if (old != NULL) {
        memcpy(frames, old, thread->depth * sizeof(*frames));
        memcpy(fresh, thread->fresh, count_fresh * sizeof(*fresh));
    }
    atomic_fetch_add_explicit(&memory_bytes, capacity * (size_t)FRAME_BYTES - old_bytes,
                              memory_order_relaxed);
    thread->frames = frames;
    thread->fresh = fresh;
    thread->pushed = (uint64_t *)(fresh + capacity);
    atomic_signal_fence(memory_order_seq_cst);
    thread->capacity = capacity;
    if (old != NULL)
        sys_unmap(old, old_bytes);
    return true;
}

/* Take one usual step. Returns false at the end of the stack; walk->mark says of which kind. */
static inline __attribute__((always_inline)) bool step(struct walk *walk, unwind_row row,
                                                       struct unwind_frame *frame)
{
    struct unwind_state *state = &walk->state;
    uint32_t kind = row >> ROW_KIND_SHIFT;
    uintptr_t cfa;

    if (likely(kind <= ROW_FP)) {
        cfa = (kind >= ROW_FP_SAVED ? state->fp : state->sp) +
              ROW_WORD_BYTES * (uintptr_t)(row >> ROW_CFA_SHIFT & ROW_CFA_MASK);
        if (unlikely(cfa <= state->sp) || unlikely(cfa > walk->limit)) {
            walk->mark = SPECIAL_UNWINDER;
            return false;
        }
        walk->slot = 0;
        if (kind == ROW_SP_SAVED || kind == ROW_FP_SAVED) {
            walk->slot = cfa - ROW_WORD_BYTES * (uintptr_t)(row & ROW_SAVED_MASK);
            state->fp = *(const uintptr_t *)walk->slot;
        }
        state->pc = *(const uintptr_t *)(cfa - sizeof(uintptr_t));
        state->sp = cfa;
        state->is_exact = false;
        return likely(state->pc >= UNWIND_LOWEST_CODE);
    }
    walk->slot = 0;
    switch (step_special(row, walk->limit, state)) {
    case STEP_DONE:
        if (kind == ROW_SIGNAL)
            walk->limit = step_limit(state->sp);
        return true;
    case STEP_END:
        return false;
    default:
        frame->flags |= FRAME_USES_FP;
        walk->mark = SPECIAL_UNWINDER;
        return false;
    }
}

/* Note the state that has been reached as a frame. Returns NULL where there is no room. */
static inline struct unwind_frame *add_frame(struct unwind_thread *thread, struct walk *walk)
{
    struct unwind_frame *frame;

    if (unlikely(walk->count == thread->capacity) && !grow(thread, walk->count)) {
        walk->mark = SPECIAL_TRUNCATED;
        return NULL;
    }
    frame = &thread->fresh[walk->count++];
    frame->sp = walk->state.sp;
    frame->pc = walk->state.pc;
    frame->fp = walk->state.fp;
    frame->slot = walk->slot;
    frame->flags = walk->state.is_exact ? FRAME_IS_EXACT : 0;
    return frame;
}

/*
 * The frame at walk->left - 1 is the state that was reached. Find how far outwards the stack is what it was.
 * Returns the index of the outermost frame that is known to be.
 */
static inline uint32_t verify(const struct unwind_thread *thread, const struct walk *walk)
{
    const struct unwind_frame *frame = &thread->frames[walk->left - 1];

    for (; frame > thread->frames; frame--) {
        if (unlikely((frame->flags & FRAME_IS_BARRIER) != 0)) {
            /* What was not found last time is not looked for each time. */
            if (frame == thread->frames + 1 && (frame[-1].flags & FRAME_IS_MARK) != 0)
                return 0;
            break;
        }
        if (unlikely(!frame_is_unchanged(&frame[-1])))
            break;
    }
    return (uint32_t)(frame - thread->frames);
}

/*
 * Frames from walk->left - 1 outwards to this one are what they were, and the step from there is not. Go there,
 * without steps. Returns false where there is no room.
 */
static bool go_to(struct unwind_thread *thread, struct walk *walk, uint32_t index)
{
    uint32_t at = walk->left - 1;
    const struct unwind_frame *frame;

    while (at > index) {
        struct unwind_frame *fresh = add_frame(thread, walk);

        if (fresh == NULL)
            return false;
        fresh->flags |= thread->frames[at].flags & (FRAME_USES_FP | FRAME_SETS_FP);
        frame = &thread->frames[--at];
        walk->state.sp = frame->sp;
        walk->state.pc = frame->pc;
        walk->state.is_exact = (frame->flags & FRAME_IS_EXACT) != 0;
        walk->slot = frame->slot;
        if (frame->slot != 0)
            walk->state.fp = *(const uintptr_t *)frame->slot;
    }
    walk->left = index;
    return true;
}

/* Walk until the stack is known. */
static inline void run(struct unwind_thread *thread, struct walk *walk)
{
    for (;;) {
        const struct unwind_frame *met = thread->frames + walk->left;
        struct unwind_frame *frame;
        unwind_row row;
        uint32_t same;

        while (met > thread->frames && met[-1].sp < walk->state.sp)
            met--;
        walk->left = (uint32_t)(met - thread->frames);
        if (met > thread->frames && frame_is_state(&met[-1], &walk->state)) {
            same = verify(thread, walk);
            if (likely(same == 0)) {
                thread->frames[walk->left - 1].fp = walk->state.fp;
                thread->frames[walk->left - 1].slot = walk->slot;
                walk->kept = walk->left;
                return;
            }
            if (!go_to(thread, walk, same))
                return;
        }
        frame = add_frame(thread, walk);
        if (frame == NULL)
            return;
        row = rows_get(frame->pc + walk->state.is_exact);
        frame->flags |= frame_flags_of(row);
        if (!step(walk, row, frame))
            return;
    }
}

/* What the reader is told of a frame. outer_sp: of the frame around it. */
static uint64_t name_frame(const struct unwind_frame *frame, uintptr_t outer_sp,
                           const struct unwind_helper *helper)
{
    bool is_exact = (frame->flags & FRAME_IS_EXACT) != 0;
    unwind_place place = places_get(frame->pc, is_exact, &helper->announcer);

    if (unlikely((place & PLACE_IS_SURE) == 0) && helper->eval_of != NULL && place != 0) {
        enum unwind_eval eval = helper->eval_of(helper->owner, frame->sp, outer_sp, frame->pc);

        if (eval != UNWIND_EVAL_UNKNOWN) {
            places_note_eval(place, eval == UNWIND_EVAL_YES);
            place |= eval == UNWIND_EVAL_YES ? PLACE_IS_EVAL : 0;
        }
    }
    return places_frame(place, frame->pc, is_exact);
}

/* Frames that are missing: a mark stands for them, which no state is equal to. */
static void put_mark(struct unwind_thread *thread, uint64_t mark)
{
    thread->frames[0] = (struct unwind_frame){
        .sp = UINTPTR_MAX, .pc = mark, .flags = FRAME_IS_MARK | FRAME_IS_BARRIER};
    thread->pushed[0] = mark;
}

/*
 * Put the new frames on top of those that stay, and name them.
 * Returns how many the reader gets.
 */
static uint32_t settle(struct unwind_thread *thread, const struct walk *walk,
                       const struct unwind_helper *helper)
{
    uint32_t depth = walk->kept, count = walk->count, pushed = 0;
    uintptr_t outer_sp = depth > 0 ? thread->frames[depth - 1].sp : UINTPTR_MAX;
    uint32_t needs_fp = depth > 0 ? thread->frames[depth - 1].flags & FRAME_NEEDS_FP : 0;

    if (walk->kept == 0 && walk->mark != 0) {
        put_mark(thread, walk->mark);
        depth = pushed = 1;
        /* The inner half of what there is room for, so that it takes many calls until it is cut again. */
        if (walk->mark == SPECIAL_TRUNCATED && count > thread->capacity / 2)
            count = thread->capacity / 2;
    }
    for (uint32_t i = count; i-- > 0; depth++) {
        struct unwind_frame *frame = &thread->frames[depth];

        *frame = thread->fresh[i];
        if ((frame->flags & FRAME_USES_FP) != 0)
            needs_fp = FRAME_NEEDS_FP;
        else if ((frame->flags & FRAME_SETS_FP) != 0)
            needs_fp = 0;
        frame->flags |= needs_fp;
        if (depth == 1 && (thread->frames[0].flags & FRAME_IS_MARK) != 0)
            frame->flags |= FRAME_IS_BARRIER;
        thread->pushed[pushed++] = name_frame(frame, outer_sp, helper);
        outer_sp = frame->sp;
    }
    thread->depth = depth;
    return pushed;
}

/* For the frames that stay, those that are new, and a mark. What has no room outside is cut off. */
static inline void make_room(struct unwind_thread *thread, struct walk *walk)
{
    while (unlikely(walk->kept + walk->count + 1 > thread->capacity)) {
        if (grow(thread, walk->count))
            continue;
        if (walk->count == thread->capacity)
            walk->count--;
        walk->kept = 0;
        walk->mark = SPECIAL_TRUNCATED;
        return;
    }
}

bool unwind_update(struct unwind_thread *thread, const struct unwind_state *from,
                   const struct unwind_helper *helper, struct unwind_delta *ret_delta)
{
    uint32_t generation = atomic_load_explicit(&rows_generation, memory_order_acquire);
    uint32_t before = thread->depth;
    struct walk walk = {.state = *from, .limit = step_limit(from->sp), .left = before};

    if (unlikely(thread->generation != generation)) {
        walk.left = 0;
        thread->generation = generation;
    }
    if (unlikely(thread->capacity == 0) && !grow(thread, 0))
        return false;
    run(thread, &walk);
    if (likely(walk.count == 0) && walk.kept == before)
        return false;
    make_room(thread, &walk);
    if (walk.mark == SPECIAL_UNWINDER)
        atomic_fetch_add_explicit(&stuck_count, 1, memory_order_relaxed);
    ret_delta->pop = before - walk.kept;
    ret_delta->push = settle(thread, &walk, helper);
    ret_delta->pushed = thread->pushed;
    return true;
}

bool unwind_find_caller(struct unwind_state *state, uintptr_t pc)
{
    struct walk walk = {.state = *state, .limit = step_limit(state->sp)};
    struct unwind_frame unused = {0};

    for (unsigned i = 0; i < OWN_FRAMES_MAX; i++) {
        unwind_row row = rows_get(walk.state.pc + walk.state.is_exact);

        if (!step(&walk, row, &unused))
            return false;
        if (walk.state.pc == pc) {
            *state = walk.state;
            return true;
        }
    }
    return false;
}

bool unwind_give_up(struct unwind_thread *thread, struct unwind_delta *ret_delta)
{
    uint32_t before = thread->depth;

    if (before == 1 && thread->frames[0].pc == SPECIAL_UNWINDER)
        return false;
    if (thread->capacity == 0 && !grow(thread, 0))
        return false;
    atomic_fetch_add_explicit(&stuck_count, 1, memory_order_relaxed);
    put_mark(thread, SPECIAL_UNWINDER);
    thread->depth = 1;
    *ret_delta = (struct unwind_delta){before, 1, thread->pushed};
    return true;
}

bool unwind_find_function(uintptr_t address, uintptr_t *ret_start, uintptr_t *ret_end)
{
    struct cfi_range range;
    struct object object;
    struct cfi_row row;

    if (!objects_find(address, &object) || object.tables == NULL ||
        cfi_find(object.tables, address, &row, &range) == CFI_NO_TABLE)
        return false;
    *ret_start = range.start;
    *ret_end = range.end;
    return true;
}

void unwind_forget(struct unwind_thread *thread)
{
    thread->depth = 0;
}

void unwind_note_free(const void *block)
{
    if (unwind_is_ready)
        places_note_free(block);
}

uint64_t unwind_stuck_count(void)
{
    return atomic_load_explicit(&stuck_count, memory_order_relaxed);
}

uint64_t unwind_memory_bytes(void)
{
    return atomic_load_explicit(&memory_bytes, memory_order_relaxed) + sizeof(rows_table) +
           places_memory_bytes();
}
