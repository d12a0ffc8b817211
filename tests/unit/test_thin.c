/*
 * Samples of memory that become fewer: nothing that was highest is lost, and owners are not mixed up.
 */
#include "capture/thin.h"

#include "memtrack/format.h"
#include "test.h"

enum {
    MANY = 1 << 15,
    PROCESSES = 3,
};

static struct capture_rss rss[MANY];
static struct capture_use uses[MANY];

static struct capture make_capture(uint32_t count)
{
    static struct capture_process processes[PROCESSES];
    static const char *cgroups[PROCESSES];

    for (uint32_t i = 0; i < count; i++) {
        uint32_t owner = i % PROCESSES;

        rss[i] = (struct capture_rss){owner, i, i * 7919 % 1000 + owner * 10000, i};
        uses[i] = (struct capture_use){.time_ns = i,
                                       .bytes = i * 7919 % 1000 + owner * 10000,
                                       .owner = owner,
                                       .kind = i % 2 ? USE_CGROUP : USE_CGROUP + 1};
    }
    return (struct capture){.processes = processes,
                            .process_count = PROCESSES,
                            .cgroups = cgroups,
                            .cgroup_count = PROCESSES,
                            .rss = rss,
                            .rss_count = count,
                            .uses = uses,
                            .use_count = count};
}

TEST(few_samples_stay_as_they_are)
{
    struct capture capture = make_capture(MANY - 1);

    capture_thin(&capture);
    CHECK_EQUAL(capture.rss_count, MANY - 1);
    CHECK_EQUAL(capture.use_count, MANY - 1);
}

TEST(of_two_samples_of_a_process_the_higher_one_is_left)
{
    struct capture capture = make_capture(MANY);
    uint64_t last_ns[PROCESSES] = {0}, highest[PROCESSES] = {0};

    capture_thin(&capture);
    CHECK(capture.rss_count >= MANY / 2 && capture.rss_count <= MANY / 2 + PROCESSES);
    for (uint32_t i = 0; i < capture.rss_count; i++) {
        const struct capture_rss *sample = &rss[i];
        uint64_t own = sample->time_ns * 7919 % 1000;
        uint64_t next = sample->time_ns + PROCESSES;
        uint64_t other = next < MANY ? next * 7919 % 1000 : 0;
        uint32_t owner = sample->process_index;

        CHECK_EQUAL(owner, sample->time_ns % PROCESSES);
        CHECK_EQUAL(sample->resident_bytes, (own > other ? own : other) + owner * 10000);
        CHECK(i < PROCESSES || sample->time_ns > last_ns[owner]);
        last_ns[owner] = sample->time_ns;
        if (sample->resident_bytes > highest[owner])
            highest[owner] = sample->resident_bytes;
    }
    for (uint32_t i = 0; i < PROCESSES; i++)
        CHECK_EQUAL(highest[i], 999 + i * 10000);
}

TEST(of_two_that_count_against_limits_likewise_by_kind)
{
    struct capture capture = make_capture(MANY);

    capture_thin(&capture);
    CHECK(capture.use_count >= MANY / 2 && capture.use_count <= MANY / 2 + 2 * PROCESSES);
    for (uint32_t i = 0; i < capture.use_count; i++) {
        const struct capture_use *use = &uses[i];
        uint64_t own = use->time_ns * 7919 % 1000, next = use->time_ns + 2 * PROCESSES;
        uint64_t other = next < MANY ? next * 7919 % 1000 : 0;

        CHECK_EQUAL(use->owner, use->time_ns % PROCESSES);
        CHECK_EQUAL(use->kind, use->time_ns % 2 ? USE_CGROUP : USE_CGROUP + 1);
        CHECK_EQUAL(use->bytes, (own > other ? own : other) + use->owner * 10000);
    }
}
