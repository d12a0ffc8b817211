/*
 * Walks of stacks made on purpose: on memory with nothing around it, with words that were changed, with
 * nothing but garbage. What a walk that knows the last one says is what one says that does not.
 */
#include "unwind/unwind.h"

#include "test.h"

#include <memtrack/memo.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

enum {
    STACK_BYTES = 64 * 1024,
    PAGE_BYTES = 4096,
    DEEP_STACK_BYTES = 64 << 20,
    CHAIN_ROOM = 1 << 15,
    FRAMES_DEEP = 12,
    GARBAGE_WALKS = 400000,
};

/* As all of this program, but for one function. clang has it for whole files only. */
#if defined(__clang__)
#define WITHOUT_FRAME_POINTER
#else
#define WITHOUT_FRAME_POINTER __attribute__((optimize("omit-frame-pointer")))
#endif

static unsigned announced;

static bool take_announcement(void *owner, unsigned kind, const uint8_t *bytes, size_t count_bytes)
{
    (void)owner;
    (void)bytes;
    announced += kind == BLOB_MODULE && count_bytes >= BLOB_MODULE_HEADER_BYTES;
    return true;
}

static const struct unwind_helper helper = {.announcer = {take_announcement, NULL}};

/* A walker, and the chain and the memos that its reader has. */
struct follower {
    struct unwind_thread thread;
    uint64_t chain[CHAIN_ROOM];
    uint32_t depth;
    struct {
        uint64_t chain[MEMO_FRAMES];
        uint32_t base, depth;
    } memos[MEMO_COUNT];
};

static struct follower always, anew;

static void follow_memo(struct follower *follower, uint64_t word)
{
    __typeof__(&follower->memos[0]) memo =
        &follower->memos[word >> NATIVE_MEMO_SHIFT & NATIVE_MEMO_MASK];

    if ((word & NATIVE_MEMO_RECALL) != 0) {
        CHECK(memo->depth != 0 && memo->base <= follower->depth);
        memcpy(follower->chain + memo->base, memo->chain,
               (memo->depth - memo->base) * sizeof(uint64_t));
        follower->depth = memo->depth;
    } else if ((word & NATIVE_MEMO_MAKE) != 0) {
        memo->base = memo_base(follower->depth);
        memo->depth = follower->depth;
        memcpy(memo->chain, follower->chain + memo->base,
               (memo->depth - memo->base) * sizeof(uint64_t));
    }
}

/* Returns whether the stack was another. */
static bool follow(struct follower *follower, const struct unwind_state *state)
{
    struct unwind_delta delta;

    if (!unwind_update(&follower->thread, state, &helper, &delta))
        return false;
    CHECK(delta.pop <= follower->depth);
    follower->depth -= delta.pop;
    CHECK(follower->depth + delta.push <= CHAIN_ROOM);
    if (delta.push > 0)
        memcpy(follower->chain + follower->depth, delta.pushed, delta.push * sizeof(uint64_t));
    follower->depth += delta.push;
    follow_memo(follower, delta.memo);
    return true;
}

static void check_as_anew(const struct unwind_state *state)
{
    follow(&always, state);
    unwind_forget(&anew.thread);
    anew.depth = 0;
    follow(&anew, state);
    CHECK_EQUAL(always.depth, anew.depth);
    CHECK(memcmp(always.chain, anew.chain, anew.depth * sizeof(uint64_t)) == 0);
}

/* A stack with nothing below and nothing above; its end. */
static uintptr_t *make_stack(void)
{
    uint8_t *memory =
        mmap(NULL, STACK_BYTES + 2 * PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(memory != MAP_FAILED);
    CHECK(mprotect(memory + PAGE_BYTES, STACK_BYTES, PROT_READ | PROT_WRITE) == 0);
    return (uintptr_t *)(memory + PAGE_BYTES + STACK_BYTES);
}

static ucontext_t outside, inside;
static struct unwind_state met;

/* Leaves its stack as it is, and says where its caller stands. */
static __attribute__((noinline)) void stop_here(void)
{
    const uintptr_t *frame = __builtin_frame_address(0);

    met = (struct unwind_state){frame[1], (uintptr_t)(frame + 2), frame[0], false};
    swapcontext(&inside, &outside);
}

static unsigned go_deeper(unsigned depth);

static __attribute__((noinline)) WITHOUT_FRAME_POINTER unsigned go_without(unsigned depth)
{
    volatile unsigned kept = depth;

    return go_deeper(depth) + kept;
}

static __attribute__((noinline)) unsigned go_deeper(unsigned depth)
{
    volatile unsigned kept[5] = {depth};

    if (depth == 0)
        stop_here();
    else if (depth % 3 == 0)
        go_deeper(depth - 1);
    else
        go_without(depth - 1);
    return kept[0];
}

static void begin_inside(void)
{
    go_deeper(FRAMES_DEEP);
}

/* Make a stack of some frames in memory of its own. Returns its end. */
static uintptr_t *stop_inside(void)
{
    uintptr_t *end = make_stack();

    CHECK(unwind_prepare());
    getcontext(&inside);
    inside.uc_stack.ss_sp = (uint8_t *)end - STACK_BYTES;
    inside.uc_stack.ss_size = STACK_BYTES;
    makecontext(&inside, begin_inside, 0);
    swapcontext(&outside, &inside);
    return end;
}

TEST(a_stack_is_walked_to_its_beginning)
{
    stop_inside();
    CHECK(follow(&always, &met));
    CHECK(always.depth > FRAMES_DEEP);
    CHECK(announced > 0);
    CHECK(!follow(&always, &met));
    CHECK(always.chain[0] == SPECIAL_UNWINDER); /* where makecontext() begins no table tells */
}

TEST(a_word_that_is_another_is_seen)
{
    uintptr_t *end = stop_inside();
    uintptr_t values[] = {0, 1, met.pc, met.sp, met.fp, (uintptr_t)&qsort, (uintptr_t)end, 0, 0};
    unsigned changed = 0;

    for (uintptr_t *word = (uintptr_t *)met.sp - 1; word < end; word++) {
        uintptr_t before = *word;

        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
            test_case("%zu words above, value %zu", (size_t)(word - (uintptr_t *)met.sp), i);
            values[7] = before + 8;
            values[8] = before + 1;
            check_as_anew(&met);
            *word = values[i];
            changed += follow(&always, &met);
            check_as_anew(&met);
            *word = before;
            check_as_anew(&met);
        }
    }
    CHECK(changed > FRAMES_DEEP * 5);
}

static uint64_t random_state = 1;

static uint64_t random_number(uint64_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (random_state >> 24) % below;
}

/* What a stack has: addresses of code, of itself, numbers. */
static uintptr_t random_word(uintptr_t low, uintptr_t high)
{
    switch (random_number(8)) {
    case 0:
    case 1:
    case 2:
        return (uintptr_t)&qsort - 100000 + random_number(600000);
    case 3:
        return (uintptr_t)&go_deeper + random_number(200);
    case 4:
        return random_number(100);
    case 5:
        return random_state;
    default:
        return low + random_number(high - low + 32768) / 8 * 8;
    }
}

TEST(garbage_is_walked_without_harm)
{
    uintptr_t *end = make_stack(), high = (uintptr_t)end, low = high - STACK_BYTES;
    unsigned frames = 0;

    CHECK(unwind_prepare());
    alarm(120);
    for (unsigned i = 0; i < GARBAGE_WALKS; i++) {
        struct unwind_state state;

        if (i % 200 == 0)
            for (uintptr_t *word = (uintptr_t *)low; word < end; word++)
                *word = random_word(low, high);
        state.is_exact = random_number(4) == 0;
        state.sp = low + (random_number(STACK_BYTES - 8) + 8) / 8 * 8;
        if (i % 5 == 0)
            state.sp = high - random_number(20) * 8 - (state.is_exact ? 8 : 0);
        state.pc = random_word(low, high);
        state.fp = random_word(low, high);
        if (i % 3 == 0)
            *(uintptr_t *)(low + random_number(STACK_BYTES / 8) * 8) = random_word(low, high);
        test_case("walk %u", i);
        check_as_anew(&state);
        frames += always.depth;
    }
    CHECK(frames > 2 * GARBAGE_WALKS);
}

TEST(a_stack_right_below_nothing_is_walked)
{
    uintptr_t *end = make_stack();

    CHECK(unwind_prepare());
    for (unsigned left = 0; left < 64; left++) {
        struct unwind_state state = {.pc = (uintptr_t)&qsort + 40};

        state.sp = (uintptr_t)(end - left);
        state.fp = state.sp;
        check_as_anew(&state);
    }
}

TEST(a_return_address_of_nothing_ends_the_stack)
{
    uintptr_t *end = make_stack();
    struct unwind_state state = {(uintptr_t)&go_deeper, (uintptr_t)(end - 100), 0, true};

    CHECK(unwind_prepare());
    end[-100] = 0;
    CHECK(follow(&always, &state));
    CHECK_EQUAL(always.depth, 1); /* the beginning of a function: its caller's address is 0 */
    end[-100] = 0x10000;          /* where nothing is mapped */
    CHECK(follow(&always, &state));
    CHECK_EQUAL(always.depth, 3);
    CHECK_EQUAL(always.chain[0], SPECIAL_UNWINDER);
    CHECK_EQUAL(always.chain[1], NATIVE_ABSOLUTE | 0x10000);
}

TEST(a_walk_that_is_given_up_is_a_mark)
{
    struct unwind_delta delta;
    uint64_t before = unwind_stuck_count();

    stop_inside();
    follow(&always, &met);
    CHECK(unwind_give_up(&always.thread, &delta));
    CHECK_EQUAL(delta.pop, always.depth);
    CHECK(delta.push == 1 && delta.pushed[0] == SPECIAL_UNWINDER);
    CHECK(!unwind_give_up(&always.thread, &delta));
    CHECK(unwind_stuck_count() > before);
    always.chain[0] = SPECIAL_UNWINDER;
    always.depth = 1;
    CHECK(follow(&always, &met));
    CHECK(always.depth > FRAMES_DEEP);
}

TEST(the_caller_is_found_among_frames)
{
    struct unwind_state state, outer;

    stop_inside();
    follow(&always, &met);
    state = outer = met;
    CHECK(!unwind_find_caller(&always.thread, &state, 0x1234));
    for (unsigned i = 0; i < 3; i++) {
        uint64_t frame = always.chain[always.depth - 2 - i];

        /* Whose address it is is known by what the walk said of it: all are of this program. */
        outer.pc = met.pc - (always.chain[always.depth - 1] - frame);
        state = met;
        CHECK(unwind_find_caller(&always.thread, &state, outer.pc));
        CHECK(state.pc == outer.pc && state.sp > met.sp);
    }
    CHECK(!follow(&always, &met));
}

static __attribute__((noinline)) unsigned recurse(unsigned depth, unsigned *ret_depth)
{
    volatile unsigned kept = depth;

    if (depth == 0) {
        const uintptr_t *frame = __builtin_frame_address(0);
        struct unwind_state state = {frame[1], (uintptr_t)(frame + 2), frame[0], false};

        follow(&always, &state);
        *ret_depth = always.depth;
        return 0;
    }
    return recurse(depth - 1, ret_depth) + kept;
}

static void *recurse_deeply(void *unused)
{
    unsigned depth = 0;

    recurse(1000, &depth);
    CHECK(depth > 1000 && always.chain[0] != SPECIAL_TRUNCATED);
    recurse(40000, &depth);
    CHECK(depth > 10000 && depth < 40000);
    CHECK_EQUAL(always.chain[0], SPECIAL_TRUNCATED);
    recurse(40100, &depth);
    CHECK_EQUAL(always.chain[0], SPECIAL_TRUNCATED);
    recurse(10, &depth);
    CHECK(depth > 10 && depth < 100 && always.chain[0] != SPECIAL_TRUNCATED);
    CHECK_EQUAL(unwind_stuck_count(), 0);
    return unused;
}

/* On a stack with room for the frames of sanitizers. */
TEST(a_stack_that_is_too_deep_is_cut_and_grows_again)
{
    pthread_attr_t attributes;
    pthread_t thread;

    CHECK(unwind_prepare());
    CHECK(pthread_attr_init(&attributes) == 0 &&
          pthread_attr_setstacksize(&attributes, DEEP_STACK_BYTES) == 0);
    CHECK(pthread_create(&thread, &attributes, recurse_deeply, NULL) == 0);
    pthread_join(thread, NULL);
}
