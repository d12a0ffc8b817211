/* Walks that need not be whole: the stack is easily seen to be the same, or its outer end is. */
#include "hand_frames.h"

#include <sys/mman.h>

enum {
    CHUNK_BYTES = 16384,
    CHUNKED_FRAME_BYTES = 128,
    MARK_OF_LIBRARY = 64,
    MAX_CHUNKS = 4,
};

static char *chunks[MAX_CHUNKS]; /* root first */
static struct arena_allocator allocator;
static char library[MARK_OF_LIBRARY]; /* where the interpreter would be */

static void give_allocator(struct arena_allocator *ret_allocator)
{
    *ret_allocator = allocator;
}

static void start_with_chunks(unsigned minor)
{
    for (unsigned i = 0; i < MAX_CHUNKS; i++) {
        chunks[i] =
            mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(chunks[i] != MAP_FAILED);
        store_at(chunks[i], CHUNK_PREVIOUS, i > 0 ? (uintptr_t)chunks[i - 1] : 0);
    }
    fake.arena_allocator = give_allocator;
    fake.keeps_chunk = minor > 13;
    fake.host_start = (uintptr_t)library;
    fake.host_end = (uintptr_t)library + MARK_OF_LIBRARY;
    allocator.free = (void (*)(void *, void *, size_t))(uintptr_t)library;
    memset(&walk, 0, sizeof(walk));
    chain_depth = 0;
    start(minor);
}

static char *chunk_frame(unsigned chunk, unsigned i)
{
    return chunks[chunk] + (chunk == 0 ? CHUNK_ROOT_FRAMES : CHUNK_FRAMES) +
           (size_t)i * CHUNKED_FRAME_BYTES;
}

/* Frame at is on top of below and executes code 1 at this offset. */
static void put_at(char *at, const void *below, unsigned offset)
{
    const struct frame_layout *layout = &fake.layout.frame;

    store_at(at, layout->previous, (uintptr_t)below);
    store_at(at, layout->code, (uintptr_t)codes[1]);
    store_at(at, layout->instruction, (uintptr_t)codes[1] + fake.layout.code.bytecode + offset);
}

static void run_at(const char *top)
{
    const struct frame_layout *layout = &fake.layout.frame;
    uint64_t frame = (uintptr_t)top;

    if (layout->has_cframe) {
        store_at(cframe, layout->cframe_frame, frame);
        frame = (uintptr_t)cframe;
    }
    store_at(state, layout->state_frame, frame);
}

/* 40 frames in each chunk, the last of them running; before the first a boundary where there is one. */
static void fill_chunks(unsigned count)
{
    const void *below = NULL;

    if (fake.layout.frame.owner != 0) {
        put(0, -1, 7, 0, BOUNDARY);
        below = frames[0];
    }
    for (unsigned chunk = 0; chunk < count; chunk++)
        for (unsigned i = 0; i < 40; i++) {
            put_at(chunk_frame(chunk, i), below, 20);
            below = chunk_frame(chunk, i);
        }
    store_at(state, fake.layout.frame.chunk, (uintptr_t)chunks[count - 1]);
    run_at(below);
}

/* Change a frame in the middle chunk, which cannot happen while the last one is there. */
static void change_below(unsigned offset)
{
    put_at(chunk_frame(1, 20), chunk_frame(1, 19), offset);
}

TEST(while_nothing_is_unmapped_no_frame_below_a_chunk_is_read)
{
    for (unsigned minor = 11; minor <= 13; minor++) {
        test_case("3.%u", minor);
        start_with_chunks(minor);
        fill_chunks(3);
        CHECK(step());
        CHECK_EQUAL(chain_depth, 120);
        change_below(22);
        CHECK(!step());
        CHECK(is_seen_same);
        put_at(chunk_frame(2, 10), chunk_frame(2, 9), 24);
        CHECK(step());
        CHECK_EQUAL(delta.pop, 30);
        CHECK(!step());
        CHECK(is_seen_same);
    }
}

TEST(after_a_release_of_pages_all_frames_are_read)
{
    for (unsigned minor = 11; minor <= 13; minor++) {
        test_case("3.%u", minor);
        start_with_chunks(minor);
        fill_chunks(3);
        CHECK(step());
        change_below(22);
        python_note_unmap();
        CHECK(step());
        CHECK_EQUAL(delta.pop, 60);
        CHECK_EQUAL(offset_of(chain[60]), 22);
        change_below(24);
        CHECK(!step());
    }
}

TEST(the_first_frame_of_a_chunk_is_read)
{
    start_with_chunks(11);
    fill_chunks(3);
    CHECK(step());
    put_at(chunk_frame(2, 0), chunk_frame(1, 39), 24);
    CHECK(step());
    CHECK_EQUAL(delta.pop, 40);
}

TEST(a_chunk_of_somebody_elses_allocator_is_not_relied_on)
{
    start_with_chunks(11);
    allocator.free = (void (*)(void *, void *, size_t))(uintptr_t)(library + MARK_OF_LIBRARY);
    fill_chunks(3);
    CHECK(step());
    change_below(22);
    CHECK(step());
    CHECK_EQUAL(delta.pop, 60);
}

TEST(an_interpreter_whose_allocator_is_not_known_is_walked_whole)
{
    start_with_chunks(13);
    fake.arena_allocator = NULL;
    python_walk_follow(&fake);
    fill_chunks(3);
    CHECK(step());
    change_below(22);
    CHECK(step());
}

TEST(where_a_chunk_is_kept_the_one_before_the_innermost_counts)
{
    start_with_chunks(14);
    fill_chunks(4);
    CHECK(step());
    CHECK_EQUAL(chain_depth, 160);
    change_below(22);
    CHECK(!step());
    CHECK(is_seen_same);
    put_at(chunk_frame(2, 10), chunk_frame(2, 9), 24);
    CHECK(step());
    CHECK_EQUAL(delta.pop, 70);
    python_note_unmap();
    CHECK(step());
    CHECK_EQUAL(delta.pop, 100);
    CHECK_EQUAL(offset_of(chain[60]), 22);
}

TEST(where_a_chunk_is_kept_two_chunks_are_not_enough)
{
    start_with_chunks(14);
    fill_chunks(2);
    CHECK(step());
    put_at(chunk_frame(0, 20), chunk_frame(0, 19), 22);
    CHECK(step());
    CHECK_EQUAL(delta.pop, 60);
}

TEST(where_a_chunk_is_kept_a_thread_with_several_stacks_is_walked_whole)
{
    char *other;

    for (int is_seen_first = 0; is_seen_first <= 1; is_seen_first++) {
        test_case(is_seen_first ? "the other one first" : "the other one in between");
        start_with_chunks(14);
        fill_chunks(4);
        other = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(other != MAP_FAILED);
        put_at(other + CHUNK_ROOT_FRAMES, NULL, 30);
        if (!is_seen_first)
            CHECK(step());
        store_at(state, fake.layout.frame.chunk, (uintptr_t)other);
        run_at(other + CHUNK_ROOT_FRAMES);
        CHECK(step());
        fill_chunks(4);
        CHECK(step());
        CHECK_EQUAL(chain_depth, 160);
        change_below(22);
        CHECK(step());
        CHECK_EQUAL(offset_of(chain[60]), 22);
    }
}

TEST(where_a_chunk_is_kept_and_greenlets_are_loaded_all_frames_are_read)
{
    start_with_chunks(14);
    fill_chunks(4);
    atomic_store(&python_has_stacks, true);
    CHECK(step());
    change_below(22);
    CHECK(step());
    atomic_store(&python_has_stacks, false);
}

TEST(a_stack_that_is_linked_to_another_is_walked_whole)
{
    for (int is_later = 0; is_later <= 1; is_later++) {
        test_case(is_later ? "linked between two walks" : "linked before the first");
        start_with_chunks(11);
        fill_chunks(3);
        if (is_later)
            CHECK(step());
        /* A coroutine's: what called it first goes on while it lives. */
        put(1, -1, 0, 10, 0);
        put_at(chunk_frame(0, 0), frames[1], 20);
        CHECK(step());
        CHECK_EQUAL(chain_depth, 121);
        put(1, -1, 0, 12, 0);
        CHECK(step());
        CHECK_EQUAL(offset_of(chain[0]), 12);
    }
}

TEST(another_stack_in_between_is_no_reason_to_trust)
{
    uint64_t other[8] = {0};

    start_with_chunks(11);
    fill_chunks(3);
    CHECK(step());
    put_at((char *)other, NULL, 30);
    run_at((char *)other);
    CHECK(step());
    CHECK_EQUAL(chain_depth, 1);
    change_below(22);
    run_at(chunk_frame(2, 39));
    CHECK(step());
    CHECK_EQUAL(chain_depth, 120);
    CHECK_EQUAL(offset_of(chain[60]), 22);
}

TEST(a_new_chunk_is_the_one_that_counts)
{
    start_with_chunks(12);
    fill_chunks(3);
    store_at(state, fake.layout.frame.chunk, (uintptr_t)chunks[1]);
    run_at(chunk_frame(1, 39));
    CHECK(step());
    store_at(state, fake.layout.frame.chunk, (uintptr_t)chunks[2]);
    run_at(chunk_frame(2, 39));
    CHECK(step());
    CHECK_EQUAL(chain_depth, 120);
    change_below(22);
    CHECK(!step());
}

TEST(a_usual_stack_is_seen_to_be_the_same_without_a_walk)
{
    for (unsigned minor = 8; minor <= 15; minor++) {
        test_case("3.%u", minor);
        memset(&walk, 0, sizeof(walk));
        chain_depth = 0;
        start(minor);
        put_at((char *)frames[0], NULL, 10);
        put_at((char *)frames[1], frames[0], 20);
        run(1);
        CHECK(step());
        CHECK(!is_seen_same);
        CHECK(!step());
        CHECK(is_seen_same);
        python_walk_forget(&walk);
        chain_depth = 0;
        CHECK(step());
    }
}

TEST(without_the_interpreter_nothing_is_seen_at_once)
{
    for (unsigned minor = 11; minor <= 14; minor++) {
        test_case("3.%u", minor);
        memset(&walk, 0, sizeof(walk));
        chain_depth = 0;
        attached = state;
        start(minor);
        put_at((char *)frames[0], NULL, 10);
        run(0);
        step();
        attached = NULL;
        if (minor == 11)
            store_at(runtime_words, fake.layout.runtime.current_state, 0);
        CHECK(!step());
        CHECK(!is_seen_same);
    }
}

TEST(a_state_that_is_another_threads_now_is_not_followed)
{
    start(11);
    put_at((char *)frames[0], NULL, 10);
    run(0);
    CHECK(step());
    store_at(state, fake.layout.runtime.state_thread, (uintptr_t)pthread_self() + 64);
    CHECK(!step());
    CHECK(!is_seen_same);
}
