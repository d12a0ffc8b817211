/*
 * Drawing a sample: the chance of each block is what the reader takes it for.
 *
 * The generator is seeded with a constant, so a run is like every other; the bounds are five standard
 * errors of what is measured, which a right generator would miss once in two million seeds.
 */
#include "record/sample.h"

#include "test.h"

enum {
    MEAN = 4096,
};

/* Give out so many blocks of a size. Returns how many of them are recorded. */
static unsigned give_out(struct sample_thread *thread, uint64_t size_bytes, unsigned count)
{
    unsigned picked_count = 0;

    for (unsigned i = 0; i < count; i++)
        picked_count +=
            !sample_passes(thread, size_bytes) && sample_picks(thread, MEAN, size_bytes);
    return picked_count;
}

/* 1 - exp(-x). */
static double chance_of(double x)
{
    double term = 1.0, sum = 0.0;

    for (unsigned i = 1; i < 60; i++) {
        term *= -x / i;
        sum -= term;
    }
    return sum;
}

static double root(double x)
{
    double guess = x > 1.0 ? x : 1.0;

    for (unsigned i = 0; i < 200; i++)
        guess = (guess + x / guess) / 2.0;
    return guess;
}

TEST(the_logarithm_is_right)
{
    static const struct {
        uint64_t number;
        double value;
    } rows[] = {
        {UINT64_MAX, 0.0},
        {UINT64_C(1) << 63, 0.69314718055994531},
        {UINT64_C(3) << 62, 0.28768207245178093},
        {UINT64_C(0x5e2d58d8b3bcdf1b), 1.0},
        {1, 44.3614195558364998},
        {12345678901, 21.1248476035994},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double found =
            (double)sample_negative_log(rows[i].number) / (double)(UINT64_C(1) << SAMPLE_LOG_BITS);

        test_case("%ju: %.9f", (uintmax_t)rows[i].number, found);
        CHECK(found > rows[i].value - 1e-7 && found < rows[i].value + 1e-7);
    }
}

TEST(each_size_has_its_chance)
{
    static const uint64_t sizes[] = {1, 16, 100, 1000, 3000, MEAN - 1};
    struct sample_thread thread = {0};

    sample_begin(&thread, MEAN, 1);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        double chance = chance_of((double)sizes[i] / MEAN);
        unsigned count = sizes[i] < 100 ? 4000000 : 400000;
        double expected = count * chance, error = root(count * chance * (1.0 - chance));
        double found = give_out(&thread, sizes[i], count);

        test_case("size %ju: %.0f of %.0f", (uintmax_t)sizes[i], found, expected);
        CHECK(found > expected - 5 * error && found < expected + 5 * error);
    }
}

TEST(sizes_in_turns_have_each_its_chance)
{
    static const uint64_t sizes[] = {2000, 24, 0, 9000, 300};
    unsigned counts[5] = {0};
    struct sample_thread thread = {0};

    sample_begin(&thread, MEAN, 2);
    for (unsigned i = 0; i < 400000; i++)
        for (unsigned k = 0; k < 5; k++)
            counts[k] += give_out(&thread, sizes[k], 1);
    CHECK_EQUAL(counts[2], 0);
    CHECK_EQUAL(counts[3], 400000);
    for (unsigned k = 0; k < 5; k++) {
        double chance = k == 3 ? 1.0 : chance_of((double)sizes[k] / MEAN);
        double error = root(400000 * chance * (1.0 - chance) + 1e-9) + 1;

        test_case("size %ju: %u", (uintmax_t)sizes[k], counts[k]);
        CHECK(counts[k] > 400000 * chance - 5 * error && counts[k] < 400000 * chance + 5 * error);
    }
}

/* What is recorded of a block says nothing of the next one. */
TEST(blocks_are_picked_independently)
{
    double chance = chance_of(1000.0 / MEAN);
    double pairs = 0, last = 0, error = root(400000 * chance * chance);
    struct sample_thread thread = {0};

    sample_begin(&thread, MEAN, 3);
    for (unsigned i = 0; i < 400000; i++) {
        double now = give_out(&thread, 1000, 1);

        pairs += last * now;
        last = now;
    }
    CHECK(pairs > 400000 * chance * chance - 5 * error);
    CHECK(pairs < 400000 * chance * chance + 5 * error);
}

TEST(large_blocks_are_always_recorded)
{
    struct sample_thread thread = {0};

    sample_begin(&thread, MEAN, 4);
    for (unsigned i = 0; i < 100000; i++) {
        CHECK_EQUAL(give_out(&thread, MEAN, 1), 1);
        CHECK_EQUAL(give_out(&thread, UINT64_C(1) << 46, 1), 1);
        give_out(&thread, i % 5000, 1);
        CHECK(thread.left_bytes < MEAN);
    }
}

TEST(a_thread_that_has_not_begun_passes_nothing_over)
{
    struct sample_thread thread = {0};

    CHECK(!sample_passes(&thread, 1));
    CHECK(sample_passes(&thread, 0));
    CHECK(!sample_passes(&thread, SIZE_MAX));
    CHECK_EQUAL(thread.left_bytes, 0);
}

TEST(other_seeds_give_other_samples)
{
    struct sample_thread one = {0}, two = {0};

    sample_begin(&one, MEAN, 5);
    sample_begin(&two, MEAN, 6);
    CHECK(one.left_bytes + one.rest_bytes != two.left_bytes + two.rest_bytes);
    sample_begin(&two, MEAN, 0);
    CHECK(two.random != 0);
}

/* With a mean of a byte everything is recorded; with one of a TiB nothing overflows. */
TEST(the_smallest_and_the_largest_mean_work)
{
    struct sample_thread thread = {0};

    sample_begin(&thread, 1, 7);
    for (unsigned i = 0; i < 1000; i++) {
        CHECK(!sample_passes(&thread, 1));
        CHECK(sample_picks(&thread, 1, 1));
    }
    sample_begin(&thread, UINT64_C(1) << 40, 8);
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t size_bytes = (UINT64_C(1) << 40) - 1;

        if (!sample_passes(&thread, size_bytes))
            sample_picks(&thread, UINT64_C(1) << 40, size_bytes);
        CHECK(thread.left_bytes < UINT64_C(1) << 40);
        CHECK(thread.rest_bytes < UINT64_C(45) << 40);
    }
}
