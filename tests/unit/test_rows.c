/* The table of rows: many addresses in one place of it, and those of a library that is gone. */
#include "unwind/rows.h"

#include "test.h"
#include "unwind/objects.h"

#include <dlfcn.h>

enum {
    STRIDE = 1 << ROWS_COUNT_BITS, /* addresses so far apart have one place */
    CROWD = 30,                    /* more than there are probes */
};

static struct object find_object(const void *address)
{
    struct object object;

    CHECK(objects_prepare());
    CHECK(objects_find((uintptr_t)address, &object));
    return object;
}

/* Addresses of code of the C library that share a place. Returns how many. */
static unsigned find_crowd(uintptr_t first, uintptr_t *ret_addresses)
{
    struct object libc = find_object(&qsort);
    unsigned count = 0;

    for (uintptr_t at = libc.start + first; at < libc.end && count < CROWD; at += STRIDE)
        ret_addresses[count++] = at;
    return count;
}

TEST(addresses_that_share_a_place_keep_their_rows)
{
    for (uintptr_t first = 1; first < STRIDE; first += 997) {
        uintptr_t addresses[CROWD];
        unwind_row rows[CROWD];
        unsigned count = find_crowd(first, addresses);

        CHECK(count > ROWS_PROBES);
        for (unsigned i = 0; i < count; i++)
            rows[i] = rows_get(addresses[i]);
        for (unsigned i = count; i-- > 0;) {
            test_case("%#lx", addresses[i]);
            CHECK_EQUAL(rows_get(addresses[i]), rows[i]);
        }
    }
}

TEST(neighbours_of_a_crowded_place_keep_their_rows)
{
    uintptr_t addresses[CROWD];
    unsigned count = find_crowd(40000 % STRIDE, addresses);

    for (unsigned near = 0; near < ROWS_PROBES; near++)
        for (unsigned i = 0; i < count; i++) {
            uintptr_t key = addresses[i] ^ near;
            unwind_row row = rows_get(key);

            for (unsigned other = 0; other < ROWS_PROBES; other++)
                rows_get(key ^ other);
            test_case("%#lx", key);
            CHECK_EQUAL(rows_get(key), row);
        }
}

static unsigned count_rows_of(const struct object *object)
{
    unsigned count = 0;

    for (size_t i = 0; i < 1u << ROWS_COUNT_BITS; i++) {
        uint64_t entry = atomic_load(&rows_table[i]);
        uint64_t probe = entry >> ROW_BITS & (ROWS_PROBES - 1);
        uintptr_t key =
            (uintptr_t)(entry >> (ROW_BITS + 3)) << ROWS_COUNT_BITS | (i ^ (size_t)probe);

        count += entry != 0 && key > object->start && key <= object->end;
    }
    return count;
}

TEST(rows_of_a_library_that_is_gone_are_forgotten_and_no_others)
{
    void *library = dlopen("libm.so.6", RTLD_NOW);
    void *function = library != NULL ? dlsym(library, "cos") : NULL;
    struct object libm, libc = find_object(&qsort);
    unsigned kept;
    uint32_t generation = atomic_load(&rows_generation);

    CHECK(function != NULL);
    libm = find_object(function);
    for (unsigned i = 1; i < 100; i++) {
        rows_get((uintptr_t)function + i);
        rows_get((uintptr_t)&qsort + i);
    }
    kept = count_rows_of(&libc);
    CHECK(count_rows_of(&libm) > 50 && kept > 50);
    rows_note_free(&libm); /* any other block */
    CHECK_EQUAL(atomic_load(&rows_generation), generation);
    rows_note_free(libm.identity);
    CHECK(atomic_load(&rows_generation) != generation);
    CHECK_EQUAL(count_rows_of(&libm), 0);
    CHECK_EQUAL(count_rows_of(&libc), kept);
    rows_get((uintptr_t)function + 1); /* it is there after all, and met again */
    CHECK_EQUAL(count_rows_of(&libm), 1);
}

TEST(addresses_in_no_object_are_not_kept)
{
    unwind_row row;

    CHECK(objects_prepare());
    row = rows_get(0x12345);
    CHECK(row >> ROW_KIND_SHIFT == ROW_SPECIAL && rows_is_guess(row));
    for (size_t i = 0; i < 1u << ROWS_COUNT_BITS; i++)
        CHECK_EQUAL(atomic_load(&rows_table[i]), 0);
}
