/* Walks over frames of our own making, laid out as CPython 3.15 and 3.11 have them. */
#include "test.h"

#include "python/code_names.h"
#include "python/layout_table.h"
#include "python/runtime.h"
#include "python/walk.h"

#include <memtrack/protocol.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum {
    FRAME_WORDS = 12,
    FRAME_COUNT = 6000,
    CODE_COUNT = 8,
    CODE_WORDS = 32,
    MAX_SHOWN = 8000,
    BOUNDARY = 3, /* owner */
    GENERATOR = 1,
};

static uint64_t state[64];
static uint64_t cframe[4];
static uint64_t runtime_words[256];
static uint64_t frames[FRAME_COUNT][FRAME_WORDS];
static uint64_t codes[CODE_COUNT][CODE_WORDS];
static uint64_t code_type[32];
static uint64_t name_text[16];
static uint64_t line_table[8];

static struct python_runtime fake;
static struct python_walk walk;
static struct python_delta delta;
static uint64_t chain[MAX_SHOWN];
static uint32_t chain_depth;
static unsigned announced;
static bool is_refusing;
static unsigned released;

static void *thread_state(void)
{
    return state;
}

static void release_code(void *code)
{
    (void)code;
    released++;
}

static bool announce(void *owner, unsigned kind, const uint8_t *bytes, size_t count_bytes)
{
    (void)owner;
    (void)bytes;
    CHECK_EQUAL(kind, BLOB_CODE);
    CHECK(count_bytes >= BLOB_CODE_HEADER_BYTES);
    if (is_refusing)
        return false;
    announced++;
    return true;
}

static const struct python_announcer announcer = {.write = announce};

static void store_at(void *at, uint16_t offset, uint64_t value)
{
    memcpy((char *)at + offset, &value, sizeof(value));
}

static void start(unsigned minor)
{
    CHECK(layout_table_find(minor, false, false, &fake.layout));
    fake.thread_state = thread_state;
    fake.address = (uintptr_t)runtime_words;
    fake.code_type = (uintptr_t)code_type;
    store_at(code_type, fake.layout.object.type_dealloc, (uintptr_t)release_code);
    store_at(name_text, fake.layout.object.text_length, 4);
    store_at(name_text, fake.layout.object.text_state, 0x64); /* one byte, compact, ASCII */
    memcpy((char *)name_text + fake.layout.object.text_ascii_data, "name", 4);
    for (unsigned i = 0; i < CODE_COUNT; i++) {
        store_at(codes[i], fake.layout.object.type, (uintptr_t)code_type);
        store_at(codes[i], fake.layout.object.size, 100);
        store_at(codes[i], fake.layout.code.file_name, (uintptr_t)name_text);
        store_at(codes[i], fake.layout.code.qualified_name, (uintptr_t)name_text);
        store_at(codes[i], fake.layout.code.line_table, (uintptr_t)line_table);
    }
    code_names_watch(&fake);
    python_walk_follow(&fake);
}

/* Frame i is on top of frame below, executes this code at this offset. below < 0: the root. */
static void put(unsigned i, int below, unsigned code, unsigned offset, unsigned owner)
{
    const struct frame_layout *layout = &fake.layout.frame;
    uintptr_t bytecode = (uintptr_t)codes[code] + fake.layout.code.bytecode;

    store_at(frames[i], layout->previous, below < 0 ? 0 : (uintptr_t)frames[below]);
    store_at(frames[i], layout->code, (uintptr_t)codes[code]);
    store_at(frames[i], layout->instruction, bytecode + offset);
    ((char *)frames[i])[layout->owner] = (char)owner;
}

/* Make it the running frame; below 0: none. */
static void run(int top)
{
    const struct frame_layout *layout = &fake.layout.frame;
    uint64_t frame = top < 0 ? 0 : (uintptr_t)frames[top];

    if (layout->has_cframe) {
        store_at(cframe, layout->cframe_frame, frame);
        frame = (uintptr_t)cframe;
    }
    store_at(state, layout->state_frame, frame);
}

/* Walk as lib/record does. Returns whether there was a delta; pop and push are in delta. */
static bool step(void)
{
    if (!python_walk_update(&walk, &announcer, &delta)) {
        CHECK_EQUAL(chain_depth, walk.shown_depth);
        return false;
    }
    CHECK(delta.pop <= chain_depth);
    chain_depth -= delta.pop;
    for (uint32_t i = 0; i < delta.push; i++)
        chain[chain_depth++] = delta.pushed[i];
    CHECK_EQUAL(chain_depth, walk.shown_depth);
    return true;
}

static unsigned code_of(uint64_t frame)
{
    return (unsigned)(frame >> FRAME_CODE_SHIFT & FRAME_CODE_MASK);
}

static unsigned offset_of(uint64_t frame)
{
    return (unsigned)(frame & 0x3fffffff);
}

/* base, entry, A@10, B@20, entry, C@30: two activations. Returns the top. */
static int usual(void)
{
    put(0, -1, 7, 0, BOUNDARY);
    put(1, 0, 7, 0, BOUNDARY);
    put(2, 1, 0, 10, FRAME_OWNED_BY_THREAD);
    put(3, 2, 1, 20, FRAME_OWNED_BY_THREAD);
    put(4, 3, 7, 0, BOUNDARY);
    put(5, 4, 2, 30, FRAME_OWNED_BY_THREAD);
    return 5;
}

/* A line of frames from an index on, all of one code and offset. */
static int tower(unsigned from, unsigned count)
{
    for (unsigned i = from; i < from + count; i++)
        put(i, (int)i - 1, 3, 40, FRAME_OWNED_BY_THREAD);
    return (int)(from + count - 1);
}

TEST(a_first_walk_gives_all_shown_frames_outermost_first)
{
    start(15);
    run(usual());
    CHECK(step());
    CHECK_EQUAL(delta.pop, 0);
    CHECK_EQUAL(delta.push, 3);
    CHECK_EQUAL(offset_of(chain[0]), 10);
    CHECK_EQUAL(offset_of(chain[1]), 20);
    CHECK_EQUAL(offset_of(chain[2]), 30);
    CHECK_EQUAL(announced, 3);
    CHECK_EQUAL(walk.depth, 6);
}

TEST(the_outermost_frame_of_each_activation_is_an_entry)
{
    start(15);
    run(usual());
    CHECK(step());
    CHECK((chain[0] & FRAME_ENTRY) != 0);
    CHECK((chain[1] & FRAME_ENTRY) == 0);
    CHECK((chain[2] & FRAME_ENTRY) != 0);
}

TEST(an_unchanged_stack_is_no_delta)
{
    start(15);
    run(usual());
    CHECK(step());
    delta.pop = 77;
    CHECK(!step());
    CHECK_EQUAL(delta.pop, 77);
    CHECK_EQUAL(announced, 3);
}

TEST(another_line_is_one_frame_popped_and_pushed)
{
    start(15);
    run(usual());
    CHECK(step());
    put(5, 4, 2, 34, FRAME_OWNED_BY_THREAD);
    CHECK(step());
    CHECK_EQUAL(delta.pop, 1);
    CHECK_EQUAL(delta.push, 1);
    CHECK_EQUAL(offset_of(chain[2]), 34);
    CHECK_EQUAL(announced, 3);
}

TEST(a_return_counts_shown_frames_and_no_boundaries)
{
    start(12);
    run(usual());
    CHECK(step());
    run(3);
    CHECK(step());
    CHECK_EQUAL(delta.pop, 1);
    CHECK_EQUAL(delta.push, 0);
    CHECK_EQUAL(walk.depth, 4);
    run(1); /* what is left is the interpreter's own */
    CHECK(step());
    CHECK_EQUAL(delta.pop, 2);
    CHECK_EQUAL(chain_depth, 0);
}

TEST(a_change_far_below_is_seen_under_equal_frames)
{
    for (unsigned minor = 12; minor <= 14; minor++) {
        test_case("3.%u", minor);
        start(minor);
        usual();
        run(tower(6, 2000));
        step();
        put(2, 1, 0, 12, FRAME_OWNED_BY_THREAD);
        CHECK(step());
        CHECK_EQUAL(delta.pop, 2003);
        CHECK_EQUAL(delta.push, 2003);
        CHECK_EQUAL(offset_of(chain[0]), 12);
        memset(&walk, 0, sizeof(walk));
        chain_depth = 0;
    }
}

TEST(a_frame_that_is_linked_elsewhere_takes_what_stands_on_it_along)
{
    start(14);
    run(usual());
    CHECK(step());
    /* The same generator, resumed by A instead of B. */
    put(4, 2, 7, 0, BOUNDARY);
    CHECK(step());
    CHECK_EQUAL(chain_depth, 2);
    CHECK_EQUAL(offset_of(chain[0]), 10);
    CHECK_EQUAL(offset_of(chain[1]), 30);
    CHECK_EQUAL(delta.pop, 2);
    CHECK_EQUAL(delta.push, 1);
}

TEST(a_long_return_is_found_by_counting_from_the_root)
{
    start(14);
    usual();
    run(tower(6, 100));
    CHECK(step());
    run(5);
    CHECK(step());
    CHECK_EQUAL(delta.pop, 100);
    CHECK_EQUAL(delta.push, 0);
}

TEST(below_the_limit_of_verification_a_change_is_found_after_some_walks)
{
    unsigned walks = 0;

    start(14);
    usual();
    run(tower(6, FRAME_COUNT - 6));
    CHECK(step());
    put(2, 1, 0, 12, FRAME_OWNED_BY_THREAD);
    while (!step())
        CHECK(++walks < 4);
    CHECK_EQUAL(offset_of(chain[0]), 12);
}

TEST(the_watermark_is_left_on_the_innermost_frame_of_the_thread)
{
    uint64_t sequence;

    start(15);
    usual();
    put(5, 4, 2, 30, GENERATOR);
    run(5);
    CHECK(step());
    CHECK_EQUAL(state[88 / 8], (uintptr_t)frames[3]);
    sequence = state[96 / 8];
    CHECK_EQUAL(sequence, 1); /* nobody else's anchor has this number */
    CHECK(!step());
    CHECK_EQUAL(state[96 / 8], sequence);
}

TEST(below_the_watermark_nothing_is_read)
{
    start(15);
    run(usual());
    CHECK(step());
    put(2, 1, 0, 12, FRAME_OWNED_BY_THREAD); /* cannot happen without moving the mark */
    CHECK(!step());
    state[88 / 8] = (uintptr_t)frames[3]; /* frames 5 and 4 have ended: the mark went with them */
    state[96 / 8] += 2;
    run(3);
    CHECK(step());
    CHECK_EQUAL(offset_of(chain[0]), 10);
}

TEST(a_watermark_of_somebody_else_is_not_trusted)
{
    start(15);
    run(usual());
    CHECK(step());
    put(2, 1, 0, 12, FRAME_OWNED_BY_THREAD);
    state[88 / 8] = (uintptr_t)frames[3]; /* set anew, no frame has ended */
    CHECK(step());
    CHECK_EQUAL(offset_of(chain[0]), 12);
    put(2, 1, 0, 14, FRAME_OWNED_BY_THREAD);
    state[96 / 8]++; /* one has ended, but the mark is where it was */
    CHECK(step());
    CHECK_EQUAL(offset_of(chain[0]), 14);
    put(2, 1, 0, 16, FRAME_OWNED_BY_THREAD);
    state[88 / 8] = 0;
    CHECK(step());
    CHECK_EQUAL(offset_of(chain[0]), 16);
}

TEST(code_at_the_address_of_released_code_is_pushed_and_announced_anew)
{
    unsigned first;

    for (unsigned minor = 11; minor <= 15; minor += 4) {
        test_case("3.%u", minor);
        memset(&walk, 0, sizeof(walk));
        chain_depth = announced = released = 0;
        start(minor);
        if (minor == 11) {
            put(0, -1, 0, 10, 0);
            put(1, 0, 2, 30, 0);
            run(1);
        } else {
            run(usual());
        }
        step();
        CHECK(announced > 0);
        announced = 0;
        first = code_of(chain[chain_depth - 1]);
        ((void (*)(void *))code_type[fake.layout.object.type_dealloc / 8])(codes[2]);
        CHECK(released >= 1);
        CHECK(step());
        CHECK_EQUAL(delta.pop, 1);
        CHECK_EQUAL(delta.push, 1);
        CHECK_EQUAL(announced, 1);
        CHECK(code_of(chain[chain_depth - 1]) != first);
    }
}

TEST(release_of_other_code_changes_nothing)
{
    start(15);
    run(usual());
    CHECK(step());
    CHECK(code_names_get(&fake, (uintptr_t)codes[5], &announcer) != CODE_ID_NONE);
    ((void (*)(void *))code_type[fake.layout.object.type_dealloc / 8])(codes[5]);
    CHECK(!step());
}

TEST(what_is_no_code_is_shown_as_unknown)
{
    start(14);
    usual();
    store_at(codes[2], fake.layout.object.type, (uintptr_t)name_text);
    run(5);
    CHECK(step());
    CHECK_EQUAL(code_of(chain[2]), 0);
    CHECK_EQUAL(offset_of(chain[2]), SPECIAL_UNKNOWN);
    CHECK_EQUAL(python_names_lost(), 0);
}

TEST(a_refused_announcement_is_counted_and_tried_again)
{
    start(14);
    run(usual());
    is_refusing = true;
    CHECK(step());
    CHECK_EQUAL(code_of(chain[2]), 0);
    CHECK_EQUAL(python_names_lost(), 3);
    is_refusing = false;
    put(5, 4, 2, 32, FRAME_OWNED_BY_THREAD);
    CHECK(step());
    CHECK(code_of(chain[2]) != 0);
}

TEST(a_finalizing_interpreter_has_the_empty_stack)
{
    start(14);
    run(usual());
    CHECK(step());
    store_at(runtime_words, fake.layout.runtime.finalizing, 1);
    CHECK(step());
    CHECK_EQUAL(chain_depth, 0);
    store_at(runtime_words, fake.layout.runtime.finalizing, (uintptr_t)state);
    CHECK(step());
    CHECK_EQUAL(chain_depth, 3);
}

TEST(after_forgetting_everything_is_given_again)
{
    start(15);
    run(usual());
    CHECK(step());
    python_walk_forget(&walk);
    chain_depth = 0;
    CHECK(step());
    CHECK_EQUAL(delta.pop, 0);
    CHECK_EQUAL(delta.push, 3);
}

#ifndef REFUSAL_IS_UNTESTABLE

/* No more address space: the kernel refuses every further mapping. */
static void refuse_memory(void)
{
    struct rlimit none = {0, 0};

    CHECK(setrlimit(RLIMIT_AS, &none) == 0);
}

TEST(without_any_memory_the_stack_is_the_mark)
{
    start(14);
    run(usual());
    refuse_memory();
    CHECK(step());
    CHECK_EQUAL(chain_depth, 1);
    CHECK_EQUAL(chain[0], SPECIAL_TRUNCATED);
    CHECK(python_walks_failed() >= 1);
    CHECK(!step());
    run(-1);
    CHECK(step());
    CHECK_EQUAL(chain_depth, 0);
}

TEST(without_more_memory_the_inner_end_stands_on_the_mark)
{
    uint32_t room;

    start(14);
    run(usual());
    CHECK(step());
    for (unsigned i = 6; i < 1006; i++)
        put(i, (int)i - 1, i % 3, 2 * i, FRAME_OWNED_BY_THREAD);
    room = walk.capacity;
    refuse_memory();
    run(1005);
    CHECK(step());
    CHECK_EQUAL(chain[0], SPECIAL_TRUNCATED);
    CHECK_EQUAL(chain_depth, 1 + room / 2);
    for (uint32_t i = 1; i < chain_depth; i++)
        CHECK_EQUAL(offset_of(chain[chain_depth - i]), 2 * (1006 - i));
    CHECK(!step());
    /* Returns and calls inside the window are small deltas. */
    run(1001);
    CHECK(step());
    CHECK_EQUAL(delta.pop, 4);
    CHECK_EQUAL(delta.push, 0);
    run(1005);
    CHECK(step());
    CHECK_EQUAL(delta.push, 4);
    /* And once the window has ended, the whole chain is shown again. */
    run(5);
    CHECK(step());
    CHECK_EQUAL(chain_depth, 3);
    CHECK_EQUAL(offset_of(chain[0]), 10);
}

#endif

TEST(no_frame_is_read_that_the_chain_does_not_reach)
{
    uint64_t(*gone)[FRAME_WORDS] =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(gone != MAP_FAILED);
    for (unsigned minor = 12; minor <= 15; minor++) {
        test_case("3.%u", minor);
        memset(&walk, 0, sizeof(walk));
        chain_depth = 0;
        CHECK(mprotect(gone, 4096, PROT_READ | PROT_WRITE) == 0);
        start(minor);
        usual();
        memcpy(gone[0], frames[3], sizeof(frames[3]));
        store_at(frames[4], fake.layout.frame.previous, (uintptr_t)gone[0]);
        run(5);
        step();
        /* B has returned, and its memory with it; A has called C. */
        store_at(frames[4], fake.layout.frame.previous, (uintptr_t)frames[2]);
        CHECK(mprotect(gone, 4096, PROT_NONE) == 0);
        state[88 / 8] = (uintptr_t)gone[0];
        CHECK(step());
        CHECK_EQUAL(chain_depth, 2);
    }
}
