/*
 * Walks, follows what the walk tells as the reader does, and compares. Runs in the program's threads.
 */
#include "compare.h"

#include "base/syscalls.h"
#include "unwind/rows.h"

#include <memtrack/memo.h>
#include <memtrack/protocol.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum {
    CHAIN_ROOM = 1 << 15, /* the unwinder's own limit */
};

struct plan plan;
struct counts *counts;

/* What has been announced. In memory that a forked child finds empty, as the unwinder's own. */
static _Atomic uint64_t *biases;

static __thread struct observer *own_observer __attribute__((tls_model("initial-exec")));

static bool take_announcement(void *owner, unsigned kind, const uint8_t *bytes, size_t count_bytes)
{
    uint64_t bias;
    uint32_t number;

    (void)owner;
    if (kind != BLOB_MODULE || count_bytes < BLOB_MODULE_HEADER_BYTES)
        abort();
    memcpy(&number, bytes, sizeof(number));
    memcpy(&bias, bytes + 4, sizeof(bias));
    if (number >= MODULES_MAX)
        abort();
    atomic_store(&biases[number], bias + 1); /* 0: not announced */
    return true;
}

static const struct unwind_helper helper = {.announcer = {take_announcement, NULL}};

struct observer *observer_own(void)
{
    size_t stack_bytes = plan.room * sizeof(uintptr_t), chain_bytes = CHAIN_ROOM * sizeof(uint64_t);
    struct observer *observer = own_observer;
    uint8_t *memory;

    if (observer == NULL) {
        memory = sys_map_wiped(sizeof(*observer) + 3 * stack_bytes + 3 * chain_bytes);
        if (memory == NULL)
            return NULL;
        own_observer = observer = (struct observer *)memory;
    }
    if (biases == NULL) {
        biases = sys_map_wiped(MODULES_MAX * sizeof(*biases));
        if (biases == NULL)
            return NULL;
    }
    if (observer->own.frames == NULL) { /* also in a child, whose copy is empty */
        memory = (uint8_t *)(observer + 1);
        observer->own = (struct stack){(uintptr_t *)memory, 0, plan.room};
        memory += stack_bytes;
        observer->other = (struct stack){(uintptr_t *)memory, 0, plan.room};
        memory += stack_bytes;
        observer->glibc = (struct stack){(uintptr_t *)memory, 0, plan.room};
        memory += stack_bytes;
        observer->always.chain = (uint64_t *)memory;
        observer->anew.chain = observer->always.chain + CHAIN_ROOM;
        observer->steps.chain = observer->anew.chain + CHAIN_ROOM;
    }
    return observer;
}

/* Stacks that may come again: what a walk tells of them besides. */
static void follow_memo(struct follower *follower, const struct unwind_delta *delta)
{
    struct followed_memo *memo =
        &follower->memos[delta->memo >> NATIVE_MEMO_SHIFT & NATIVE_MEMO_MASK];

    if ((delta->memo & NATIVE_MEMO_RECALL) != 0) {
        if (memo->depth == 0 || memo->base > follower->depth)
            abort();
        memcpy(follower->chain + memo->base, memo->chain,
               (memo->depth - memo->base) * sizeof(uint64_t));
        follower->depth = memo->depth;
        atomic_fetch_add_explicit(&counts->recalled, 1, memory_order_relaxed);
    } else if ((delta->memo & NATIVE_MEMO_MAKE) != 0) {
        memo->base = memo_base(follower->depth);
        memo->depth = follower->depth;
        memcpy(memo->chain, follower->chain + memo->base,
               (memo->depth - memo->base) * sizeof(uint64_t));
    }
}

/* Walk, and do with the chain what the walk tells. */
static void follow(struct follower *follower, const struct unwind_state *state)
{
    struct unwind_delta delta;

    if (!unwind_update(&follower->thread, state, &helper, &delta))
        return;
    if (delta.pop > follower->depth || follower->depth - delta.pop + delta.push > CHAIN_ROOM)
        abort();
    follower->depth -= delta.pop;
    memcpy(follower->chain + follower->depth, delta.pushed, delta.push * sizeof(uint64_t));
    follower->depth += delta.push;
    follow_memo(follower, &delta);
}

static uintptr_t address_of(uint64_t frame)
{
    uint64_t module = frame >> NATIVE_MODULE_SHIFT & NATIVE_MODULE_MASK;
    uint64_t offset = frame & ((UINT64_C(1) << NATIVE_OFFSET_BITS) - 1), bias;

    if ((frame & NATIVE_ABSOLUTE) != 0)
        return (uintptr_t)(frame & (NATIVE_EXACT - 1));
    bias = atomic_load(&biases[module]);
    if (bias == 0)
        abort(); /* a frame of what nobody has announced */
    return (uintptr_t)(offset + bias - 1);
}

/* The mark that a chain begins with; 0: it has none. */
static uint64_t mark_of(const struct follower *follower)
{
    uint64_t root = follower->depth > 0 ? follower->chain[0] : 0;

    return (root & NATIVE_ABSOLUTE) == 0 && root >> NATIVE_MODULE_SHIFT == 0 ? root : 0;
}

/* The innermost frames of a chain. */
static void read_chain(const struct follower *follower, struct stack *ret_stack)
{
    uint32_t end = mark_of(follower) != 0 ? 1 : 0;

    ret_stack->count = 0;
    for (uint32_t i = follower->depth; i > end && ret_stack->count < ret_stack->room; i--)
        ret_stack->frames[ret_stack->count++] = address_of(follower->chain[i - 1]);
}

/* Whether two stacks are the same, as far as there was room for them. */
static bool are_equal(const struct stack *own, const struct stack *other, bool is_cut)
{
    uint32_t count = own->count < other->count ? own->count : other->count;

    if (memcmp(own->frames, other->frames, count * sizeof(*own->frames)) != 0)
        return false;
    if (own->count == other->count || count == own->room)
        return true;
    /* libunwind has room for less than it was asked for: its own frames were taken off. */
    if (own->count == own->room && own->count - other->count <= 8)
        return true;
    return is_cut && own->count < other->count;
}

/* Whether the stacks differ behind a frame that no table tells of: there each has a guess of its own. */
static bool is_guessed(const struct stack *own, const struct stack *other, bool is_exact)
{
    uintptr_t start, end;

    for (uint32_t i = 0; i < own->count && i < other->count; i++) {
        if (own->frames[i] != other->frames[i])
            return false;
        if (!unwind_find_function(own->frames[i] - (i > 0 || !is_exact), &start, &end))
            return true;
    }
    return false;
}

/* Another unwinder says something else: who is right? libunwind's word is kept for the report. */
static void judge(struct observer *observer, uintptr_t first, bool is_cut)
{
    const struct stack *own = &observer->own, *other = &observer->other;
    struct stack *glibc = &observer->glibc;

    if (is_guessed(own, other, false)) {
        count_one(&counts->guessed);
        return;
    }
    reference_glibc(glibc, first);
    if (are_equal(own, glibc, is_cut) || is_guessed(own, glibc, false)) {
        count_one(&counts->libunwind);
        report_mismatch("libunwind alone", own, other);
        return;
    }
    count_one(&counts->mismatches);
    report_mismatch("libunwind", own, other);
    report_mismatch("glibc", own, glibc);
}

/* A stack with a mark: what stands on it is right, and how far the others came. */
static void count_marks(const struct observer *observer, uint64_t mark)
{
    if (mark == SPECIAL_TRUNCATED)
        count_one(&counts->truncated);
    else if (mark == 0)
        return;
    else if (observer->own.count < observer->other.count)
        count_one(&counts->stuck);
    else
        count_one(&counts->stuck_alike);
}

static void compare_seldom(struct observer *observer, const struct unwind_state *state, bool is_cut)
{
    struct stack *own = &observer->own, *other = &observer->other;
    uint64_t count = observer->count;

    if (plan.steps_each != 0 && count % plan.steps_each == 0 && reference_steps(other, state->pc)) {
        count_one(&counts->by_steps);
        if (!are_equal(own, other, is_cut))
            judge(observer, state->pc, is_cut);
    }
    if (plan.glibc_each != 0 && count % plan.glibc_each == 0 && reference_glibc(other, state->pc)) {
        count_one(&counts->by_glibc);
        if (!are_equal(own, other, is_cut) && !is_guessed(own, other, false)) {
            count_one(&counts->mismatches);
            report_mismatch("glibc", own, other);
        }
    }
}

/* The walk that knows the last one, against one that does not. */
static void compare_anew(struct observer *observer, const struct follower *always,
                         const struct unwind_state *state)
{
    struct follower *anew = &observer->anew;

    unwind_forget(&anew->thread);
    anew->depth = 0;
    follow(anew, state);
    /* Of a stack that is cut off each has cut off another part. */
    if (mark_of(always) == SPECIAL_TRUNCATED || mark_of(anew) == SPECIAL_TRUNCATED)
        return;
    if (anew->depth == always->depth &&
        memcmp(anew->chain, always->chain, anew->depth * sizeof(uint64_t)) == 0)
        return;
    count_one(&counts->cached);
    read_chain(anew, &observer->other);
    report_mismatch("a walk anew", &observer->own, &observer->other);
}

void compare_stack(struct observer *observer, const struct unwind_state *state)
{
    uint32_t generation = atomic_load(&rows_generation);
    uint64_t mark;

    follow(&observer->always, state);
    count_one(&counts->walks);
    if (++observer->walks % plan.each != 0)
        return;
    if (atomic_load(&rows_generation) != generation)
        return; /* a library went away meanwhile: who walked before, who behind it? */
    observer->count++;
    count_one(&counts->stacks);
    atomic_fetch_add_explicit(&counts->frames, observer->always.depth, memory_order_relaxed);
    read_chain(&observer->always, &observer->own);
    mark = mark_of(&observer->always);
    compare_anew(observer, &observer->always, state);
    if (!reference_backtrace(&observer->other, state->pc)) {
        count_one(&counts->unchecked);
        return;
    }
    count_marks(observer, mark);
    if (!are_equal(&observer->own, &observer->other, mark != 0))
        judge(observer, state->pc, mark != 0);
    compare_seldom(observer, state, mark != 0);
}

void compare_instruction(struct observer *observer, const void *context)
{
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    struct unwind_state state = {(uintptr_t)registers[REG_RIP], (uintptr_t)registers[REG_RSP],
                                 (uintptr_t)registers[REG_RBP], true};
    struct stack *own = &observer->own, *other = &observer->other;
    uint64_t mark;

    follow(&observer->steps, &state);
    read_chain(&observer->steps, own);
    mark = mark_of(&observer->steps);
    count_one(&counts->instructions);
    compare_anew(observer, &observer->steps, &state);
    if (!reference_from(other, context)) {
        count_one(&counts->unchecked);
        return;
    }
    count_marks(observer, mark);
    if (are_equal(own, other, mark != 0))
        return;
    if (is_guessed(own, other, true)) {
        count_one(&counts->guessed);
        return;
    }
    count_one(&counts->mismatches);
    report_mismatch("an instruction", own, other);
}
