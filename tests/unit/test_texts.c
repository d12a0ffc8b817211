/*
 * Names of programs: one number for one text, and none for what cannot be right.
 */
#include "collect/texts.h"

#include "test.h"

#include <stdio.h>

static struct texts texts;
static struct text_map one, two;
static struct records records;

static bool add(struct text_map *map, enum name_kind kind, uint32_t id, const char *text)
{
    return texts_add(&texts, map, kind, id, text, strlen(text), &records);
}

static void finish(void)
{
    text_map_finish(&one);
    text_map_finish(&two);
    texts_finish(&texts);
    records_finish(&records);
}

TEST(equal_names_of_all_processes_have_one_number)
{
    CHECK(add(&one, NAME_MARK, 1, "load"));
    CHECK(add(&two, NAME_MARK, 7, "store"));
    CHECK(add(&two, NAME_MARK, 9, "load"));
    CHECK(add(&one, NAME_POOL, 128, "load"));
    CHECK(add(&two, NAME_POOL, 255, "load"));
    CHECK_EQUAL(records.count, 3);
    CHECK_EQUAL(text_map_mark(&one, 1), text_map_mark(&two, 9));
    CHECK_EQUAL(text_map_mark(&two, 7), 2);
    CHECK_EQUAL(text_map_pool(&one, 128), ALLOCATOR_POOL_FIRST);
    CHECK_EQUAL(text_map_pool(&two, 255), ALLOCATOR_POOL_FIRST);
    finish();
}

TEST(what_was_not_announced_is_not_known)
{
    CHECK_EQUAL(text_map_mark(&one, 0), 0);
    CHECK_EQUAL(text_map_mark(&one, 1), 0);
    CHECK_EQUAL(text_map_mark(&one, UINT64_MAX), 0);
    CHECK_EQUAL(text_map_pool(&one, 200), ALLOCATOR_NONE);
    CHECK_EQUAL(text_map_pool(&one, 0), ALLOCATOR_POOL);
}

TEST(impossible_ids_are_refused)
{
    CHECK(!add(&one, NAME_MARK, 0, "x"));
    CHECK(!add(&one, NAME_MARK, UINT32_MAX, "x"));
    CHECK(!add(&one, NAME_POOL, ALLOCATOR_POOL, "x"));
    CHECK(!add(&one, NAME_POOL, ALLOCATOR_COUNT, "x"));
    CHECK_EQUAL(records.count, 0);
    finish();
}

TEST(pools_beyond_the_last_number_have_no_name)
{
    char name[32];

    for (unsigned i = 0; i < 2 * TEXTS_POOLS; i++) {
        snprintf(name, sizeof(name), "pool %u", i);
        CHECK(add(i < TEXTS_POOLS ? &one : &two, NAME_POOL, ALLOCATOR_POOL_FIRST + i % TEXTS_POOLS,
                  name));
    }
    CHECK_EQUAL(records.count, TEXTS_POOLS);
    CHECK_EQUAL(text_map_pool(&one, 255), 255);
    CHECK_EQUAL(text_map_pool(&two, 128), ALLOCATOR_POOL);
    CHECK(add(&two, NAME_POOL, 128, "pool 3"));
    CHECK_EQUAL(text_map_pool(&two, 128), ALLOCATOR_POOL_FIRST + 3);
    finish();
}
