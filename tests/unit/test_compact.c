/*
 * Coder 3: whatever the records are they come back, and whatever the bytes are nothing is read or
 * written that is not there.
 */
#include "capture/compact.h"

#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "memtrack/varint.h"
#include "test.h"

enum {
    MOST_RECORDS = COMPACT_MAX_RECORDS,
    GUARD = 0xa5,
    ADDRESS_COUNT = 600,
};

static uint8_t records[MOST_RECORDS * EVENT_BYTES], back[(MOST_RECORDS + 1) * EVENT_BYTES];
static uint8_t bytes[MOST_RECORDS * COMPACT_RECORD_MAX_BYTES + COMPACT_SLACK_BYTES];
static struct compact_encoder *encoder;
static uint64_t random_state;

static uint64_t draw(uint64_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (random_state >> 33) % below;
}

static uint64_t draw_wide(unsigned bits)
{
    return (draw(UINT64_C(1) << 31) << 33 ^ draw(UINT64_C(1) << 31) << 10 ^ draw(1024)) >>
           draw(bits);
}

static void put(uint32_t index, uint64_t w0, uint64_t w1)
{
    le_store_u64(w0, records + (size_t)index * EVENT_BYTES);
    le_store_u64(w1, records + (size_t)index * EVENT_BYTES + 8);
}

/* Programs as they are: blocks that come and go, at places of a heap. */
static void fill_likely(uint32_t count)
{
    static const uint8_t releases[] = {10, 10, 10, 10, 3, 35, 39, 42, 34, 0, 255};
    uint64_t places[ADDRESS_COUNT], next = UINT64_C(0x5581c0de0010);

    for (uint32_t i = 0; i < ADDRESS_COUNT; i++) {
        places[i] = next;
        next += draw(3) == 0 ? 16 * (2 + draw(60)) : 48;
        next += draw(50) == 0 ? draw_wide(30) : 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t address = places[draw(8) == 0 ? draw(ADDRESS_COUNT) : i % (1 + draw(90))];
        uint64_t domain = draw(10) == 0 ? draw(8) : 0, op = EVENT_FREE;
        uint64_t w1 = releases[draw(sizeof(releases))];

        if (draw(2) == 0) {
            op = EVENT_ALLOC;
            w1 = (draw(9) + 1) * 40 | (1 + draw(30)) << 32;
        }
        address &= EVENT_ADDRESS_MASK;
        put(i, address | domain << EVENT_DOMAIN_SHIFT | op << EVENT_OP_SHIFT, w1);
    }
}

/* Anything at all: every op, known or not, and numbers of every width. */
static void fill_unlikely(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t op = draw(16), domain = draw(3) == 0 ? draw(8) : 0;

        put(i,
            (draw_wide(63) & EVENT_ADDRESS_MASK) | domain << EVENT_DOMAIN_SHIFT |
                op << EVENT_OP_SHIFT,
            draw(2) == 0 ? draw_wide(63) : draw(256));
    }
}

static size_t encode(uint32_t count)
{
    size_t size = compact_encode(encoder, records, count, bytes);

    CHECK(size <= (size_t)count * COMPACT_RECORD_MAX_BYTES);
    return size;
}

static void check_round_trip(uint32_t count)
{
    size_t size = encode(count), wrong;
    const char *what;

    memset(back, GUARD, sizeof(back));
    memset(bytes + size, 0xff, COMPACT_SLACK_BYTES);
    what = compact_decode(bytes, size, count, back, &wrong);
    if (what != NULL)
        printf("# %s at %zu of %zu\n", what, wrong, size);
    CHECK(what == NULL);
    CHECK_EQUAL(wrong, size);
    CHECK(memcmp(back, records, (size_t)count * EVENT_BYTES) == 0);
    for (size_t i = 0; i < EVENT_BYTES; i++)
        CHECK_EQUAL(back[(size_t)count * EVENT_BYTES + i], GUARD);
}

static void begin(uint64_t seed)
{
    random_state = seed;
    encoder = compact_encoder_create();
}

static void end(void)
{
    compact_encoder_destroy(encoder);
    compact_encoder_destroy(NULL);
}

TEST(every_record_comes_back_as_it_was)
{
    begin(1);
    for (uint32_t round = 0; round < 300; round++) {
        uint32_t count = (uint32_t)draw(round % 10 == 0 ? 6000 : 300);

        test_case("round %u, %u records", round, count);
        if (round % 2 == 0)
            fill_likely(count);
        else
            fill_unlikely(count);
        check_round_trip(count);
    }
    end();
}

TEST(a_section_of_most_records_comes_back)
{
    begin(2);
    fill_likely(MOST_RECORDS);
    check_round_trip(MOST_RECORDS);
    /* The first address again at the end: as far back as it goes. */
    put(0, UINT64_C(0x123450) | (uint64_t)EVENT_ALLOC << EVENT_OP_SHIFT, 24);
    for (unsigned allocator = 0; allocator < 4; allocator++) {
        put(MOST_RECORDS - 1, UINT64_C(0x123450) | (uint64_t)EVENT_FREE << EVENT_OP_SHIFT,
            allocator == 0 ? ALLOCATOR_FREE : allocator);
        check_round_trip(MOST_RECORDS);
    }
    put(MOST_RECORDS - 1, UINT64_C(0x123450) | (uint64_t)EVENT_ALLOC << EVENT_OP_SHIFT, 24);
    check_round_trip(MOST_RECORDS);
    end();
}

TEST(distances_of_every_length_come_back)
{
    begin(3);
    for (uint32_t distance = 1; distance < 3000; distance += distance < 1500 ? 1 : 61) {
        for (unsigned way = 0; way < 4; way++) {
            static const uint64_t w1s[] = {ALLOCATOR_FREE, ALLOCATOR_REALLOC, 7, 64};
            uint64_t op = way == 3 ? EVENT_ALLOC : EVENT_FREE;

            test_case("distance %u, way %u", distance, way);
            put(0, 0x5000 | (uint64_t)EVENT_ALLOC << EVENT_OP_SHIFT, 32);
            for (uint32_t i = 1; i < distance; i++)
                put(i, (0x9000 + i * UINT64_C(32)) | (uint64_t)EVENT_ALLOC << EVENT_OP_SHIFT, 32);
            put(distance, 0x5000 | op << EVENT_OP_SHIFT, w1s[way]);
            check_round_trip(distance + 1);
        }
    }
    end();
}

TEST(what_repeats_takes_a_byte_an_event)
{
    size_t once, twice;

    begin(4);
    for (uint32_t i = 0; i < 4000; i += 2) {
        uint64_t key = 0x7000 + i % 8 * UINT64_C(64);

        put(i, key | (uint64_t)EVENT_ALLOC << EVENT_OP_SHIFT, (40 + i % 8) | UINT64_C(5) << 32);
        put(i + 1, key | (uint64_t)EVENT_FREE << EVENT_OP_SHIFT, ALLOCATOR_FREE);
    }
    once = encode(2000);
    twice = encode(4000);
    CHECK_EQUAL(twice - once, 2000);
    end();
}

TEST(the_same_records_give_the_same_bytes_whatever_was_before)
{
    static uint8_t before[6000 * COMPACT_RECORD_MAX_BYTES];
    size_t size;

    begin(5);
    fill_likely(6000);
    size = encode(6000);
    memcpy(before, bytes, size);
    fill_unlikely(6000);
    encode(6000);
    random_state = 5;
    fill_likely(6000);
    CHECK_EQUAL(encode(6000), size);
    CHECK(memcmp(before, bytes, size) == 0);
    end();
}

/* Bytes where none behind them and the slack can be read without notice. */
static uint8_t *exactly(const uint8_t *from, size_t size)
{
    uint8_t *copy = malloc(size + COMPACT_SLACK_BYTES);

    CHECK(copy != NULL);
    memcpy(copy, from, size);
    memset(copy + size, 0x80, COMPACT_SLACK_BYTES);
    return copy;
}

TEST(bytes_cut_off_anywhere_are_refused_where_they_end)
{
    begin(6);
    for (unsigned way = 0; way < 2; way++) {
        const uint32_t count = 500;
        size_t size;

        if (way == 0)
            fill_likely(count);
        else
            fill_unlikely(count);
        size = encode(count);
        for (size_t left = 0; left < size; left++) {
            uint8_t *copy = exactly(bytes, left);
            size_t wrong = SIZE_MAX;

            test_case("%zu of %zu bytes", left, size);
            CHECK(compact_decode(copy, left, count, back, &wrong) != NULL);
            CHECK(wrong <= left && left - wrong < COMPACT_RECORD_MAX_BYTES);
            free(copy);
        }
    }
    end();
}

TEST(one_record_more_or_less_than_there_are_is_refused)
{
    size_t size, wrong;

    begin(7);
    fill_likely(100);
    size = encode(100);
    CHECK_TEXT(compact_decode(bytes, size, 101, back, &wrong), "events that end too early");
    CHECK_EQUAL(wrong, size);
    CHECK_TEXT(compact_decode(bytes, size, 99, back, &wrong), "bytes behind the last event");
    CHECK(wrong < size);
    end();
}

TEST(any_bit_wrong_does_no_harm)
{
    const uint32_t count = 400;
    size_t size;

    begin(8);
    for (unsigned way = 0; way < 2; way++) {
        if (way == 0)
            fill_likely(count);
        else
            fill_unlikely(count);
        size = encode(count);
        for (size_t bit = 0; bit < size * 8; bit++) {
            uint8_t *copy = exactly(bytes, size);
            size_t wrong = SIZE_MAX;
            const char *what;

            copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
            memset(back, GUARD, (count + 1) * EVENT_BYTES);
            what = compact_decode(copy, size, count, back, &wrong);
            CHECK(wrong <= size && (what != NULL || wrong == size));
            CHECK_EQUAL(back[count * EVENT_BYTES], GUARD);
            free(copy);
        }
    }
    end();
}

TEST(bytes_of_chance_do_no_harm)
{
    begin(9);
    for (uint32_t round = 0; round < 20000; round++) {
        size_t size = draw(200), wrong = SIZE_MAX;
        uint8_t *copy = exactly(bytes, size);

        for (size_t i = 0; i < size; i++)
            copy[i] = (uint8_t)draw(256);
        compact_decode(copy, size, (uint32_t)(1 + draw(120)), back, &wrong);
        CHECK(wrong <= size);
        free(copy);
    }
    end();
}

/* A payload by hand. Returns what is wrong with it, "" when nothing is. */
static const char *said(const uint8_t *payload, size_t size, uint32_t count)
{
    uint8_t *copy = exactly(payload, size);
    const char *what;
    size_t wrong;

    what = compact_decode(copy, size, count, back, &wrong);
    free(copy);
    return what == NULL ? "" : what;
}

TEST(an_extension_of_a_later_version_is_a_note_that_says_nothing)
{
    static const uint8_t payload[] = {0x80 | 40 << 1, 3, 1, 2, 3,    /* of a later version */
                                      0x80 | 15 << 1, 4, 7, 9, 9, 9, /* WIDE and more */
                                      0x80 | 9 << 1,  2, 3, 4};

    CHECK_TEXT(said(payload, sizeof(payload), 3), "");
    CHECK_EQUAL(le_load_u64(back), (uint64_t)EVENT_NOTE << EVENT_OP_SHIFT);
    CHECK_EQUAL(le_load_u64(back + 8), 0);
    CHECK_EQUAL(le_load_u64(back + 16), (uint64_t)EVENT_WIDE << EVENT_OP_SHIFT);
    CHECK_EQUAL(le_load_u64(back + 24), 7);
    CHECK_EQUAL(le_load_u64(back + 32), (uint64_t)EVENT_NOTE << EVENT_OP_SHIFT | 3);
    CHECK_EQUAL(le_load_u64(back + 40), 4);
}

TEST(what_leads_out_of_the_section_is_refused)
{
    static const uint8_t first_free[] = {1}, second_alloc[] = {0x80 | 9 << 1, 2, 0, 0, 1 << 3},
                         far_realloc[] = {103 << 1 | 1, 0, 0}, other[] = {104 << 1 | 1, 1, 1},
                         extension[] = {0x80 | 9 << 1, 200, 1, 0, 0}, short_map[] = {0x86, 1, 0},
                         domain[] = {0x86, 4, 8, 0, 0, 0}, padded[] = {101 << 1 | 1, 0x80, 0};

    CHECK_TEXT(said(first_free, sizeof(first_free), 1), "event that is not right");
    CHECK_TEXT(said(second_alloc, sizeof(second_alloc), 2), "event that is not right");
    CHECK_TEXT(said(far_realloc, sizeof(far_realloc), 1), "event that is not right");
    CHECK_TEXT(said(other, sizeof(other), 1), "event that is not right");
    CHECK_TEXT(said(extension, sizeof(extension), 1), "event that is not right");
    CHECK_TEXT(said(short_map, sizeof(short_map), 1), "event that is not right");
    CHECK_TEXT(said(domain, sizeof(domain), 1), "event that is not right");
    CHECK_TEXT(said(padded, sizeof(padded), 1), "event that is not right");
}
