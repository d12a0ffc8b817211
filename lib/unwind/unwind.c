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
#include "unwind/memo.h"
#include "unwind/objects.h"
#include "unwind/places.h"
#include "unwind/reach.h"
#include "unwind/rows.h"
#include "unwind/step.h"

#include <memtrack/protocol.h>
#include <stdatomic.h>
#include <string.h>

enum {
    FIRST_CAPACITY = 128,
    DEPTH_MAX = 1 << 15, /* 2.9 MB of frames; a deeper stack is truncated */
    OWN_FRAMES_MAX = 16,
    EAGER_MAX = 24,
    FRAME_BYTES = 2 * sizeof(struct unwind_frame) + sizeof(uint64_t),
};

/* A walk under way. */
struct walk {
    struct unwind_reach *reach; /* the thread's */
    uintptr_t limit;            /* its end, at hand */
    uint32_t count;             /* frames in fresh */
    uint32_t left;              /* frames of the last walk that may still be met */
    uint32_t kept;              /* of these, that stay; set when the walk is done */
    uint64_t mark;              /* what stands for the frames that are not there; 0: they all are */
};

bool unwind_is_ready;

/* Tallies: relaxed. */
static _Atomic uint64_t stuck_count;
static _Atomic uint64_t memory_bytes;

bool unwind_prepare(void)
{
    if (!objects_prepare() || !places_prepare())
        return false;
    reach_prepare();
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

/* Get the thread's first memory. Without memos it goes on. */
static bool begin(struct unwind_thread *thread)
{
    if (!grow(thread, 0))
        return false;
    thread->memos = sys_map_wiped(sizeof(*thread->memos));
    if (thread->memos != NULL)
        atomic_fetch_add_explicit(&memory_bytes, sizeof(*thread->memos), memory_order_relaxed);
    return true;
}

static inline bool is_exact(const struct next_frame *next)
{
    return (next->how & FRAME_IS_EXACT) != 0;
}

/* Where the caller's frame begins, by a usual row. */
static inline uintptr_t usual_cfa(unwind_row row, const struct next_frame *next)
{
    return ((row >> ROW_KIND_SHIFT & 1) != 0 ? next->fp : next->sp) +
           ROW_WORD_BYTES * (uintptr_t)(row >> ROW_CFA_SHIFT & ROW_CFA_MASK);
}

/* The return address lies below, and what the CFA is counted from below that if it is the frame pointer. */
static inline uintptr_t least_cfa(unwind_row row, const struct next_frame *next)
{
    return next->sp + 1 + ROW_WORD_BYTES * (uintptr_t)(row >> ROW_KIND_SHIFT & 1);
}

/* Take a step by a usual row. cfa: by it; what lies below can be read. */
static inline __attribute__((always_inline)) bool step_usual(unwind_row row, uintptr_t cfa,
                                                             struct next_frame *next, uint64_t *how)
{
    uint64_t kind = row >> ROW_KIND_SHIFT;
    /* Without a branch: whether the frame pointer was saved is like chance. */
    uintptr_t slot = cfa - ROW_WORD_BYTES * (uintptr_t)(row & ROW_SAVED_MASK);
    uintptr_t saved = frame_word(slot);

    *how |= kind << FRAME_FLAG_SHIFT;
    next->how = (kind & 2) != 0 ? slot : 0;
    next->fp = (kind & 2) != 0 ? saved : next->fp;
    next->pc = frame_word(cfa - sizeof(uintptr_t));
    next->sp = cfa;
    return likely(next->pc >= UNWIND_LOWEST_CODE);
}

/*
 * Take a step by a row that is not a usual one, or not right, or to where the stack was not read before.
 * how: of the frame that it goes out from.
 * Returns false at the end of the stack; walk->mark says of which kind.
 */
static __attribute__((noinline)) bool step_aside(struct walk *walk, unwind_row row,
                                                 struct next_frame *next, uint64_t *how)
{
    struct unwind_state state = {next->pc, next->sp, next->fp, is_exact(next)};
    uint32_t kind = row >> ROW_KIND_SHIFT;
    enum step_result result = STEP_STUCK;

    if (kind < ROW_SIGNAL) {
        uintptr_t cfa = usual_cfa(row, next);

        if (cfa >= least_cfa(row, next) && reach_extend(walk->reach, next->sp, cfa)) {
            walk->limit = walk->reach->high;
            return step_usual(row, cfa, next, how);
        }
    } else {
        result = step_special(row, walk->reach, &state);
        walk->limit = walk->reach->high;
    }
    if (kind == ROW_END)
        return false;
    *how |= FRAME_IS_BARRIER | FRAME_USES_FP;
    if (result == STEP_STUCK)
        walk->mark = SPECIAL_UNWINDER;
    if (result != STEP_DONE)
        return false;
    *next = (struct next_frame){state.pc, state.sp, state.fp, state.is_exact ? FRAME_IS_EXACT : 0};
    if (kind == ROW_SIGNAL)
        walk->limit = reach_limit(walk->reach, state.sp, true);
    return true;
}

/*
 * Take a step. next: the frame that it goes out from, then the one that it comes to. how: of the first, gets
 * what the row says of the frame pointer.
 * Returns false at the end of the stack; walk->mark says of which kind.
 */
static inline __attribute__((always_inline)) bool step(struct walk *walk, unwind_row row,
                                                       struct next_frame *next, uint64_t *how)
{
    uintptr_t cfa = usual_cfa(row, next);

    if (unlikely(row >> ROW_KIND_SHIFT >= ROW_SIGNAL) || unlikely(cfa < least_cfa(row, next)) ||
        unlikely(cfa > walk->limit)) {
        /* A copy: what has an address lies in memory, which every other step would wait for. */
        struct next_frame aside = *next;
        bool is_done = step_aside(walk, row, &aside, how);

        *next = aside;
        return is_done;
    }
    return step_usual(row, cfa, next, how);
}

/* Note the next frame. Returns it; NULL where there is no room. */
static inline __attribute__((always_inline)) struct unwind_frame *
add_frame(struct unwind_thread *thread, struct walk *walk, const struct next_frame *next)
{
    struct unwind_frame *frame;

    if (unlikely(walk->count == thread->capacity) && !grow(thread, walk->count)) {
        walk->mark = SPECIAL_TRUNCATED;
        return NULL;
    }
    frame = &thread->fresh[walk->count++];
    *frame = (struct unwind_frame){next->sp, next->pc, next->fp, next->how};
    return frame;
}

/*
 * Frames from walk->left - 1 outwards to this one are what they were, and the step from there is not. Go there,
 * without steps. Returns false where there is no room.
 */
static __attribute__((noinline)) bool go_to(struct unwind_thread *thread, struct walk *walk,
                                            struct next_frame *next, uint32_t index)
{
    for (uint32_t at = walk->left - 1; at > index; at--) {
        struct unwind_frame *fresh = add_frame(thread, walk, next);
        const struct unwind_frame *outer = &thread->frames[at - 1];

        if (fresh == NULL)
            return false;
        fresh->how |= thread->frames[at].how & (FRAME_USES_FP | FRAME_SETS_FP);
        next->sp = outer->sp;
        next->pc = outer->pc;
        next->how = outer->how & (FRAME_SLOT_MASK | FRAME_IS_EXACT);
        if (frame_slot(outer) != 0)
            next->fp = frame_word(frame_slot(outer));
    }
    walk->left = index;
    return true;
}

static inline __attribute__((always_inline)) unwind_row row_of(const struct next_frame *next)
{
    return unlikely(is_exact(next)) ? rows_interrupted(next->pc) : rows_get(next->pc);
}

/* Go one frame outwards. Returns false at the end of the stack, or for want of room. */
static inline __attribute__((always_inline)) bool go_out(struct unwind_thread *thread,
                                                         struct walk *walk, struct next_frame *next)
{
    struct unwind_frame *frame = add_frame(thread, walk, next);

    if (unlikely(frame == NULL))
        return false;
    if (likely(step(walk, row_of(next), next, &frame->how)))
        return true;
    /* A word that ended the stack may be another the next time. */
    if (next->pc < UNWIND_LOWEST_CODE)
        frame->how |= FRAME_IS_BARRIER;
    return false;
}

/*
 * The next frame is the last walk's at walk->left - 1. Returns true when the walk is done: there, or for want
 * of room.
 */
static inline __attribute__((always_inline)) bool meet(struct unwind_thread *thread,
                                                       struct walk *walk, struct next_frame *next)
{
    uint32_t same = frame_verify(thread->frames, walk->left);
    struct next_frame aside;
    bool is_done;

    /* The outermost frame is the last by its code, not by a word that has to be looked at. */
    if (likely(same == 0) && likely(!frame_is_open(&thread->frames[0]))) {
        frame_renew(&thread->frames[walk->left - 1], next->fp, next->how);
        walk->kept = walk->left;
        return true;
    }
    aside = *next;
    is_done = !go_to(thread, walk, &aside, same);
    *next = aside;
    return is_done;
}

/*
 * Walk until the stack is known. Where the last walk found new frames, it is like chance which of them
 * are the same now: to look costs more than to walk them all, and trim() finds out.
 */
static inline void run(struct unwind_thread *thread, struct walk *walk, struct next_frame next)
{
    for (uint32_t i = thread->eager; i > 0; i--)
        if (!go_out(thread, walk, &next))
            return;
    for (;;) {
        uint32_t left = walk->left;

        while (left > 0 && thread->frames[left - 1].sp < next.sp)
            left--;
        walk->left = left;
        if (left > 0 && frame_is_at(&next, &thread->frames[left - 1]) && meet(thread, walk, &next))
            return;
        if (!go_out(thread, walk, &next))
            return;
    }
}

/* Whether the stack, which is not empty, begins with a mark; a frame's pc may be as small a number. */
static inline bool is_mark(const struct unwind_thread *thread, uint64_t mark)
{
    return (thread->frames[0].how & FRAME_IS_MARK) != 0 && thread->frames[0].pc == mark;
}

/* Of the frames that were walked, outermost first, those stay that are what stood there. */
static inline void trim(struct unwind_thread *thread, struct walk *walk)
{
    uint32_t most = thread->depth;
    struct unwind_frame *frame;
    struct next_frame next;

    if (unlikely(walk->mark != 0)) {
        /* Where it could not be gone on the last time either. */
        if (walk->mark != SPECIAL_UNWINDER || most == 0 || !is_mark(thread, walk->mark))
            return;
        walk->kept = 1;
    }
    for (; walk->count > 0 && walk->kept < most; walk->count--, walk->kept++) {
        const struct unwind_frame *fresh = &thread->fresh[walk->count - 1];

        frame = &thread->frames[walk->kept];
        next = (struct next_frame){fresh->pc, fresh->sp, fresh->fp, fresh->how};
        if (!frame_is_at(&next, frame))
            break;
        frame_renew(frame, fresh->fp, fresh->how);
    }
}

/* What the reader is told of a frame. outer_sp: of the frame around it. */
static uint64_t name_frame(const struct unwind_frame *frame, uintptr_t outer_sp,
                           const struct unwind_helper *helper)
{
    bool is_exact = (frame->how & FRAME_IS_EXACT) != 0;
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
        .sp = UINTPTR_MAX, .pc = mark, .how = FRAME_IS_MARK | FRAME_IS_BARRIER};
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
    uint64_t needs_fp = depth > 0 ? thread->frames[depth - 1].how & FRAME_NEEDS_FP : 0;

    if (walk->mark != 0 && walk->kept == 0) {
        put_mark(thread, walk->mark);
        depth = pushed = 1;
        /* The inner half of what there is room for, so that it takes many calls until it is cut again. */
        if (walk->mark == SPECIAL_TRUNCATED && count > thread->capacity / 2)
            count = thread->capacity / 2;
    }
    for (uint32_t i = count; i-- > 0; depth++) {
        struct unwind_frame *frame = &thread->frames[depth];

        *frame = thread->fresh[i];
        if ((frame->how & FRAME_USES_FP) != 0)
            needs_fp = FRAME_NEEDS_FP;
        else if ((frame->how & FRAME_SETS_FP) != 0)
            needs_fp = 0;
        frame->how |= needs_fp;
        if (depth == 1 && (thread->frames[0].how & FRAME_IS_MARK) != 0)
            frame->how |= FRAME_IS_BARRIER;
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

static inline struct next_frame next_of(const struct unwind_state *state)
{
    return (struct next_frame){state->pc, state->sp, state->fp,
                               state->is_exact ? FRAME_IS_EXACT : 0};
}

/* Whether the stack is what it was, in the fewest steps. */
static inline bool is_same(struct unwind_thread *thread, const struct next_frame *next)
{
    uint32_t depth = thread->depth;

    if (depth == 0 || !frame_is_at(next, &thread->frames[depth - 1]) ||
        frame_verify(thread->frames, depth) != 0 || frame_is_open(&thread->frames[0]))
        return false;
    frame_renew(&thread->frames[depth - 1], next->fp, next->how);
    return true;
}

bool unwind_update(struct unwind_thread *thread, const struct unwind_state *from,
                   const struct unwind_helper *helper, struct unwind_delta *ret_delta)
{
    uint32_t generation = atomic_load_explicit(&rows_generation, memory_order_acquire);
    uint32_t before = thread->depth;
    struct walk walk = {.reach = &thread->reach,
                        .limit = reach_limit(&thread->reach, from->sp, from->is_exact),
                        .left = before};
    struct next_frame next;
    bool uses_memos;

    if (unlikely(thread->generation != generation)) {
        walk.left = thread->depth = 0; /* nothing of it is known any more */
        if (thread->memos != NULL)
            memos_forget(thread->memos);
        thread->generation = generation;
    }
    if (unlikely(thread->capacity == 0) && !begin(thread))
        return false;
    next = next_of(from);
    uses_memos = thread->memos != NULL && memos_are_used(thread->memos);
    if (uses_memos) {
        const struct memo *memo;

        if (is_same(thread, &next))
            return false;
        memo = memo_find(thread, &next);
        memos_note(thread->memos, memo != NULL);
        if (memo != NULL) {
            memo_recall(thread, memo, &next, ret_delta);
            return true;
        }
    }
    run(thread, &walk, next);
    trim(thread, &walk);
    thread->eager = walk.count < EAGER_MAX ? walk.count : EAGER_MAX;
    if (likely(walk.count == 0) && walk.kept == before)
        return false;
    make_room(thread, &walk);
    if (walk.mark == SPECIAL_UNWINDER)
        atomic_fetch_add_explicit(&stuck_count, 1, memory_order_relaxed);
    ret_delta->pop = before - walk.kept;
    ret_delta->push = settle(thread, &walk, helper);
    ret_delta->pushed = thread->pushed;
    ret_delta->memo = 0;
    if (uses_memos)
        ret_delta->memo = memo_make(thread, walk.kept);
    else if (thread->memos != NULL)
        memos_cut(thread->memos, walk.kept);
    return true;
}

bool unwind_find_caller(struct unwind_thread *thread, struct unwind_state *state, uintptr_t pc)
{
    struct walk walk = {.reach = &thread->reach,
                        .limit = reach_limit(&thread->reach, state->sp, state->is_exact)};
    struct next_frame next = next_of(state);

    for (unsigned i = 0; i < OWN_FRAMES_MAX; i++) {
        uint64_t unused = 0;

        if (!step(&walk, row_of(&next), &next, &unused))
            return false;
        if (next.pc == pc) {
            *state = (struct unwind_state){next.pc, next.sp, next.fp, is_exact(&next)};
            return true;
        }
    }
    return false;
}

bool unwind_give_up(struct unwind_thread *thread, struct unwind_delta *ret_delta)
{
    uint32_t before = thread->depth;

    if (before == 1 && is_mark(thread, SPECIAL_UNWINDER))
        return false;
    if (thread->capacity == 0 && !begin(thread))
        return false;
    atomic_fetch_add_explicit(&stuck_count, 1, memory_order_relaxed);
    put_mark(thread, SPECIAL_UNWINDER);
    thread->depth = 1;
    if (thread->memos != NULL)
        memos_forget(thread->memos);
    *ret_delta = (struct unwind_delta){before, 1, thread->pushed, 0};
    return true;
}

bool unwind_find_function(uintptr_t address, uintptr_t *ret_start, uintptr_t *ret_end)
{
    struct cfi_tables tables;
    struct cfi_range range;
    struct object object;
    struct cfi_row row;

    if (!objects_find(address, &object) || object.tables == NULL)
        return false;
    objects_tables(&object, &tables);
    if (cfi_find(&tables, address, &row, &range) == CFI_NO_TABLE)
        return false;
    *ret_start = range.start;
    *ret_end = range.end;
    return true;
}

void unwind_forget(struct unwind_thread *thread)
{
    thread->depth = 0;
    if (thread->memos != NULL)
        memos_forget(thread->memos);
    thread->reach = (struct unwind_reach){0};
}

void unwind_note_free(const void *block)
{
    if (unwind_is_ready)
        places_note_free(block);
}

void unwind_note_change(uintptr_t start, size_t size_bytes)
{
    if (unwind_is_ready)
        rows_note_change(start, size_bytes);
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
