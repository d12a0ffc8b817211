/*
 * How often processes are looked at for their resident memory, and what is kept open for it. The
 * time is the test's.
 */
#include "collect/rss.h"

#include "hand_process.h"
#include "sleeper.h"
#include "test.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    NUMBER = 7,
    QUIET_PERIODS = RSS_QUIET_NS / RSS_SAMPLE_NS,
};

static struct session session;
static struct rss rss;
static struct records records;
static uint64_t now_ns;

static void open_session(void)
{
    processes_init(&session);
    rss_init(&rss);
    now_ns = session_now_ns();
}

/* Let time pass by so many of the shortest periods. Returns how often a slot was looked at. */
static uint32_t count_looks(uint32_t slot, uint32_t periods)
{
    uint32_t looks = 0;

    for (uint32_t i = 0; i < periods; i++) {
        now_ns += RSS_SAMPLE_NS;
        rss_sample(&rss, &session, &records, now_ns);
        looks += rss.processes[slot].sampled_ns == now_ns;
    }
    return looks;
}

/*
 * Let a slot's size be read from a file of ours from now on: the kernel may change that of any
 * process at any time.
 */
static void show_pages(uint32_t slot, unsigned pages)
{
    struct rss_process *sample = &rss.processes[slot];
    int file = memfd_create("statm", 0);

    CHECK(sample->has_file && file >= 0);
    dprintf(file, "1000 %u 300 10 0 200 0\n", pages);
    CHECK_EQUAL(dup2(file, sample->file), sample->file);
    close(file);
}

static uint32_t count_files(void)
{
    DIR *directory = opendir("/proc/self/fd");
    uint32_t count = 0;

    CHECK(directory != NULL);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

TEST(a_process_that_waits_is_looked_at_ever_more_rarely)
{
    pid_t sleeper = start_sleeper();

    open_session();
    add_process(&session, 0, NUMBER, (uint32_t)sleeper);
    count_looks(0, 1);
    show_pages(0, 500);
    count_looks(0, 100);
    CHECK_EQUAL(rss.processes[0].period_ns, RSS_QUIET_NS);
    CHECK_EQUAL(count_looks(0, 100 * QUIET_PERIODS), 100);
    end_sleeper(sleeper);
}

TEST(a_process_that_records_is_looked_at_each_time)
{
    pid_t sleeper = start_sleeper();
    struct process *process;

    open_session();
    process = add_process(&session, 0, NUMBER, (uint32_t)sleeper);
    count_looks(0, 100);
    for (int i = 0; i < 50; i++) {
        atomic_fetch_add(&process->activity, 1);
        CHECK_EQUAL(count_looks(0, 1), 1);
    }
    end_sleeper(sleeper);
}

TEST(a_size_that_changes_is_looked_at_each_time_and_written)
{
    pid_t sleeper = start_sleeper();
    uint32_t written, periods = 1;

    open_session();
    add_process(&session, 0, NUMBER, (uint32_t)sleeper);
    count_looks(0, 1);
    show_pages(0, 500);
    count_looks(0, 100);
    CHECK_EQUAL(rss.processes[0].period_ns, RSS_QUIET_NS);
    written = records.count;
    show_pages(0, 600);
    while (count_looks(0, 1) == 0)
        CHECK(++periods <= QUIET_PERIODS);
    CHECK_EQUAL(rss.processes[0].period_ns, RSS_SAMPLE_NS);
    CHECK_EQUAL(records.count, written + 1);
    CHECK_EQUAL(rss.processes[0].resident_bytes, 600 * rss.page_bytes);
    end_sleeper(sleeper);
}

TEST(an_unchanged_size_is_written_once_a_second)
{
    pid_t sleeper = start_sleeper();

    open_session();
    add_process(&session, 0, NUMBER, (uint32_t)sleeper);
    count_looks(0, 1);
    show_pages(0, 500);
    count_looks(0, 100);
    records_clear(&records);
    count_looks(0, 1000);
    CHECK(records.count >= 8 && records.count <= 10);
    end_sleeper(sleeper);
}

TEST(a_file_is_opened_once_for_a_process_and_closed_with_it)
{
    pid_t first = start_sleeper(), second = start_sleeper();
    uint32_t before;
    int file;

    open_session();
    before = count_files();
    add_process(&session, 0, NUMBER, (uint32_t)first);
    count_looks(0, 100);
    file = rss.processes[0].file;
    CHECK(rss.processes[0].has_file);
    CHECK_EQUAL(count_files(), before + 1);
    count_looks(0, 100);
    CHECK_EQUAL(rss.processes[0].file, file);
    CHECK_EQUAL(count_files(), before + 1);

    /* The next one in the slot. */
    end_sleeper(first);
    count_looks(0, 20);
    add_process(&session, 0, NUMBER + 1, (uint32_t)second);
    records_clear(&records);
    count_looks(0, 1);
    CHECK_EQUAL(records.count, 1);
    CHECK_EQUAL(count_files(), before + 1);

    process_set_phase(&session.processes[0], PHASE_ENDED);
    count_looks(0, 1);
    CHECK_EQUAL(count_files(), before);
    CHECK_EQUAL(rss.file_count, 0);
    end_sleeper(second);
}

TEST(many_processes_are_all_looked_at_and_keep_few_files_open)
{
    pid_t sleeper = start_sleeper();
    uint32_t before;

    open_session();
    before = count_files();
    for (uint32_t i = 0; i < 3 * RSS_MAX_FILES; i++)
        add_process(&session, i, NUMBER + i, (uint32_t)sleeper);
    count_looks(0, 200);
    for (uint32_t i = 0; i < 3 * RSS_MAX_FILES; i++)
        CHECK(rss.processes[i].resident_bytes > 0);
    CHECK_EQUAL(count_files(), before + RSS_MAX_FILES);
    rss_finish(&rss);
    CHECK_EQUAL(count_files(), before);
    end_sleeper(sleeper);
}
