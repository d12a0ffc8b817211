/*
 * The index by hash: items are found by their keys, whatever the hashes, however many.
 */
#include "test.h"

#include "base/hash_index.h"

static bool equals(const void *items, uint32_t item, const void *key)
{
    return ((const uint64_t *)items)[item] == *(const uint64_t *)key;
}

TEST(an_empty_index_finds_nothing)
{
    struct hash_index index = {.slots = NULL};
    uint64_t key = 1;

    CHECK(hash_index_find(&index, 1, equals, &key, &key) == HASH_INDEX_NONE);
    hash_index_finish(&index);
}

TEST(every_item_is_found_and_no_other)
{
    enum {
        COUNT = 20000
    };
    static uint64_t items[COUNT];
    struct hash_index index = {.slots = NULL};

    for (uint32_t i = 0; i < COUNT; i++) {
        items[i] = i * 3;
        hash_index_add(&index, hash_index_mix(items[i], 0), i);
    }
    for (uint64_t key = 0; key < 3 * COUNT; key++) {
        uint32_t item = hash_index_find(&index, hash_index_mix(key, 0), equals, items, &key);

        test_case("key %" PRIu64, key);
        CHECK(item == (key % 3 == 0 ? key / 3 : HASH_INDEX_NONE));
    }
    hash_index_finish(&index);
}

TEST(items_of_one_hash_are_told_apart_by_their_keys)
{
    uint64_t items[200];
    struct hash_index index = {.slots = NULL};

    for (uint32_t i = 0; i < 200; i++) {
        items[i] = i;
        hash_index_add(&index, 7, i);
    }
    for (uint64_t key = 0; key < 200; key++)
        CHECK_EQUAL(hash_index_find(&index, 7, equals, items, &key), key);
    hash_index_finish(&index);
}
