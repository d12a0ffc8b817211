/* Planes of event records: every count of records, there and back, and where each byte stands. */
#include "capture/planes.h"

#include "memtrack/format.h"
#include "test.h"

enum {
    MOST_RECORDS = 4096,
    MOST_BYTES = MOST_RECORDS * EVENT_BYTES,
};

static uint8_t records[MOST_BYTES], planes[MOST_BYTES + 1], back[MOST_BYTES + 1];

static void fill_records(void)
{
    uint32_t random = 1;

    for (size_t i = 0; i < sizeof(records); i++) {
        random = random * 1664525 + 1013904223;
        records[i] = (uint8_t)(random >> 24);
    }
}

static void check_count(uint32_t count)
{
    size_t size_bytes = (size_t)count * EVENT_BYTES;

    test_case("%u records", count);
    memset(planes, 0xa5, sizeof(planes));
    memset(back, 0xa5, sizeof(back));
    planes_split(records, count, planes);
    for (size_t i = 0; i < size_bytes; i++)
        if (planes[i % EVENT_BYTES * count + i / EVENT_BYTES] != records[i])
            test_fail();
    planes_join(planes, count, back);
    CHECK(memcmp(back, records, size_bytes) == 0);
    CHECK_EQUAL(planes[size_bytes], 0xa5);
    CHECK_EQUAL(back[size_bytes], 0xa5);
}

TEST(every_byte_of_every_record_has_its_place_and_comes_back)
{
    fill_records();
    for (uint32_t count = 0; count < 300; count++)
        check_count(count);
    check_count(MOST_RECORDS - 1);
    check_count(MOST_RECORDS);
}
