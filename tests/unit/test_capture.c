/*
 * Opening captures: whole ones, ones cut off at every byte, ones with every byte wrong, running ones.
 */
#include "capture/capture.h"

#include "capture/merge.h"
#include "capture/section.h"
#include "golden.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"

#include <sys/file.h>

/* Read all events. Returns how many; a capture that is wrong inside must say so in ret_damage. */
static uint64_t read_events(const struct capture *capture, struct capture_damage *ret_damage)
{
    struct capture_merge *merge = capture_merge_open(capture);
    struct event events[7];
    uint64_t total = 0;
    uint32_t count;

    while ((count = capture_merge_next(merge, events, 7, ret_damage)) > 0) {
        for (uint32_t i = 0; i < count; i++) {
            CHECK(events[i].process_index < capture->process_count);
            CHECK(events[i].stream < capture->thread_count);
            CHECK(events[i].stack < capture->stack_count);
        }
        total += count;
    }
    capture_merge_close(merge);
    return total;
}

static struct capture *open_golden(const char *name, struct golden_file *ret_file)
{
    struct golden golden = golden_read(name);
    struct capture *capture;
    struct error err = {""};

    *ret_file = golden_file_open(golden.bytes, golden.size_bytes);
    free(golden.bytes);
    capture = capture_open(ret_file->path, NULL, NULL, &err);
    CHECK_TEXT(err.text, "");
    CHECK(capture != NULL);
    return capture;
}

TEST(a_clean_capture_has_its_session_processes_threads_and_names)
{
    struct golden_file file;
    struct capture *capture = open_golden("family", &file);
    const struct capture_process *image = &capture->processes[2];

    CHECK_EQUAL(capture->state, CAPTURE_CLEAN);
    CHECK(!capture->damage.is_damaged);
    CHECK_TEXT(capture->session.version, "0.1.0");
    CHECK_EQUAL(capture->session.argument_count, 2);
    CHECK_TEXT(capture->session.arguments[1], "-j2");
    CHECK(capture->session.arguments[2] == NULL);
    CHECK_EQUAL(capture->process_count, 4);
    CHECK_EQUAL(capture->processes[1].how, PROCESS_BY_FORK);
    CHECK_EQUAL(capture->processes[1].end, END_EXEC);
    CHECK_TEXT(image->executable, "/usr/bin/cc");
    CHECK_TEXT(image->arguments[1], "a b.c");
    CHECK_EQUAL(image->argument_count, 4);
    CHECK_EQUAL(image->end_code, 11);
    CHECK_EQUAL(image->bound_segment, UINT64_MAX);
    CHECK(!capture->processes[3].is_tracked);
    CHECK_EQUAL(capture->thread_count, 3);
    CHECK_TEXT(capture->threads[2].name, "cc");
    CHECK_EQUAL(capture->threads[2].process_index, 2);
    CHECK_TEXT(capture->codes[2].name.text, "main");
    CHECK_EQUAL(capture->codes[2].first_line, 40);
    CHECK_EQUAL(capture->nodes[capture->node_count - 1].code, 3);
    CHECK_EQUAL(capture->rss_count, 2);
    CHECK_EQUAL(capture->tick_count, 16);
    CHECK_EQUAL(capture_tick_time_ns(capture, 3), 3000000);
    CHECK_EQUAL(capture_tick_time_ns(capture, 1000), 16000000);
    CHECK_EQUAL(capture_tick_time_ns(capture, 0), 0);
    CHECK_EQUAL(capture->ended_ns, 16000000);
    CHECK(capture->summary.is_present);
    capture_close(capture);
    golden_file_close(&file);
}

TEST(rare_names_and_sizes_are_read_as_they_are)
{
    struct golden_file file;
    struct capture *capture = open_golden("strange", &file);
    struct capture_damage damage = {0};

    CHECK_TEXT(capture->threads[0].name, "w|x;<y>&\"'");
    CHECK_EQUAL(capture->threads[0].lost, 3);
    CHECK_TEXT(capture->summary.reason, "disk full");
    CHECK_EQUAL(capture->codes[2].name.length_bytes, 10000);
    CHECK_EQUAL(capture->codes[4].flags, CODE_HIDDEN);
    CHECK_EQUAL(read_events(capture, &damage), 17);
    CHECK(!damage.is_damaged);
    capture_close(capture);
    golden_file_close(&file);
}

TEST(limits_name_processes_and_cgroups_of_the_capture)
{
    struct golden_file file;
    struct capture *capture = open_golden("limits", &file);

    CHECK(!capture->damage.is_damaged);
    CHECK_EQUAL(capture->cgroup_count, 3);
    CHECK_TEXT(capture->cgroups[1], "/app/job");
    CHECK_EQUAL(capture->limit_count, 11); /* not that of a later version */
    CHECK_EQUAL(capture->limits[0].kind, LIMIT_MACHINE);
    CHECK_EQUAL(capture->limits[0].process_index, UINT32_MAX);
    CHECK_EQUAL(capture->limits[3].kind, LIMIT_CGROUP_HIGH);
    CHECK_EQUAL(capture->limits[3].cgroup, 1);
    CHECK_EQUAL(capture->limits[3].bytes, 400 << 20);
    CHECK(capture->limits[8].kind == LIMIT_ADDRESS_SPACE && !capture->limits[8].is_set);
    CHECK_EQUAL(capture->use_count, 8);
    CHECK_EQUAL(capture->uses[0].kind, USE_CGROUP);
    CHECK_EQUAL(capture->uses[0].owner, 0);
    CHECK_EQUAL(capture->uses[7].kind, USE_SWAP);
    CHECK_EQUAL(capture->uses[7].owner, 1);
    capture_close(capture);
    golden_file_close(&file);
}

TEST(a_capture_without_an_end_is_truncated_and_read_up_to_its_bounds)
{
    struct golden_file file;
    struct capture *capture = open_golden("cut", &file);
    struct capture_damage damage = {0};

    CHECK_EQUAL(capture->state, CAPTURE_TRUNCATED);
    CHECK(capture->damage.is_damaged);
    CHECK_EQUAL(capture->damage.offset, capture->file_bytes);
    CHECK(strstr(capture->damage.error.text, "capture without an end at offset 1800: ") != NULL);
    CHECK_EQUAL(read_events(capture, &damage), 80); /* not the 10 beyond the bound */
    capture_close(capture);
    golden_file_close(&file);
}

TEST(a_capture_that_somebody_writes_is_running_and_not_damaged)
{
    struct golden golden = golden_read("cut");
    struct golden_file file = golden_file_open(golden.bytes, golden.size_bytes);
    struct golden_file part = golden_file_open(golden.bytes, golden.size_bytes - 100);
    struct capture *capture;

    CHECK(flock(file.fd, LOCK_EX) == 0);
    CHECK(flock(part.fd, LOCK_EX) == 0);
    capture = capture_open(file.path, NULL, NULL, NULL);
    CHECK(capture != NULL && !capture->damage.is_damaged);
    CHECK_EQUAL(capture->state, CAPTURE_RUNNING);
    capture_close(capture);
    capture = capture_open(part.path, NULL, NULL, NULL);
    CHECK(capture != NULL && !capture->damage.is_damaged);
    CHECK_EQUAL(capture->state, CAPTURE_RUNNING);
    capture_close(capture);
    golden_file_close(&file);
    golden_file_close(&part);
    free(golden.bytes);
}

/* Where the section begins that a byte is in; the end of all sections for a byte behind them. */
static size_t section_start(const struct golden *golden, size_t at)
{
    struct capture_bytes bytes = {"", golden->bytes, golden->size_bytes};
    size_t offset = SUPERBLOCK_BYTES;
    struct section section;

    if (at < offset)
        return 0;
    while (section_read(&bytes, offset, &section, NULL) && section.next_offset <= at)
        offset = section.next_offset;
    return offset;
}

/* Open what must be wrong at or before a byte, and read all that is left of it. */
static void check_wrong(const uint8_t *bytes, size_t size_bytes, size_t from, size_t at)
{
    struct golden_file file = golden_file_open(bytes, size_bytes);
    struct capture_damage damage = {0};
    struct error err = {"nothing said"};
    struct capture *capture = capture_open(file.path, NULL, NULL, &err);

    if (capture == NULL) {
        CHECK(strstr(err.text, " at offset ") != NULL);
    } else {
        CHECK(capture->damage.is_damaged);
        CHECK(strstr(capture->damage.error.text, " at offset ") != NULL);
        CHECK(capture->damage.offset >= from);
        CHECK(capture->damage.offset <= at);
        read_events(capture, &damage);
        CHECK(!damage.is_damaged);
    }
    capture_close(capture);
    golden_file_close(&file);
}

static void check_cut_off_everywhere(const char *name)
{
    struct golden golden = golden_read(name);

    for (size_t size = 0; size < golden.size_bytes; size++) {
        test_case("%s cut off at byte %zu", name, size);
        check_wrong(golden.bytes, size, section_start(&golden, size), size);
    }
    free(golden.bytes);
}

static void check_flipped_everywhere(const char *name, uint8_t bits)
{
    struct golden golden = golden_read(name);

    for (size_t at = 0; at < golden.size_bytes; at++) {
        size_t from = section_start(&golden, at);

        test_case("%s with %#x flipped in byte %zu", name, bits, at);
        golden.bytes[at] ^= bits;
        check_wrong(golden.bytes, golden.size_bytes, from, at);
        golden.bytes[at] ^= bits;
    }
    free(golden.bytes);
}

TEST(cut_off_at_any_byte_it_says_where_and_reads_what_is_before)
{
    check_cut_off_everywhere("family");
    check_cut_off_everywhere("strange");
    check_cut_off_everywhere("empty");
}

TEST(any_byte_that_is_wrong_is_noticed_and_what_is_before_is_read)
{
    check_flipped_everywhere("family", 0x01);
    check_flipped_everywhere("ranges", 0x80);
    check_flipped_everywhere("empty", 0xff);
}

TEST(what_is_no_capture_is_refused_with_a_reason)
{
    static const char text[] =
        "#!/usr/bin/python3\nprint('no capture, but long enough to be one')\n";
    struct golden_file file = golden_file_open((const uint8_t *)text, sizeof(text));
    struct error err = {""};

    CHECK(capture_open(file.path, NULL, NULL, &err) == NULL);
    CHECK(strstr(err.text, "not a memtrack capture at offset 0: ") != NULL);
    golden_file_close(&file);
    CHECK(capture_open("/nonexistent/app.bin", NULL, NULL, &err) == NULL);
    CHECK_TEXT(err.text, "/nonexistent/app.bin: cannot be opened: No such file or directory");
    CHECK(capture_open("/", NULL, NULL, &err) == NULL);
    CHECK_TEXT(err.text, "/: not a regular file: captures are read from files");
    file = golden_file_open((const uint8_t *)"", 0);
    CHECK(capture_open(file.path, NULL, NULL, &err) == NULL);
    CHECK(strstr(err.text, "not a capture: empty at offset 0: ") != NULL);
    golden_file_close(&file);
}
