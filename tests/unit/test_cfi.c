/* Tables of call frames: what they say, and that damaged ones are never read beyond their end. */
#include "unwind/cfi.h"

#include "test.h"
#include "unwind/objects.h"

#include <sys/mman.h>

enum {
    SEARCHED_STEP = 61,
    MUTATIONS = 3000,
    LOOKUPS = 40, /* of each mutation */
    HEADER_AT = 0,
    ENTRIES_AT = 64,
    FUNCTION_AT = 4096,
    FUNCTION_BYTES = 256,
    HAND_BYTES = 8192,
};

/* The tables of the C library, and a copy with nothing around it. */
struct copied {
    struct object object;
    struct cfi_tables own, copy;
    uint8_t *bytes;
    size_t count_bytes, headers;
    intptr_t delta;
};

static void *map_guarded(size_t size_bytes)
{
    size_t whole_bytes = (size_bytes + 4095) / 4096 * 4096;
    uint8_t *memory = mmap(NULL, whole_bytes + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(memory != MAP_FAILED);
    CHECK(mprotect(memory + 4096, whole_bytes, PROT_READ | PROT_WRITE) == 0);
    return memory + 4096 + whole_bytes - size_bytes; /* the end is the guard's beginning */
}

static void unmap_guarded(uint8_t *bytes, size_t size_bytes)
{
    size_t whole_bytes = (size_bytes + 4095) / 4096 * 4096;

    CHECK(munmap(bytes + size_bytes - whole_bytes - 4096, whole_bytes + 8192) == 0);
}

static void copy_tables(struct copied *ret)
{
    CHECK(objects_prepare());
    CHECK(objects_find((uintptr_t)&qsort, &ret->object) && ret->object.tables != NULL);
    objects_tables(&ret->object, &ret->own);
    CHECK(ret->own.count > 0);
    for (unsigned i = 0; i < ret->own.count; i++) {
        const uint8_t *start = ret->own.parts[i].start, *end = ret->own.parts[i].end;

        if (ret->own.header < start || ret->own.header >= end)
            continue;
        ret->count_bytes = (size_t)(end - start);
        ret->bytes = map_guarded(ret->count_bytes);
        memcpy(ret->bytes, start, ret->count_bytes);
        ret->delta = (intptr_t)((uintptr_t)ret->bytes - (uintptr_t)start);
        ret->headers = (size_t)(ret->own.header - start);
    }
    CHECK(ret->bytes != NULL);
    ret->copy = (struct cfi_tables){.header = ret->bytes + ret->headers, .count = 1};
    ret->copy.parts[0].start = ret->bytes;
    ret->copy.parts[0].end = ret->bytes + ret->count_bytes;
}

TEST(a_copy_says_what_the_original_says)
{
    struct copied tables = {0};
    unsigned found = 0;

    copy_tables(&tables);
    for (uintptr_t at = tables.object.start; at < tables.object.end; at += SEARCHED_STEP) {
        struct cfi_row own, copy;
        struct cfi_range range, moved;
        enum cfi_result result = cfi_find(&tables.own, at, &own, &range);

        CHECK(cfi_find(&tables.copy, at + (uintptr_t)tables.delta, &copy, &moved) == result);
        if (result != CFI_FOUND)
            continue;
        found++;
        CHECK_EQUAL(moved.start, range.start + (uintptr_t)tables.delta);
        CHECK_EQUAL(moved.end, range.end + (uintptr_t)tables.delta);
        CHECK(at >= range.start && at < range.end);
        CHECK_EQUAL((uint64_t)copy.cfa_register, (uint64_t)own.cfa_register);
        CHECK_EQUAL((uint64_t)copy.cfa_offset, (uint64_t)own.cfa_offset);
        CHECK_EQUAL(copy.frame_pointer.kind, own.frame_pointer.kind);
        CHECK_EQUAL((uint64_t)copy.frame_pointer.offset, (uint64_t)own.frame_pointer.offset);
    }
    CHECK(found > 5000);
}

/* Change some bytes: most near the tables' beginning or the entry's, else anywhere. */
static void damage(const struct copied *tables, uint64_t *random)
{
    for (unsigned i = 0; i < 8; i++) {
        size_t at;

        *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        at = (size_t)(*random >> 20) % (tables->count_bytes - tables->headers) + tables->headers;
        if (i == 0 && (*random >> 8) % 256 == 0)
            at = tables->headers + (size_t)(*random >> 12) % 32;
        tables->bytes[at] = (uint8_t)(*random >> 56);
    }
}

TEST(damaged_tables_are_never_read_beyond_their_end)
{
    struct copied tables = {0};
    uint64_t random = 1;
    unsigned unknown = 0, found = 0;
    const uint8_t *original;

    copy_tables(&tables);
    original = tables.bytes - tables.delta;
    alarm(120); /* nor does it go on for ever */
    for (unsigned i = 0; i < MUTATIONS; i++) {
        if (i % 10 == 0)
            memcpy(tables.bytes, original, tables.count_bytes);
        for (unsigned k = 0; k < 40; k++)
            damage(&tables, &random);
        for (unsigned k = 0; k < LOOKUPS; k++) {
            struct cfi_row row;
            struct cfi_range range;
            uintptr_t at = tables.object.start + (uintptr_t)(random >> 16) * (k + 1) %
                                                     (tables.object.end - tables.object.start);
            enum cfi_result result =
                cfi_find(&tables.copy, at + (uintptr_t)tables.delta, &row, &range);

            unknown += result == CFI_UNKNOWN;
            found += result == CFI_FOUND;
        }
    }
    test_case("found %u, unknown %u", found, unknown);
    CHECK(unknown > 100 && found > 1000); /* both sides of it are met */
}

/* Tables that end in the middle: of the header, of an entry. */
TEST(tables_that_are_cut_off_are_not_read_further)
{
    struct copied tables = {0};
    uintptr_t at = (uintptr_t)&qsort;

    copy_tables(&tables);
    for (size_t left = 0; left < 4096; left++) {
        struct cfi_tables cut = tables.copy;
        size_t count = tables.headers + left;
        uint8_t *bytes = map_guarded(count);
        struct cfi_row row;
        struct cfi_range range;

        memcpy(bytes, tables.bytes, count);
        cut.header = bytes + tables.headers;
        cut.parts[0].start = bytes;
        cut.parts[0].end = bytes + count;
        CHECK(cfi_find(&cut, at + (uintptr_t)(bytes - tables.bytes) + (uintptr_t)tables.delta, &row,
                       &range) != CFI_FOUND);
        unmap_guarded(bytes, count);
    }
}

/* One function with one entry, made by hand. */
struct by_hand {
    uint8_t *bytes;
    size_t at;
    struct cfi_tables tables;
};

static void put(struct by_hand *made, const void *bytes, size_t count)
{
    memcpy(made->bytes + made->at, bytes, count);
    made->at += count;
}

static void put32(struct by_hand *made, int64_t value)
{
    int32_t word = (int32_t)value;

    put(made, &word, sizeof(word));
}

/* letters: of the augmentation; data: what they add. The common program: CFA = rsp + 8, address at CFA - 8. */
static void make(struct by_hand *made, const char *letters, const char *data, size_t count_data,
                 const char *program, size_t count_program)
{
    static const char common[] = {0x0c, 7, 8, (char)0x90, 1};
    size_t start, begin = ENTRIES_AT;
    int32_t length;

    made->bytes = map_guarded(HAND_BYTES);
    made->at = HEADER_AT;
    put(made, "\1\x1b\3\x3b", 4);
    put32(made, ENTRIES_AT - 4);
    put32(made, 1);
    put32(made, FUNCTION_AT);
    made->at = begin + 4;
    put32(made, 0);
    put(made, "\1", 1);
    put(made, letters, strlen(letters) + 1);
    put(made, "\1\x78\x10", 3); /* factors 1 and -8, the return address is register 16 */
    if (letters[0] == 'z') {
        uint8_t count = (uint8_t)count_data;

        put(made, &count, 1);
        put(made, data, count_data);
    }
    put(made, common, sizeof(common));
    length = (int32_t)(made->at - begin - 4);
    memcpy(made->bytes + begin, &length, sizeof(length));
    start = made->at;
    memcpy(made->bytes + 16, &(int32_t){(int32_t)start}, 4);
    made->at += 4;
    put32(made, (int64_t)(made->at - begin));
    put32(made, FUNCTION_AT - (int64_t)made->at);
    put32(made, FUNCTION_BYTES);
    if (letters[0] == 'z')
        put(made, "", 1);
    put(made, program, count_program);
    length = (int32_t)(made->at - start - 4);
    memcpy(made->bytes + start, &length, sizeof(length));
    made->tables = (struct cfi_tables){.header = made->bytes, .count = 1};
    made->tables.parts[0].start = made->bytes;
    made->tables.parts[0].end = made->bytes + HAND_BYTES;
}

static enum cfi_result find_at(const struct by_hand *made, size_t offset, struct cfi_row *ret_row,
                               struct cfi_range *ret_range)
{
    return cfi_find(&made->tables, (uintptr_t)made->bytes + FUNCTION_AT + offset, ret_row,
                    ret_range);
}

#define MAKE(made_, program_) make(made_, "zR", "\x1b", 1, program_, sizeof(program_) - 1)

static void check_cfa(const struct by_hand *made, size_t offset, int32_t number, int64_t cfa)
{
    struct cfi_row row;
    struct cfi_range range;

    test_case("at %zu", offset);
    CHECK(find_at(made, offset, &row, &range) == CFI_FOUND);
    CHECK_EQUAL((uint64_t)row.cfa_register, (uint64_t)number);
    CHECK_EQUAL((uint64_t)row.cfa_offset, (uint64_t)cfa);
}

TEST(rules_hold_from_their_instruction_on)
{
    struct by_hand made;

    /* push %rbp; mov %rsp, %rbp; remember; leave; restore; and far behind, by all sizes of advance */
    MAKE(&made, "\x41\x0e\x10\x86\2\x43\x0d\6\x0a\x45\x0c\7\x08\xc6\x41\x0b"
                "\2\x10\x0e\x18\3\x10\0\x0e\x20\4\x10\0\0\0\x0e\x28");
    check_cfa(&made, 0, CFI_STACK_POINTER, 8);
    check_cfa(&made, 1, CFI_STACK_POINTER, 16);
    check_cfa(&made, 3, CFI_STACK_POINTER, 16);
    check_cfa(&made, 4, CFI_FRAME_POINTER, 16);
    check_cfa(&made, 9, CFI_STACK_POINTER, 8);
    check_cfa(&made, 10, CFI_FRAME_POINTER, 16);
    check_cfa(&made, 25, CFI_FRAME_POINTER, 16);
    check_cfa(&made, 26, CFI_FRAME_POINTER, 24);
    check_cfa(&made, 42, CFI_FRAME_POINTER, 32);
    check_cfa(&made, 58, CFI_FRAME_POINTER, 40);
    check_cfa(&made, FUNCTION_BYTES - 1, CFI_FRAME_POINTER, 40);
}

TEST(registers_are_where_the_rules_say)
{
    struct cfi_range range;
    struct by_hand made;
    struct cfi_row row;

    MAKE(&made, "\x86\2\x41\xc6\x41\x05\6\3\x41\x11\6\x7c\x41\x07\x10\x41\x08\6\x41\x14\7\1");
    CHECK(find_at(&made, 0, &row, &range) == CFI_FOUND);
    CHECK(row.frame_pointer.kind == CFI_AT_OFFSET && row.frame_pointer.offset == -16);
    CHECK(row.return_address.kind == CFI_AT_OFFSET && row.return_address.offset == -8);
    CHECK(find_at(&made, 1, &row, &range) == CFI_FOUND && row.frame_pointer.kind == CFI_SAME);
    CHECK(find_at(&made, 2, &row, &range) == CFI_FOUND && row.frame_pointer.offset == -24);
    CHECK(find_at(&made, 3, &row, &range) == CFI_FOUND && row.frame_pointer.offset == 32);
    CHECK(find_at(&made, 4, &row, &range) == CFI_FOUND);
    CHECK(row.return_address.kind == CFI_UNDEFINED);
    CHECK(find_at(&made, 5, &row, &range) == CFI_FOUND && row.frame_pointer.kind == CFI_SAME);
    CHECK(find_at(&made, 6, &row, &range) == CFI_FOUND);
    CHECK(row.stack_pointer.kind == CFI_IS_OFFSET && row.stack_pointer.offset == -8);
}

TEST(what_is_not_understood_is_not_guessed)
{
    struct cfi_range range;
    struct by_hand made;
    struct cfi_row row;

    MAKE(&made, "\x41\x3c"); /* an instruction that there is not */
    CHECK(find_at(&made, 0, &row, &range) == CFI_FOUND);
    CHECK(find_at(&made, 1, &row, &range) == CFI_UNKNOWN);
    CHECK_EQUAL(range.start, (uintptr_t)made.bytes + FUNCTION_AT);
    MAKE(&made, "\x0b"); /* a state that was not remembered */
    CHECK(find_at(&made, 0, &row, &range) == CFI_UNKNOWN);
    MAKE(&made, "\x0e"); /* a number that is not there */
    CHECK(find_at(&made, 0, &row, &range) == CFI_UNKNOWN);
    make(&made, "zRq", "\x1b", 1, "", 0); /* a letter that nobody knows */
    CHECK(find_at(&made, 0, &row, &range) == CFI_NO_TABLE);
    make(&made, "eh", "", 0, "", 0); /* of old compilers, with a word behind it */
    CHECK(find_at(&made, 0, &row, &range) == CFI_NO_TABLE);
}

TEST(the_frame_of_a_signal_is_known)
{
    struct cfi_range range;
    struct by_hand made;
    struct cfi_row row;

    make(&made, "zRS", "\x1b", 1, "", 0);
    CHECK(find_at(&made, 0, &row, &range) == CFI_FOUND && range.is_signal_frame);
    MAKE(&made, "");
    CHECK(find_at(&made, 0, &row, &range) == CFI_FOUND && !range.is_signal_frame);
}

TEST(addresses_around_a_function_are_not_its_own)
{
    struct cfi_range range;
    struct by_hand made;
    struct cfi_row row;

    MAKE(&made, "");
    CHECK(find_at(&made, (size_t)-1, &row, &range) == CFI_NO_TABLE);
    CHECK(find_at(&made, FUNCTION_BYTES, &row, &range) == CFI_NO_TABLE);
    CHECK(find_at(&made, FUNCTION_BYTES - 1, &row, &range) == CFI_FOUND);
    made.bytes[3] = 0; /* a table that is written in another way */
    CHECK(find_at(&made, 0, &row, &range) == CFI_NO_TABLE);
}
