/*
 * Sections: what is written is read back; what is cut off, flipped or forged is refused with its
 * place; what a later version added is passed over or refused as format.h says.
 */
#include "capture/section.h"

#include "memtrack/format.h"
#include "memtrack/varint.h"
#include "test.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static const uint8_t payload[] = "thirteen byte"; /* with its NUL 14, so there are 2 zero bytes */

/* A capture in memory of exactly its size, so that a sanitizer sees any byte read beyond it. */
static struct capture_bytes copy_of(const uint8_t *bytes, size_t size_bytes)
{
    uint8_t *copy = malloc(size_bytes + 1);

    CHECK(copy != NULL);
    memcpy(copy + 1, bytes, size_bytes);
    return (struct capture_bytes){"app.bin", copy + 1, size_bytes};
}

static void release(struct capture_bytes *capture)
{
    free((uint8_t *)(uintptr_t)capture->bytes - 1);
}

static struct section sample(void)
{
    return (struct section){
        .type = SECTION_EVENTS,
        .flags = 0,
        .process = 0x01020304,
        .stream = 0x11121314,
        .record_count = 0x21222324,
        .first_segment = UINT64_C(0x3132333435363738),
        .raw_bytes = sizeof(payload),
        .payload_bytes = sizeof(payload),
        .payload = payload,
    };
}

enum {
    SAMPLE_BYTES = SECTION_HEADER_BYTES + 16,
};

static void write_sample(uint8_t ret_bytes[static SAMPLE_BYTES])
{
    struct section section = sample();

    CHECK_EQUAL(section_size(section.payload_bytes), SAMPLE_BYTES);
    section_write(&section, ret_bytes);
}

/* Make the header's checksum right again, as a forger would. */
static void sign(uint8_t *header, size_t header_bytes)
{
    le_store_u64(XXH3_64bits(header, header_bytes - 8), header + header_bytes - 8);
}

/* Read the section at the start of the bytes and check its payload. */
static bool accepts(const uint8_t *bytes, size_t size_bytes, struct error *err)
{
    struct capture_bytes capture = copy_of(bytes, size_bytes);
    struct section section;
    bool is_accepted =
        section_read(&capture, 0, &section, err) && section_check_payload(&capture, &section, err);

    release(&capture);
    return is_accepted;
}

static void check_refused(const uint8_t *bytes, size_t size_bytes, const char *message)
{
    struct error err = {"nothing said"};

    CHECK(!accepts(bytes, size_bytes, &err));
    CHECK_TEXT(err.text, message);
}

TEST(what_is_written_is_read_back)
{
    uint8_t bytes[SAMPLE_BYTES];
    struct section expected = sample(), section;
    struct capture_bytes capture = {"app.bin", bytes, sizeof(bytes)};

    write_sample(bytes);
    CHECK(section_read(&capture, 0, &section, NULL));
    CHECK(section_check_payload(&capture, &section, NULL));
    CHECK_EQUAL(section.type, expected.type);
    CHECK_EQUAL(section.flags, expected.flags);
    CHECK_EQUAL(section.process, expected.process);
    CHECK_EQUAL(section.stream, expected.stream);
    CHECK_EQUAL(section.record_count, expected.record_count);
    CHECK_EQUAL(section.first_segment, expected.first_segment);
    CHECK_EQUAL(section.raw_bytes, sizeof(payload));
    CHECK_EQUAL(section.payload_bytes, sizeof(payload));
    CHECK(memcmp(section.payload, payload, sizeof(payload)) == 0);
    CHECK_EQUAL(section.payload_offset, SECTION_HEADER_BYTES);
    CHECK_EQUAL(section.next_offset, SAMPLE_BYTES);
}

/* Pins the layout: reader and writer cannot change together unnoticed. */
TEST(the_bytes_are_those_of_the_format)
{
    static const uint8_t expected[] = {
        'M',  'T',  'S',  1,    56,   0,    1,    0,    /* magic, version, size, type, flags */
        0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, /* first segment */
        0x04, 0x03, 0x02, 0x01, 0x14, 0x13, 0x12, 0x11, /* process, ring */
        0x24, 0x23, 0x22, 0x21, 14,   0,    0,    0,    /* records, raw bytes */
        14,   0,    0,    0,    0,    0,    0,    0,    /* payload bytes, zero */
    };
    uint8_t bytes[SAMPLE_BYTES];

    memset(bytes, 0xff, sizeof(bytes));
    write_sample(bytes);
    CHECK(memcmp(bytes, expected, sizeof(expected)) == 0);
    CHECK_EQUAL(le_load_u64(bytes + 40), XXH3_64bits("thirteen byte\0\0", 16));
    CHECK_EQUAL(le_load_u64(bytes + 48), XXH3_64bits(bytes, 48));
}

TEST(sections_follow_each_other)
{
    uint8_t bytes[2 * SAMPLE_BYTES];
    struct capture_bytes capture = {"app.bin", bytes, sizeof(bytes)};
    struct section section;

    write_sample(bytes);
    write_sample(bytes + SAMPLE_BYTES);
    CHECK(section_read(&capture, 0, &section, NULL));
    CHECK(section_read(&capture, section.next_offset, &section, NULL));
    CHECK(section_check_payload(&capture, &section, NULL));
    CHECK_EQUAL(section.next_offset, sizeof(bytes));
}

TEST(a_section_may_be_empty)
{
    uint8_t bytes[SECTION_HEADER_BYTES];
    struct section section = sample();

    section.raw_bytes = section.payload_bytes = 0;
    section.payload = NULL;
    CHECK_EQUAL(section_size(0), sizeof(bytes));
    section_write(&section, bytes);
    CHECK(accepts(bytes, sizeof(bytes), NULL));
}

TEST(a_section_cut_off_at_any_byte_is_refused)
{
    uint8_t bytes[SAMPLE_BYTES];

    write_sample(bytes);
    for (size_t size_bytes = 0; size_bytes < sizeof(bytes); size_bytes++) {
        bool is_in_header = size_bytes < SECTION_HEADER_BYTES;

        test_case("cut to %zu bytes", size_bytes);
        check_refused(bytes, size_bytes,
                      is_in_header
                          ? "app.bin: section header cut off at offset 0: what stands before it "
                            "is reported"
                          : "app.bin: section cut off at offset 0: what stands before it "
                            "is reported");
    }
    CHECK(accepts(bytes, sizeof(bytes), NULL));
}

TEST(any_flipped_bit_is_noticed)
{
    uint8_t bytes[SAMPLE_BYTES];

    write_sample(bytes);
    for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
        uint8_t mask = (uint8_t)(1u << bit % 8);

        test_case("bit %zu of byte %zu", bit % 8, bit / 8);
        bytes[bit / 8] ^= mask;
        CHECK(!accepts(bytes, sizeof(bytes), NULL));
        bytes[bit / 8] ^= mask;
    }
}

TEST(a_failure_names_the_offset_and_leaves_the_result)
{
    uint8_t bytes[2 * SAMPLE_BYTES];
    struct capture_bytes capture = {"app.bin", bytes, sizeof(bytes)};
    struct section section = {.stream = 42};
    struct error err;

    write_sample(bytes);
    write_sample(bytes + SAMPLE_BYTES);
    bytes[SAMPLE_BYTES + 20] ^= 1;
    CHECK(!section_read(&capture, SAMPLE_BYTES, &section, &err));
    CHECK_EQUAL(section.stream, 42);
    CHECK_TEXT(err.text,
               "app.bin: section header checksum differs at offset 72: what stands before it "
               "is reported");
    bytes[SAMPLE_BYTES + 20] ^= 1;
    bytes[sizeof(bytes) - 1] ^= 1;
    CHECK(section_read(&capture, SAMPLE_BYTES, &section, &err));
    CHECK(!section_check_payload(&capture, &section, &err));
    CHECK_TEXT(err.text, "app.bin: section checksum differs at offset 128: what stands before it "
                         "is reported");
}

TEST(a_longer_header_of_a_later_minor_version_is_read)
{
    uint8_t bytes[SAMPLE_BYTES + 8];
    struct capture_bytes capture = {"app.bin", bytes, sizeof(bytes)};
    struct section section;

    write_sample(bytes);
    memmove(bytes + 64, bytes + 56, 16);
    memset(bytes + 48, 0xee, 8); /* a field of the future */
    le_store_u16(64, bytes + 4);
    sign(bytes, 64);
    CHECK(section_read(&capture, 0, &section, NULL));
    CHECK(section_check_payload(&capture, &section, NULL));
    CHECK_EQUAL(section.next_offset, sizeof(bytes));
    bytes[50] ^= 1;
    CHECK(!section_read(&capture, 0, &section, NULL));
}

TEST(what_a_later_version_added_is_passed_over_or_refused_as_it_asks)
{
    uint8_t bytes[SAMPLE_BYTES];

    write_sample(bytes);
    bytes[6] = 200; /* a type that is not known yet */
    bytes[7] = SECTION_MAY_IGNORE | 0x80;
    sign(bytes, SECTION_HEADER_BYTES);
    CHECK(accepts(bytes, sizeof(bytes), NULL));

    bytes[7] = 1u << 1;
    sign(bytes, SECTION_HEADER_BYTES);
    check_refused(bytes, sizeof(bytes),
                  "app.bin: section of an unknown kind at offset 0: read it with the memtrack that "
                  "recorded it, or a newer one");

    write_sample(bytes);
    bytes[3] = FORMAT_MAJOR + 1;
    sign(bytes, SECTION_HEADER_BYTES);
    check_refused(
        bytes, sizeof(bytes),
        "app.bin: section of another major version at offset 0: read it with the memtrack "
        "that recorded it, or a newer one");
}

TEST(forged_numbers_are_refused_though_the_checksum_is_right)
{
    static const struct {
        size_t at; /* a 32-bit field, or the header's 16-bit size at 4 */
        uint32_t value;
        uint8_t flags;
        const char *what;
    } rows[] = {
        {4, 48, 0, "impossible section header size"},
        {4, 60, 0, "impossible section header size"},
        {4, 4104, 0, "impossible section header size"},
        {4, 80, 0, "section header cut off"},
        {28, 13, 0, "section with two sizes"},
        {28, SECTION_MAX_RAW_BYTES + 1, SECTION_LZ4,
         "section larger than any that memtrack writes"},
        {32, 17, SECTION_LZ4, "section cut off"},
        {32, UINT32_MAX, SECTION_LZ4, "section cut off"},
        {32, UINT32_MAX - 55, SECTION_LZ4, "section cut off"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t bytes[SAMPLE_BYTES];
        struct capture_bytes capture = {"app.bin", bytes, sizeof(bytes)};
        struct section section = {.stream = 42};
        char message[200];

        write_sample(bytes);
        bytes[7] = rows[i].flags;
        if (rows[i].at == 4)
            le_store_u16((uint16_t)rows[i].value, bytes + 4);
        else
            le_store_u32(rows[i].value, bytes + rows[i].at);
        sign(bytes, SECTION_HEADER_BYTES);
        snprintf(message, sizeof(message),
                 "app.bin: %s at offset 0: what stands before it is reported", rows[i].what);
        test_case("%" PRIu32 " at %zu", rows[i].value, rows[i].at);
        check_refused(bytes, sizeof(bytes), message);
        CHECK(!section_read(&capture, 0, &section, NULL));
        CHECK_EQUAL(section.stream, 42);
    }
}

TEST(the_largest_payload_is_accepted)
{
    size_t size_bytes = section_size(SECTION_MAX_RAW_BYTES);
    uint8_t *content = calloc(1, SECTION_MAX_RAW_BYTES);
    uint8_t *bytes = malloc(size_bytes);
    struct section section = sample();

    CHECK(content != NULL && bytes != NULL);
    section.raw_bytes = section.payload_bytes = SECTION_MAX_RAW_BYTES;
    section.payload = content;
    section_write(&section, bytes);
    CHECK(accepts(bytes, size_bytes, NULL));
    free(bytes);
    free(content);
}
