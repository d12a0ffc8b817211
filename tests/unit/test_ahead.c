/*
 * Events read ahead are those that are read one after the other, however many there are and whoever
 * stops first.
 */
#include "capture/ahead.h"

#include "capture/capture.h"
#include "capture/load.h"
#include "golden.h"

#include <string.h>

enum {
    MANY_EVENTS = 1 << 20, /* said to be in the capture, so that a thread is worth it */
};

static struct capture *open_golden(const char *name, uint64_t event_count)
{
    struct golden golden = golden_read(name);
    struct golden_file file = golden_file_open(golden.bytes, golden.size_bytes);
    struct capture *capture = capture_open(file.path, NULL, NULL, NULL);

    CHECK(capture != NULL);
    capture->event_record_count = event_count;
    golden_file_close(&file);
    free(golden.bytes);
    return capture;
}

/* Both ways through a capture; returns how many events there were. */
static uint64_t compare_ways(const struct capture *capture)
{
    struct capture_ahead *ahead = capture_ahead_open(capture);
    struct capture_merge *merge = capture_merge_open(capture);
    struct capture_damage damage = {0}, other_damage = {0};
    const struct event *events;
    uint64_t total = 0;
    uint32_t count;

    while ((events = capture_ahead_next(ahead, &count, &damage)) != NULL) {
        CHECK(count > 0);
        for (uint32_t i = 0; i < count; i++) {
            struct event event;

            CHECK_EQUAL(capture_merge_next(merge, &event, 1, &other_damage), 1);
            CHECK(memcmp(&events[i], &event, sizeof(event)) == 0);
        }
        total += count;
    }
    CHECK(capture_ahead_next(ahead, &count, &damage) == NULL); /* and it stays so */
    CHECK_EQUAL(capture_merge_next(merge, &(struct event){0}, 1, &other_damage), 0);
    CHECK_EQUAL(damage.is_damaged, other_damage.is_damaged);
    CHECK_EQUAL(damage.offset, other_damage.offset);
    capture_merge_close(merge);
    capture_ahead_close(ahead);
    return total;
}

TEST(events_read_ahead_are_the_same_in_the_same_order)
{
    static const char *const names[] = {"script", "planes",  "compact",
                                        "family", "strange", "empty"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct capture *with_thread = open_golden(names[i], MANY_EVENTS);
        struct capture *without = open_golden(names[i], 1);

        test_case("%s", names[i]);
        CHECK_EQUAL(compare_ways(with_thread), compare_ways(without));
        capture_close(with_thread);
        capture_close(without);
    }
}

/* A capture of one section, as often as asked: its events are all of one segment. */
static void repeat_section(struct capture *capture, uint32_t count)
{
    struct capture_section_entry *sections = calloc(count, sizeof(*sections));

    CHECK(sections != NULL);
    CHECK_EQUAL(capture->section_count, 1);
    for (uint32_t i = 0; i < count; i++)
        sections[i] = capture->sections[0];
    free(capture->sections);
    capture->sections = sections;
    capture->section_count = count;
}

TEST(the_ring_goes_round_many_times)
{
    struct capture *capture = open_golden("vector", MANY_EVENTS);
    uint64_t once = compare_ways(capture);

    repeat_section(capture, 10000);
    CHECK_EQUAL(compare_ways(capture), 10000 * once);
    capture_close(capture);
}

TEST(an_event_that_is_not_right_ends_both_ways_alike)
{
    struct capture *capture = open_golden("script", MANY_EVENTS);
    uint64_t all = compare_ways(capture), part;

    capture->stack_count = 5; /* later ones are unknown then */
    part = compare_ways(capture);
    CHECK(part > 0 && part < all);
    capture_close(capture);
}

TEST(it_may_be_closed_before_the_end)
{
    struct capture *capture = open_golden("vector", MANY_EVENTS);

    repeat_section(capture, 10000);
    for (unsigned taken = 0; taken < 40; taken++) {
        struct capture_ahead *ahead = capture_ahead_open(capture);
        struct capture_damage damage;
        uint32_t count;

        for (unsigned i = 0; i < taken; i++)
            CHECK(capture_ahead_next(ahead, &count, &damage) != NULL);
        capture_ahead_close(ahead);
    }
    capture_ahead_close(NULL);
    capture_close(capture);
}
