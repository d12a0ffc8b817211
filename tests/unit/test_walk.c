/* Walks over frames of our own making, laid out as CPython 3.15 and 3.11 have them. */
#include "hand_frames.h"

#include <sys/mman.h>
#include <sys/resource.h>

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
    attached = NULL;
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
