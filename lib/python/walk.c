/*
 * The walkers, one for each family of layouts, and what they share.
 *
 * Runs in the program's threads, inside their malloc. A walk touches its own python_walk, frames of
 * the calling thread, and the table of code names; it takes no lock and calls nothing of the
 * interpreter's but two look-ups: of the thread state and of the arena allocator.
 */
#include "python/walk.h"

#include "base/syscalls.h"
#include "python/allocators.h"
#include "python/boundary.h"
#include "python/chain.h"
#include "python/layout_table.h"
#include "python/runtime.h"
#include "python/same.h"
#include "python/thread_name.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
    ATTACHED_MINOR_FIRST = 12,
    FIRST_BYTES = 8192, /* of both arrays: 170 frames */
    FRAME_BYTES = sizeof(struct python_walk_frame) + sizeof(uint64_t),
};

typedef bool walk_function(struct python_walk *walk, const struct announcer *announcer,
                           struct python_delta *ret_delta);

bool python_is_ready;
bool python_marks_boundaries;
_Atomic uint64_t python_unmaps;
_Atomic bool python_has_stacks;

/* Constant once the walkers are set. */
static struct python_runtime runtime;
struct python_at_hand python_at_hand = {.family = FRAMES_COUNT};

/* Set last, with release, and read with acquire: who sees it sees the runtime. */
static walk_function *_Atomic current_walker;

static const struct python_walk *same_never(const struct python_walk *walk)
{
    (void)walk;
    return NULL;
}

python_same_function *_Atomic python_same = same_never;

/* Tallies: relaxed. */
static _Atomic uint64_t walks_failed;
static _Atomic uint64_t interpreters_refused;
static _Atomic uint64_t memory_bytes;

/*
 * Make room for a chain of this depth, but for no more than CHAIN_MAX_DEPTH. Both arrays lie in one
 * mapping. What is there is copied and only then replaced, so a handler that leaves by siglongjmp()
 * leaves either, whole. What is refused is counted: the room stays as it is.
 */
static __attribute__((noinline)) void grow(struct python_walk *walk, uint32_t depth)
{
    size_t old_bytes = walk->capacity != 0 ? FIRST_BYTES : 0;
    size_t bytes = FIRST_BYTES;
    struct python_walk_frame *old = walk->frames, *frames;
    uint32_t capacity;

    if (depth > CHAIN_MAX_DEPTH)
        depth = CHAIN_MAX_DEPTH;
    if (depth <= walk->capacity)
        return;
    while (old_bytes != 0 && old_bytes / FRAME_BYTES < walk->capacity)
        old_bytes *= 2;
    while (bytes / FRAME_BYTES < depth)
        bytes *= 2;
    frames = sys_map_wiped(bytes);
    if (frames == NULL) {
        atomic_fetch_add_explicit(&walks_failed, 1, memory_order_relaxed);
        return;
    }
    atomic_fetch_add_explicit(&memory_bytes, bytes - old_bytes, memory_order_relaxed);
    capacity = (uint32_t)(bytes / FRAME_BYTES);
    if (walk->depth != 0)
        memcpy(frames, old, walk->depth * sizeof(*frames));
    walk->frames = frames;
    walk->pushed = (uint64_t *)(frames + capacity);
    atomic_signal_fence(memory_order_seq_cst);
    walk->capacity = capacity;
    if (old != NULL)
        sys_unmap(old, old_bytes);
}

/*
 * There is no room for the chain: show its inner end on top of SPECIAL_TRUNCATED. Half of the room
 * is used, so that it takes many calls or returns until the cut is made anew.
 */
CHAIN_INLINE bool cut(struct python_walk *walk, uintptr_t top, const struct announcer *announcer,
                      struct python_delta *ret_delta, const struct frame_layout *layout)
{
    static const uint64_t mark = SPECIAL_TRUNCATED;
    uint32_t room = walk->capacity < CHAIN_MAX_DEPTH ? walk->capacity : CHAIN_MAX_DEPTH;
    uint32_t depth = room / 2;

    if (depth == 0 && walk->is_truncated)
        return false;
    ret_delta->pop = walk->shown_depth;
    ret_delta->push = 1;
    ret_delta->pushed = &mark;
    walk->is_truncated = true;
    walk->depth = 0;
    walk->shown_depth = 1;
    walk->watermark_index = 0;
    chain_forget_floor(walk);
    if (depth == 0)
        return true;
    chain_fill(walk, top, 0, depth, 0, false, layout);
    walk->pushed[0] = mark;
    ret_delta->push = chain_push(walk, 0, depth, 1, 1, &runtime, announcer, layout);
    ret_delta->pushed = walk->pushed;
    return true;
}

/* The chain begins with a frame that it did not begin with: the thread may be one of Python's. */
static __attribute__((noinline)) void name_thread(const struct python_walk *walk,
                                                  const struct announcer *announcer)
{
    const struct python_walk_frame *first = walk->frames;

    if (walk->depth > 1 && first->code_id == CHAIN_BOUNDARY)
        first++;
    if (first->code_id != CHAIN_BOUNDARY && first->code_id != CODE_ID_NONE)
        thread_name_announce(&runtime.layout, first->frame,
                             first->code & ~(uintptr_t)FRAME_CODE_TAGS, announcer);
}

/* Walk a chain that is long, or not the one it was. top: its innermost frame. */
CHAIN_INLINE bool update_changed(struct python_walk *walk, uintptr_t state, uintptr_t top,
                                 const struct announcer *announcer, struct python_delta *ret_delta,
                                 const struct frame_layout *layout)
{
    uint32_t generation = code_names_generation();
    bool check_names = generation != walk->generation;
    uint32_t cached = walk->depth;
    struct chain_match match = chain_meet(walk, state, top, check_names ? 0 : cached, layout);
    uint32_t depth = match.kept + match.above;
    uint32_t changed, shown, pop, push;

    walk->short_generation = GENERATION_NONE; /* till it is done: it may be left */
    walk->generation = generation;
    walk->thread_state = state;
    walk->thread = (uintptr_t)pthread_self();
    if (match.same == cached && match.above == 0 && !walk->is_truncated && !check_names) {
        chain_set_watermark(walk, state, layout);
        chain_set_floor(walk, state, &runtime, layout);
        chain_keep_beside(walk, layout);
        chain_set_short(walk);
        return false;
    }
    chain_note_root(walk, state, &runtime, layout);
    if (depth > walk->capacity)
        grow(walk, depth);
    if (depth > walk->capacity || depth > CHAIN_MAX_DEPTH)
        return cut(walk, top, announcer, ret_delta, layout);
    if (walk->is_truncated && match.kept == 0) {
        walk->is_truncated = false; /* the whole chain fits again */
        cached = 0;
    }
    if (match.kept <= walk->floor_index)
        chain_forget_floor(walk);
    changed = chain_fill(walk, top, match.same, depth, cached, check_names, layout);
    if (changed != 0)
        shown = walk->frames[changed - 1].shown;
    else
        shown = walk->is_truncated ? 1 : 0;
    pop = walk->shown_depth - shown;
    push = chain_push(walk, changed, depth, shown, 0, &runtime, announcer, layout);
    if (changed == 0 && depth > 0)
        name_thread(walk, announcer);
    *ret_delta = (struct python_delta){pop, push, walk->pushed, false};
    chain_set_watermark(walk, state, layout);
    chain_set_floor(walk, state, &runtime, layout);
    chain_set_short(walk);
    /* Not of *ret_delta: both words would be read as one, which waits for the stores before it. */
    return (pop | push) != 0;
}

/* The innermost frame has moved on, as chain_has_moved() says. */
CHAIN_INLINE void update_moved(struct python_walk *walk, uintptr_t top,
                               const struct announcer *announcer, struct python_delta *ret_delta,
                               const struct frame_layout *layout)
{
    uint32_t depth = walk->depth, before = walk->shown_depth;
    uint32_t shown = depth > 1 ? walk->frames[depth - 2].shown : 0, push;
    struct python_walk_frame *innermost = &walk->frames[depth - 1];

    innermost->instruction = chain_instruction(top, layout);
    innermost->beside = chain_beside(top, layout);
    push = chain_push(walk, depth - 1, depth, shown, 0, &runtime, announcer, layout);
    *ret_delta = (struct python_delta){before - shown, push, walk->pushed, true};
}

CHAIN_INLINE bool update(struct python_walk *walk, uintptr_t state,
                         const struct announcer *announcer, struct python_delta *ret_delta,
                         const struct frame_layout *layout)
{
    uintptr_t top = state != 0 ? chain_top(state, layout) : 0;

    /* In this order: who comes here has mostly seen that it is not the same. */
    if (chain_has_moved(walk, top, layout)) {
        update_moved(walk, top, announcer, ret_delta, layout);
        return true;
    }
    if (chain_is_same(walk, state, top, layout))
        return false;
    return update_changed(walk, state, top, announcer, ret_delta, layout);
}

/*
 * As python_state_at_hand(), from whatever tells. Whoever runs with a state is not among those that a
 * finalising interpreter has left behind.
 */
CHAIN_INLINE uintptr_t state_of_thread(const struct python_walk *walk, enum frame_family family)
{
    if (family < FRAMES_3_12 || python_at_hand.attached != 0)
        return python_state_at_hand(walk, family);
    return runtime.attached_state != NULL ? (uintptr_t)runtime.attached_state() : 0;
}

/* The thread state, when it is not at hand. */
static __attribute__((noinline)) uintptr_t find_thread_state(void)
{
    uintptr_t state = runtime_thread_state(&runtime);

    /* The interpreter begins, or has ended: that is when it fills its tables anew. */
    if (state == 0)
        python_keep_allocators();
    return state;
}

CHAIN_INLINE uintptr_t thread_state(const struct python_walk *walk, enum frame_family family)
{
    uintptr_t state = state_of_thread(walk, family);

    return state != 0 ? state : find_thread_state();
}

CHAIN_INLINE const struct python_walk *
if_same(const struct python_walk *walk, enum frame_family family, const struct frame_layout *layout)
{
    uintptr_t state = state_of_thread(walk, family);

    if (state != 0 && chain_is_same(walk, state, chain_top(state, layout), layout))
        return walk;
    return NULL;
}

/* A family whose thread state is found in the way of the interpreter that is followed. */
static enum frame_family family_of_any(void)
{
    return runtime.layout.minor >= ATTACHED_MINOR_FIRST ? FRAMES_COUNT : FRAMES_3_8;
}

static const struct python_walk *same_any(const struct python_walk *walk)
{
    return if_same(walk, family_of_any(), &runtime.layout.frame);
}

static bool walk_any(struct python_walk *walk, const struct announcer *announcer,
                     struct python_delta *ret_delta)
{
    return update(walk, thread_state(walk, family_of_any()), announcer, ret_delta,
                  &runtime.layout.frame);
}

/* Walkers made for one family. */
#define WALKER(family_, suffix_)                                                           \
    static const struct python_walk *same##suffix_(const struct python_walk *walk)         \
    {                                                                                      \
        const struct frame_layout layout = frame_layout_of(family_);                       \
                                                                                           \
        return if_same(walk, family_, &layout);                                            \
    }                                                                                      \
    static bool walk##suffix_(struct python_walk *walk, const struct announcer *announcer, \
                              struct python_delta *ret_delta)                              \
    {                                                                                      \
        const struct frame_layout layout = frame_layout_of(family_);                       \
                                                                                           \
        return update(walk, thread_state(walk, family_), announcer, ret_delta, &layout);   \
    }

FRAME_FAMILIES(WALKER)

#undef WALKER

struct walkers {
    python_same_function *same;
    walk_function *walk;
};

/* The last is for layouts that are no family's (--with-trace-refs, or unlike those of the headers). */
#define ROW(family_, suffix_) [family_] = {same##suffix_, walk##suffix_},

static const struct walkers walkers[FRAMES_COUNT + 1] = {
    FRAME_FAMILIES(ROW)[FRAMES_COUNT] = {same_any, walk_any}};

#undef ROW

bool python_walk_update(struct python_walk *walk, const struct announcer *announcer,
                        struct python_delta *ret_delta)
{
    walk_function *walker = atomic_load_explicit(&current_walker, memory_order_acquire);

    if (walker == NULL)
        return false;
    return walker(walk, announcer, ret_delta);
}

void python_walk_forget(struct python_walk *walk)
{
    walk->short_generation = GENERATION_NONE;
    walk->depth = 0;
    walk->shown_depth = 0;
    walk->thread_state = 0;
    walk->watermark_index = 0;
    chain_forget_floor(walk);
    walk->is_truncated = false;
}

void python_walk_follow(const struct python_runtime *found)
{
    enum frame_family family = layout_table_family(&found->layout.frame);
    const struct walkers *chosen = &walkers[family];

    runtime = *found;
    python_at_hand = (struct python_at_hand){
        .in_use = runtime.address + runtime.layout.runtime.current_state,
        .thread = runtime.layout.runtime.state_thread,
        .attached = runtime.attached_distance,
        .code = runtime.layout.code,
        .family = family < FRAMES_3_12 || runtime.attached_distance != 0 ? family : FRAMES_COUNT,
    };
    atomic_store_explicit(&current_walker, chosen->walk, memory_order_release);
    atomic_store_explicit(&python_same, chosen->same, memory_order_release);
    __atomic_store_n(&python_is_ready, true, __ATOMIC_RELEASE);
}

/* Library that lets a thread go from stack to stack: what chunks tell is then worth nothing. */
static void look_for_stacks(void)
{
    if (!runtime.keeps_chunk || !runtime_find_greenlet())
        return;
    atomic_store_explicit(&python_has_stacks, true, memory_order_relaxed);
    python_note_unmap(); /* no floor that has been found is good any more */
}

void python_find_runtime(void)
{
    static atomic_flag is_searching = ATOMIC_FLAG_INIT;
    static bool is_refused; /* the searcher's: one library is refused once */
    struct python_runtime found;
    enum python_refusal refusal;
    bool is_found;

    /* Acquire and release: the searcher's data goes from one searcher to the next. */
    if (atomic_flag_test_and_set_explicit(&is_searching, memory_order_acquire))
        return;
    if (__atomic_load_n(&python_is_ready, __ATOMIC_ACQUIRE)) {
        look_for_stacks();
        atomic_flag_clear_explicit(&is_searching, memory_order_release);
        return;
    }
    refusal = runtime_search(&found, &is_found);
    if (refusal != REFUSAL_NONE && !is_refused) {
        is_refused = true;
        atomic_fetch_add_explicit(&interpreters_refused, 1, memory_order_relaxed);
    }
    if (is_found) {
        code_names_watch(&found);
        python_know_allocators(&found);
        python_walk_follow(&found);
        look_for_stacks();
    }
    atomic_flag_clear_explicit(&is_searching, memory_order_release);
}

enum python_eval python_eval_of(const struct python_walk *walk, uintptr_t low, uintptr_t high)
{
    if (atomic_load_explicit(&current_walker, memory_order_acquire) == NULL)
        return PYTHON_EVAL_UNKNOWN;
    return boundary_find(&runtime, walk, low, high);
}

uintptr_t python_eval_function(void)
{
    return runtime.eval_function;
}

bool python_announce_runtime(const struct announcer *announcer)
{
    uint8_t bytes[BLOB_PYTHON_HEADER_BYTES + PYTHON_TEXT_BYTES];
    size_t text_bytes;

    if (atomic_load_explicit(&current_walker, memory_order_acquire) == NULL)
        return false;
    text_bytes = strlen(runtime.text);
    bytes[0] = (uint8_t)(runtime.version >> 24);
    bytes[1] = (uint8_t)(runtime.version >> 16);
    bytes[2] = (uint8_t)(runtime.version >> 8);
    bytes[3] = (uint8_t)((runtime.layout.is_free_threaded ? PYTHON_FREE_THREADED : 0) |
                         (python_traces_allocators ? PYTHON_ALLOCATORS_TRACED : 0) |
                         python_allocator_flags());
    memcpy(bytes + BLOB_PYTHON_HEADER_BYTES, runtime.text, text_bytes);
    return announcer->write(announcer->owner, BLOB_PYTHON, bytes,
                            BLOB_PYTHON_HEADER_BYTES + text_bytes);
}

uint64_t python_walks_failed(void)
{
    return atomic_load_explicit(&walks_failed, memory_order_relaxed);
}

uint64_t python_names_lost(void)
{
    return code_names_lost();
}

uint64_t python_interpreters_refused(void)
{
    return atomic_load_explicit(&interpreters_refused, memory_order_relaxed);
}

uint64_t python_memory_bytes(void)
{
    return atomic_load_explicit(&memory_bytes, memory_order_relaxed) + code_names_memory_bytes();
}
