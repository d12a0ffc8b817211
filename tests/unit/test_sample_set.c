/*
 * The set of sampled blocks that are live: found by whoever releases them, and nobody else's.
 */
#include "record/sample_set.h"

#include "test.h"

#include <pthread.h>
#include <sys/resource.h>

enum {
    THREADS = 4,
    ROUNDS = 20000,
};

#define BASE UINT64_C(0x7f0000000000)

static uintptr_t block(uint64_t number)
{
    return BASE + number * 48;
}

TEST(a_block_is_found_once)
{
    CHECK(!sample_set_may_have(block(1)));
    CHECK(!sample_set_take(DOMAIN_HEAP, block(1)));
    CHECK(sample_set_put(DOMAIN_HEAP, block(1)));
    CHECK(sample_set_may_have(block(1)));
    CHECK(sample_set_take(DOMAIN_HEAP, block(1)));
    CHECK(!sample_set_take(DOMAIN_HEAP, block(1)));
    CHECK(!sample_set_may_have(block(1)));
}

TEST(a_block_of_another_domain_is_another_block)
{
    CHECK(sample_set_put(DOMAIN_HEAP, block(1)));
    CHECK(!sample_set_take(DOMAIN_PYTHON_OBJECT, block(1)));
    CHECK(sample_set_put(DOMAIN_PYTHON_OBJECT, block(1)));
    CHECK(sample_set_take(DOMAIN_HEAP, block(1)));
    CHECK(!sample_set_take(DOMAIN_HEAP, block(1)));
    CHECK(sample_set_take(DOMAIN_PYTHON_OBJECT, block(1)));
}

/* Its release was seen by nobody: what is there now is one block. */
TEST(a_block_that_is_there_already_is_there_once)
{
    CHECK(sample_set_put(DOMAIN_HEAP, block(1)));
    CHECK(sample_set_put(DOMAIN_HEAP, block(1)));
    CHECK(sample_set_take(DOMAIN_HEAP, block(1)));
    CHECK(!sample_set_take(DOMAIN_HEAP, block(1)));
}

/* Many on one counter: it is full then, and says "perhaps" for good, never "no". */
TEST(a_full_counter_of_the_filter_hides_nothing)
{
    uintptr_t same[600], at = BASE;

    for (unsigned i = 0; i < 600; i++) {
        do
            at += 64;
        while (sample_filter_index(at) != 77);
        same[i] = at;
        CHECK(sample_set_put(DOMAIN_HEAP, same[i]));
    }
    for (unsigned i = 0; i < 600; i++) {
        CHECK(sample_set_may_have(same[i]));
        CHECK(sample_set_take(DOMAIN_HEAP, same[i]));
    }
    CHECK(sample_set_may_have(same[0]));
    CHECK(!sample_set_take(DOMAIN_HEAP, same[0]));
}

TEST(it_grows_with_what_is_in_it_and_keeps_its_memory)
{
    size_t first_bytes = sample_set_bytes(), most_bytes;

    for (uint64_t i = 0; i < 1000000; i++)
        CHECK(sample_set_put(DOMAIN_HEAP, block(i)));
    most_bytes = sample_set_bytes();
    CHECK(most_bytes > first_bytes && most_bytes < 1000000 * 8 * 4);
    for (uint64_t i = 0; i < 1000000; i++)
        CHECK(sample_set_take(DOMAIN_HEAP, block(i)));
    for (uint64_t i = 0; i < 1000000; i++)
        CHECK(!sample_set_take(DOMAIN_HEAP, block(i)));
    for (uint64_t i = 2000000; i < 3000000; i++)
        CHECK(sample_set_put(DOMAIN_HEAP, block(i)));
    CHECK(sample_set_bytes() <= 2 * most_bytes);
}

#ifndef REFUSAL_IS_UNTESTABLE
TEST(without_memory_it_says_so_and_goes_on)
{
    struct rlimit none = {0, 0}, before;
    uint64_t count = 0;

    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    none.rlim_max = before.rlim_max;
    CHECK(setrlimit(RLIMIT_AS, &none) == 0);
    while (sample_set_put(DOMAIN_HEAP, block(count)))
        count++;
    CHECK(count > 2000 && count < 4096);
    CHECK(!sample_set_take(DOMAIN_HEAP, block(count)));
    for (uint64_t i = 0; i < count; i++)
        CHECK(sample_set_take(DOMAIN_HEAP, block(i)));
    CHECK(sample_set_put(DOMAIN_HEAP, block(count)));
    CHECK(sample_set_take(DOMAIN_HEAP, block(count)));
}
#endif

/* Each thread puts blocks of its own in; the next thread takes them out. */
static _Atomic uint64_t handed_over[THREADS];

static void *hand_over(void *argument)
{
    unsigned self = (unsigned)(uintptr_t)argument, left = (self + THREADS - 1) % THREADS;
    uint64_t taken = 0;

    for (uint64_t put = 0; taken < ROUNDS;) {
        if (put < ROUNDS && put < taken + 500) {
            CHECK(sample_set_put(DOMAIN_HEAP, block(put * THREADS + self)));
            atomic_store_explicit(&handed_over[self], ++put, memory_order_release);
        }
        if (taken < atomic_load_explicit(&handed_over[left], memory_order_acquire)) {
            CHECK(sample_set_take(DOMAIN_HEAP, block(taken * THREADS + left)));
            taken++;
        }
    }
    return NULL;
}

TEST(what_one_thread_puts_in_another_takes_out)
{
    pthread_t threads[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, hand_over, (void *)i) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (uint64_t i = 0; i < ROUNDS * THREADS; i++)
        CHECK(!sample_set_take(DOMAIN_HEAP, block(i)));
}

static void *grow(void *argument)
{
    uint64_t from = (uint64_t)(uintptr_t)argument * 100000;

    for (uint64_t i = from; i < from + 50000; i++)
        CHECK(sample_set_put(DOMAIN_HEAP, block(i)));
    for (uint64_t i = from; i < from + 50000; i++)
        CHECK(sample_set_take(DOMAIN_HEAP, block(i)));
    return NULL;
}

TEST(threads_that_need_more_room_at_once_lose_nothing)
{
    pthread_t threads[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, grow, (void *)i) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

TEST(a_forked_child_has_what_its_parent_had)
{
    int status;
    pid_t child;

    for (uint64_t i = 0; i < 10000; i++)
        CHECK(sample_set_put(DOMAIN_HEAP, block(i)));
    child = fork();
    CHECK(child >= 0);
    for (uint64_t i = 0; i < 10000; i++)
        if (!sample_set_take(DOMAIN_HEAP, block(i)))
            _exit(1);
    if (child == 0)
        _exit(0);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
