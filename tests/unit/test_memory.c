/*
 * Memory of the tools: pools keep things apart, arrays grow, too much ends the tool.
 */
#include "test.h"

#include "base/memory.h"

TEST(things_of_a_pool_do_not_overlap)
{
    struct memory_pool pool = {.newest = NULL};
    unsigned char *things[300];

    for (size_t i = 0; i < 300; i++) {
        things[i] = memory_pool_allocate(&pool, i * 11);
        CHECK_EQUAL((uintptr_t)things[i] % 16, 0);
        for (size_t j = 0; j < i * 11; j++)
            CHECK_EQUAL(things[i][j], 0);
        memset(things[i], (int)i, i * 11);
    }
    for (size_t i = 0; i < 300; i++) {
        for (size_t j = 0; j < i * 11; j++)
            CHECK_EQUAL(things[i][j], i % 256);
    }
    memory_pool_finish(&pool);
}

TEST(a_pool_takes_things_larger_than_its_chunks)
{
    struct memory_pool pool = {.newest = NULL};
    char *text = memory_pool_copy(&pool, "ab\0c", 3);
    char *large = memory_pool_allocate(&pool, 1 << 20);

    memset(large, 1, 1 << 20);
    CHECK_TEXT(text, "ab");
    CHECK_TEXT(memory_pool_copy(&pool, "", 0), "");
    memory_pool_finish(&pool);
    CHECK(pool.newest == NULL);
}

TEST(an_array_grows_and_keeps_what_it_held)
{
    size_t capacity = 0;
    uint32_t *array = NULL;

    for (uint32_t i = 0; i < 1000; i++) {
        array = memory_grow(array, &capacity, i + 1, sizeof(array[0]));
        CHECK(capacity > i);
        array[i] = i;
    }
    for (uint32_t i = 0; i < 1000; i++)
        CHECK_EQUAL(array[i], i);
    free(array);
}

TEST(too_much_memory_ends_the_tool_with_a_message)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        size_t capacity = 0;

        fclose(stderr);
        free(memory_grow(NULL, &capacity, SIZE_MAX / 4, 8));
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_EQUAL(WEXITSTATUS(status), 4);
}
