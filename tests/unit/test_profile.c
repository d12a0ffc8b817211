/*
 * The model: what the sample captures must say, and that damaged and forged ones do no harm.
 *
 * That the numbers are right is shown by tests/golden/test_model.py, against a second model.
 */
#include "profile/profile.h"

#include "capture/section.h"
#include "golden.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "memtrack/varint.h"

#define XXH_INLINE_ALL
#include <lz4.h>
#include <xxhash.h>

static struct profile *build(const struct capture *capture, bool has_intervals)
{
    struct profile_options options = {.has_intervals = has_intervals, .temporary_threshold = 1};

    return profile_build(capture, &options);
}

static void check_sums(const struct profile *profile)
{
    struct profile_cost sums[VIEW_COUNT] = {0};

    for (uint32_t i = 0; i < profile->row_count; i++)
        for (unsigned view = 0; view < VIEW_COUNT; view++) {
            sums[view].bytes += profile->rows[i].costs[view].bytes;
            sums[view].allocations += profile->rows[i].costs[view].allocations;
        }
    CHECK_EQUAL(sums[VIEW_PEAK].bytes, profile->totals.peak_bytes);
    CHECK_EQUAL(sums[VIEW_PEAK].allocations, profile->totals.peak_allocations);
    CHECK_EQUAL(sums[VIEW_LEAKS].bytes, profile->totals.leaked_bytes);
    CHECK_EQUAL(sums[VIEW_ALLOCATED].bytes, profile->totals.allocated_bytes);
    CHECK_EQUAL(sums[VIEW_TEMPORARY].allocations, profile->totals.temporary_allocations);
    CHECK_EQUAL(profile->samples[profile->peak_sample].heap_bytes, profile->totals.peak_bytes);
}

/* Open and build whatever these bytes are. Returns whether there was anything to build. */
static bool read_all(const uint8_t *bytes, size_t size_bytes)
{
    struct golden_file file = golden_file_open(bytes, size_bytes);
    struct capture *capture = capture_open(file.path, NULL, NULL, NULL);
    struct profile *profile;

    golden_file_close(&file);
    if (capture == NULL)
        return false;
    profile = build(capture, true);
    check_sums(profile);
    profile_destroy(profile);
    capture_close(capture);
    return true;
}

TEST(an_empty_capture_has_an_empty_model)
{
    struct golden golden = golden_read("empty");

    CHECK(read_all(golden.bytes, golden.size_bytes));
    free(golden.bytes);
}

TEST(the_same_capture_gives_the_same_model)
{
    struct golden golden = golden_read("script");
    struct golden_file file = golden_file_open(golden.bytes, golden.size_bytes);
    struct capture *capture = capture_open(file.path, NULL, NULL, NULL);
    struct profile *one = build(capture, true), *two = build(capture, true);

    CHECK_EQUAL(one->row_count, two->row_count);
    CHECK(memcmp(one->rows, two->rows, one->row_count * sizeof(*one->rows)) == 0);
    CHECK(memcmp(&one->totals, &two->totals, sizeof(one->totals)) == 0);
    CHECK_EQUAL(one->interval_count, two->interval_count);
    CHECK(memcmp(one->intervals, two->intervals, one->interval_count * sizeof(*one->intervals)) ==
          0);
    CHECK_EQUAL(one->totals.peak_bytes, 9774081);
    CHECK_EQUAL(one->totals.temporary_allocations, 658);
    profile_destroy(one);
    profile_destroy(two);
    capture_close(capture);
    golden_file_close(&file);
    free(golden.bytes);
}

static bool give_up(void *user, uint64_t done, uint64_t total)
{
    (void)user, (void)done, (void)total;
    return false;
}

TEST(intervals_are_there_only_when_asked_for)
{
    struct golden golden = golden_read("family");
    struct golden_file file = golden_file_open(golden.bytes, golden.size_bytes);
    struct capture *capture = capture_open(file.path, give_up, NULL, NULL);
    struct profile *profile = build(capture, false);

    CHECK(profile->intervals == NULL);
    CHECK_EQUAL(profile->totals.unknown_frees, 1);
    profile_destroy(profile);
    capture_close(capture);
    golden_file_close(&file);
    free(golden.bytes);
}

TEST(a_capture_cut_off_anywhere_has_a_model_of_what_is_left)
{
    struct golden golden = golden_read("strange");

    for (size_t size = 0; size <= golden.size_bytes; size++) {
        test_case("cut off at byte %zu", size);
        read_all(golden.bytes, size);
    }
    free(golden.bytes);
}

/* The file's sections unpacked, so that every byte of what they say can be changed. */
static size_t unpack_all(const struct golden *golden, uint8_t *ret_bytes)
{
    struct capture_bytes from = {"", golden->bytes, golden->size_bytes};
    size_t offset = SUPERBLOCK_BYTES, size = SUPERBLOCK_BYTES;
    struct section section;

    memcpy(ret_bytes, golden->bytes, SUPERBLOCK_BYTES);
    while (section_read(&from, offset, &section, NULL) && section.type != SECTION_DIRECTORY) {
        uint8_t *raw = malloc(section.raw_bytes + 1);

        CHECK(raw != NULL);
        if (section.flags & SECTION_LZ4)
            CHECK(LZ4_decompress_safe((const char *)section.payload, (char *)raw,
                                      (int)section.payload_bytes, (int)section.raw_bytes) >= 0);
        else
            memcpy(raw, section.payload, section.raw_bytes);
        offset = section.next_offset;
        section.flags = 0;
        section.payload = raw;
        section.payload_bytes = section.raw_bytes;
        section_write(&section, ret_bytes + size);
        size += section_size(section.payload_bytes);
        free(raw);
    }
    return size;
}

/* Make all checksums of a capture right, as a forger would. */
static void sign_all(uint8_t *bytes, size_t size_bytes)
{
    size_t offset = SUPERBLOCK_BYTES;

    while (size_bytes - offset > SECTION_HEADER_BYTES) {
        uint8_t *header = bytes + offset;
        size_t padded = section_size(le_load_u32(header + 32)) - SECTION_HEADER_BYTES;

        if (padded > size_bytes - offset - SECTION_HEADER_BYTES)
            return;
        le_store_u64(XXH3_64bits(header + SECTION_HEADER_BYTES, padded), header + 40);
        le_store_u64(XXH3_64bits(header, 48), header + 48);
        offset += SECTION_HEADER_BYTES + padded;
    }
}

/* Each byte of a capture changed and signed: whatever it says now, reading it does no harm. */
static void check_forged(const char *name, uint8_t bits)
{
    struct golden golden = golden_read(name);
    uint8_t *plain = malloc(64 << 10), *forged = malloc(64 << 10);
    size_t size;

    CHECK(plain != NULL && forged != NULL);
    size = unpack_all(&golden, plain);
    CHECK(size < 64 << 10);
    for (size_t at = SUPERBLOCK_BYTES; at < size; at++) {
        test_case("%s with %#x flipped in byte %zu", name, bits, at);
        memcpy(forged, plain, size);
        forged[at] ^= bits;
        sign_all(forged, size);
        read_all(forged, size);
    }
    free(plain);
    free(forged);
    free(golden.bytes);
}

TEST(a_forged_capture_does_no_harm)
{
    check_forged("family", 0x01);
    check_forged("family", 0x80);
    check_forged("ranges", 0x10);
    check_forged("cut", 0x02);
    check_forged("stored", 0x01);
    check_forged("stored", 0x40);
}
