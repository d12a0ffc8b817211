/*
 * Lookup: the smallest symbol that covers an address, and none that does not.
 */
#include "test.h"

#include "symbol/lookup.h"

static const uint64_t addresses[] = {10, 20, 30, 40, UINT64_MAX};

enum {
    COUNT = sizeof(addresses) / sizeof(addresses[0]),
};

struct table {
    struct lookup_symbol symbols[COUNT];
    struct lookup lookup;
};

static void begin(struct table *table)
{
    memset(table, 0, sizeof(*table));
    table->lookup = (struct lookup){addresses, COUNT, table->symbols};
}

static void offer(struct table *table, uint64_t from, uint64_t to, uint8_t rank, const char *name)
{
    lookup_offer(&table->lookup, &(struct lookup_symbol){name, from, to, rank});
}

static const char *name_at(const struct table *table, size_t index)
{
    return table->symbols[index].name != NULL ? table->symbols[index].name : "";
}

TEST(addresses_of_a_range_are_found)
{
    static const struct {
        uint64_t begin, end;
        size_t first, count;
    } rows[] = {
        {0, 10, 0, 0},  {0, 11, 0, 1},  {10, 10, 0, 0},        {10, 21, 0, 2},
        {11, 20, 1, 0}, {40, 30, 3, 0}, {0, UINT64_MAX, 0, 4}, {41, UINT64_MAX, 4, 0},
        {20, 41, 1, 3}, {30, 31, 2, 1}, {UINT64_MAX, 0, 4, 0},
    };
    struct table table;

    begin(&table);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t first;

        test_case("row %zu", i);
        CHECK_EQUAL(lookup_find(&table.lookup, rows[i].begin, rows[i].end, &first), rows[i].count);
        if (rows[i].count > 0)
            CHECK_EQUAL(first, rows[i].first);
    }
    table.lookup.count = 0;
    CHECK_EQUAL(lookup_find(&table.lookup, 0, UINT64_MAX, &(size_t){0}), 0);
}

TEST(the_end_of_a_symbol_is_not_its_own)
{
    struct table table;

    begin(&table);
    offer(&table, 10, 20, 0, "a");
    offer(&table, 30, 30, 0, "nothing");
    CHECK_TEXT(name_at(&table, 0), "a");
    CHECK_TEXT(name_at(&table, 1), "");
    CHECK_TEXT(name_at(&table, 2), "");
}

TEST(the_innermost_symbol_is_taken_in_any_order)
{
    for (int order = 0; order < 2; order++) {
        struct table table;

        test_case("order %d", order);
        begin(&table);
        for (int i = 0; i < 2; i++) {
            if (i == order)
                offer(&table, 0, 100, 0, "whole");
            else
                offer(&table, 20, 31, 2, "part");
        }
        CHECK_TEXT(name_at(&table, 0), "whole");
        CHECK_TEXT(name_at(&table, 1), "part");
        CHECK_TEXT(name_at(&table, 2), "part");
        CHECK_TEXT(name_at(&table, 3), "whole");
    }
}

TEST(of_equal_symbols_people_see_the_one_they_know)
{
    struct table table;

    begin(&table);
    offer(&table, 10, 20, 0, "__libc_malloc");
    offer(&table, 10, 20, 0, "malloc");
    offer(&table, 10, 20, 0, "__malloc");
    CHECK_TEXT(name_at(&table, 0), "malloc");
    offer(&table, 10, 20, 1, "a_weak");
    offer(&table, 10, 20, 2, "a_local");
    CHECK_TEXT(name_at(&table, 0), "malloc");
    offer(&table, 10, 19, 2, "shorter");
    CHECK_TEXT(name_at(&table, 0), "shorter");
}
