/*
 * Ranges against an array of pages, and many of them.
 */
#include "profile/ranges.h"

#include "test.h"

enum {
    PAGE_COUNT = 400,
    STEP_COUNT = 20000,
    MANY = 200000,
};

static uint64_t random_state = 88172645463325252;

static unsigned next_random(unsigned limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state % limit);
}

static void add(struct ranges *ranges, uint64_t start, uint64_t end, uint32_t stack)
{
    struct range range = {.start = start, .end = end, .stack = stack};

    ranges_add(ranges, &range);
}

/* Every range that the pages say, and no other. */
static void check_same(const struct ranges *ranges, const uint32_t *pages)
{
    uint64_t at = 0;
    const struct range *next;
    unsigned page = 0;

    while ((next = ranges_first(ranges, at, PAGE_COUNT)) != NULL) {
        for (; page < next->start; page++)
            CHECK_EQUAL(pages[page], 0);
        for (; page < next->end; page++)
            CHECK_EQUAL(pages[page], next->stack);
        at = next->end;
    }
    for (; page < PAGE_COUNT; page++)
        CHECK_EQUAL(pages[page], 0);
}

TEST(ranges_are_where_they_were_put)
{
    static uint32_t pages[PAGE_COUNT];
    struct ranges ranges = {0};

    for (unsigned step = 1; step <= STEP_COUNT; step++) {
        unsigned start = next_random(PAGE_COUNT - 20), end = start + 1 + next_random(20);
        const struct range *found;

        test_case("step %u", step);
        while ((found = ranges_first(&ranges, start, end)) != NULL) {
            CHECK(found->start < end && found->end > start);
            memset(pages + found->start, 0, (found->end - found->start) * sizeof(*pages));
            ranges_remove(&ranges, found->start);
        }
        if (next_random(3) > 0) {
            add(&ranges, start, end, step);
            for (unsigned page = start; page < end; page++)
                pages[page] = step;
        }
        if (step % 50 == 0)
            check_same(&ranges, pages);
    }
    check_same(&ranges, pages);
    ranges_finish(&ranges);
}

TEST(nothing_is_found_where_nothing_is_or_in_no_bytes)
{
    struct ranges ranges = {0};

    CHECK(ranges_first(&ranges, 0, UINT64_MAX) == NULL);
    add(&ranges, 100, 200, 1);
    CHECK(ranges_first(&ranges, 0, 100) == NULL);
    CHECK(ranges_first(&ranges, 200, UINT64_MAX) == NULL);
    CHECK(ranges_first(&ranges, 150, 150) == NULL);
    CHECK(ranges_first(&ranges, 0, 101) != NULL);
    CHECK(ranges_first(&ranges, 199, 200) != NULL);
    ranges_finish(&ranges);
}

/* With a list in place of a tree this would not end. */
TEST(a_hundred_thousand_ranges_are_no_trouble_in_any_order)
{
    struct ranges ranges = {0};

    for (unsigned i = 0; i < MANY; i++)
        add(&ranges, UINT64_C(10) * i, UINT64_C(10) * i + 5, i);
    CHECK_EQUAL(ranges.count, MANY);
    for (unsigned i = 0; i < MANY; i++)
        CHECK_EQUAL(ranges_first(&ranges, UINT64_C(10) * i + 4, UINT64_MAX)->stack, i);
    for (unsigned i = MANY; i-- > 0;)
        ranges_remove(&ranges, UINT64_C(10) * i);
    CHECK_EQUAL(ranges.count, 0);
    CHECK(ranges_first(&ranges, 0, UINT64_MAX) == NULL);
    ranges_finish(&ranges);
}
