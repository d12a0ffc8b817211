/*
 * What is read of cgroups, from folders that the tests make, and what is written of limits. The time
 * is the test's.
 */
#include "collect/limits.h"

#include "collect/proc_files.h"
#include "collect/processes.h"
#include "collect/room.h"
#include "collect/rss.h"
#include "hand_process.h"
#include "memtrack/varint.h"
#include "sleeper.h"
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    NUMBER = 7,
    MIB = 1 << 20,
};

static char folder[] = "/tmp/memtrack-limits-XXXXXX";
static struct cgroup_mounts mounts;
static struct session session;
static struct limits limits;
static struct rss rss;
static struct records records;
static uint64_t now_ns;

static void make_folder(void)
{
    CHECK(mkdtemp(folder) != NULL);
}

static void remove_folder(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -r '%s'", folder);
    CHECK_EQUAL(system(command), 0);
}

/* Write a file below the folder, and the folders it is in. */
static void put(const char *path, const char *text)
{
    char file[512];
    FILE *out;

    snprintf(file, sizeof(file), "%s%s", folder, path);
    for (char *slash = strchr(file + strlen(folder) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(file, 0700);
        *slash = '/';
    }
    out = fopen(file, "w");
    CHECK(out != NULL);
    fputs(text, out);
    CHECK_EQUAL(fclose(out), 0);
}

static void find_mounts(const char *root, const char *type_and_options)
{
    char text[1024];

    snprintf(text, sizeof(text),
             "23 1 0:22 / /proc rw - proc proc rw\n"
             "30 23 0:26 %s %s rw,nosuid shared:4 master:2 - %s\n",
             root, folder, type_and_options);
    cgroup_find_mounts(&mounts, text);
}

static struct cgroup_mount mount_of_folder(enum cgroup_version version)
{
    struct cgroup_mount mount = {.version = version};

    snprintf(mount.directory, PATH_MAX, "%s", folder);
    return mount;
}

TEST(a_mount_is_found_by_its_type_and_controllers)
{
    cgroup_find_mounts(&mounts, "35 31 0:32 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
                                "36 31 0:33 / /sys/fs/cgroup/my\\040memory rw shared:9 - cgroup "
                                "cgroup rw,memory,hugetlb\n"
                                "37 31 0:34 /docker/ab /sys/fs/cgroup/unified rw - cgroup2 none "
                                "rw,nsdelegate\n"
                                "broken line\n");
    CHECK_EQUAL(mounts.v1.version, CGROUP_V1);
    CHECK_TEXT(mounts.v1.directory, "/sys/fs/cgroup/my memory");
    CHECK_TEXT(mounts.v1.root, "");
    CHECK_EQUAL(mounts.v2.version, CGROUP_V2);
    CHECK_TEXT(mounts.v2.root, "/docker/ab");
    cgroup_find_mounts(&mounts, "35 31 0:32 / /sys/fs/cgroup/x rw - cgroup cgroup rw,memoryless\n");
    CHECK_EQUAL(mounts.v1.version, CGROUP_UNKNOWN);
    CHECK_EQUAL(mounts.v2.version, CGROUP_UNKNOWN);
}

TEST(a_process_is_where_its_memory_controller_is)
{
    char path[PATH_MAX];

    find_mounts("/", "cgroup2 none rw");
    CHECK(cgroup_of(&mounts, "0::/a.slice/b\n", path) == &mounts.v2);
    CHECK_TEXT(path, "/a.slice/b");
    CHECK(cgroup_of(&mounts, "0::/\n", path) == &mounts.v2);
    CHECK_TEXT(path, "");
    /* A name may hold a colon. */
    CHECK(cgroup_of(&mounts, "0::/a:b\n", path) == &mounts.v2);
    CHECK_TEXT(path, "/a:b");
    /* Version 1 has it, and is not to be seen. */
    CHECK(cgroup_of(&mounts, "4:cpu,memory:/x\n0::/a\n", path) == NULL);
    CHECK(cgroup_of(&mounts, "0::/a\n4:memory:/x\n", path) == NULL);
    CHECK(cgroup_of(&mounts, "", path) == NULL);
    CHECK(cgroup_of(&mounts, "3:cpu:/a\n", path) == NULL);
    find_mounts("/", "cgroup cgroup rw,memory");
    CHECK(cgroup_of(&mounts, "3:cpu:/c\n4:memory:/x\n0::/a\n", path) == &mounts.v1);
    CHECK_TEXT(path, "/x");
}

TEST(only_what_lies_below_the_mount_can_be_seen)
{
    char path[PATH_MAX];

    find_mounts("/docker/ab", "cgroup2 none rw");
    CHECK(cgroup_of(&mounts, "0::/docker/ab/job\n", path) == &mounts.v2);
    CHECK_TEXT(path, "/job");
    CHECK(cgroup_of(&mounts, "0::/docker/ab\n", path) == &mounts.v2);
    CHECK_TEXT(path, "");
    CHECK(cgroup_of(&mounts, "0::/docker/abc\n", path) == NULL);
    find_mounts("/", "cgroup2 none rw");
    CHECK(cgroup_of(&mounts, "0::/../other\n", path) == NULL);
}

TEST(the_smallest_limit_on_the_way_up_is_taken)
{
    struct cgroup_mount mount = mount_of_folder(CGROUP_V2);
    uint64_t bytes;
    size_t length;

    make_folder();
    mount = mount_of_folder(CGROUP_V2);
    put("/a/memory.max", "1073741824\n");
    put("/a/b/memory.max", "536870912\n");
    put("/a/b/c/memory.max", "max\n");
    put("/a/d/memory.max", "2147483648\n");
    CHECK(cgroup_limit(&mount, "/a/b/c", "memory.max", &bytes, &length));
    CHECK_EQUAL(bytes, (uint64_t)512 * MIB);
    CHECK_EQUAL(length, 4);
    CHECK(cgroup_limit(&mount, "/a/d", "memory.max", &bytes, &length));
    CHECK_EQUAL(bytes, (uint64_t)1024 * MIB);
    CHECK_EQUAL(length, 2);
    put("/a/d/memory.max", "1073741824\n"); /* equal: what is above has more in it */
    CHECK(cgroup_limit(&mount, "/a/d", "memory.max", &bytes, &length));
    CHECK_EQUAL(length, 2);
    put("/a/d/memory.max", "0\n");
    CHECK(cgroup_limit(&mount, "/a/d", "memory.max", &bytes, &length));
    CHECK_EQUAL(bytes, 0);
    CHECK_EQUAL(length, 4);
    remove_folder();
}

TEST(what_cannot_be_read_is_no_limit)
{
    struct cgroup_mount mount;
    uint64_t bytes = 1;
    size_t length = 1;

    make_folder();
    mount = mount_of_folder(CGROUP_V2);
    CHECK(!cgroup_limit(&mount, "/not/there", "memory.max", &bytes, &length));
    put("/a/memory.max", "max\n");
    CHECK(!cgroup_limit(&mount, "/a", "memory.max", &bytes, &length));
    CHECK(!cgroup_limit(&mount, "/a", "memory.high", &bytes, &length));
    put("/a/memory.max", "-1\n");
    CHECK(!cgroup_limit(&mount, "/a", "memory.max", &bytes, &length));
    put("/a/memory.max", "");
    CHECK(!cgroup_limit(&mount, "/a", "memory.max", &bytes, &length));
    put("/memory.limit_in_bytes", "9223372036854771712\n"); /* version 1: none */
    CHECK(!cgroup_limit(&mount, "/a", "memory.limit_in_bytes", &bytes, &length));
    CHECK_EQUAL(bytes, 1);
    CHECK_EQUAL(length, 1);
    put("/memory.limit_in_bytes", "4096\n"); /* the mount's own */
    CHECK(cgroup_limit(&mount, "/a", "memory.limit_in_bytes", &bytes, &length));
    CHECK_EQUAL(bytes, 4096);
    CHECK_EQUAL(length, 0);
    remove_folder();
}

TEST(page_cache_is_told_apart_in_both_versions)
{
    struct cgroup_mount mount;
    uint64_t bytes;
    int file;

    make_folder();
    mount = mount_of_folder(CGROUP_V2);
    put("/a/memory.stat", "anon 1\nfile 999\ninactive_file 30\nactive_file 12\n");
    put("/a/memory.current", "1000\n");
    put("/a/memory.usage_in_bytes", "2000\n");
    CHECK(cgroup_cache(&mount, "/a/b", 2, &bytes));
    CHECK_EQUAL(bytes, 42);
    CHECK(!cgroup_cache(&mount, "/a/b", 4, &bytes));
    file = cgroup_open_current(&mount, "/a", 2);
    CHECK(file >= 0 && cgroup_current(file, &bytes));
    CHECK_EQUAL(bytes, 1000);
    put("/a/memory.current", "1234\n"); /* the same file, again */
    CHECK(cgroup_current(file, &bytes));
    CHECK_EQUAL(bytes, 1234);
    close(file);
    mount = mount_of_folder(CGROUP_V1);
    put("/a/memory.stat", "inactive_file 5\nactive_file 5\ntotal_inactive_file 30\n"
                          "total_active_file 1\n");
    CHECK(cgroup_cache(&mount, "/a", 2, &bytes));
    CHECK_EQUAL(bytes, 31);
    file = cgroup_open_current(&mount, "/a", 2);
    CHECK(file >= 0 && cgroup_current(file, &bytes));
    CHECK_EQUAL(bytes, 2000);
    close(file);
    remove_folder();
}

static void begin(const char *mountinfo)
{
    processes_init(&session);
    limits_init(&limits, mountinfo);
    rss_init(&rss);
    rss.limits = &limits;
    now_ns = session_now_ns();
}

static void pass(uint64_t ns)
{
    now_ns += ns;
    limits_look(&limits, &session, &records, now_ns);
    rss_sample(&rss, &session, &records, now_ns);
}

static uint64_t next_number(const uint8_t **at)
{
    uint64_t value = 0;

    *at += varint_decode(*at, 10, &value);
    return value;
}

/* The last record that begins with these numbers (0 in the second: any). Returns how many there are. */
static uint32_t find(uint32_t kind, uint64_t first, uint64_t second_at, uint64_t second,
                     uint64_t ret_numbers[6])
{
    const uint8_t *at = records.bytes, *end = at + records.size_bytes;
    uint32_t found = 0;

    while (at < end) {
        uint64_t of_kind = next_number(&at), length = next_number(&at), numbers[6] = {0};
        const uint8_t *content = at;

        for (unsigned i = 0; i < 6 && content < at + length; i++)
            numbers[i] = next_number(&content);
        at += length;
        if (of_kind != kind || numbers[0] != first || numbers[second_at] != second)
            continue;
        found++;
        if (ret_numbers != NULL)
            memcpy(ret_numbers, numbers, sizeof(numbers));
    }
    return found;
}

/* LIMIT: process, time, kind, is set, bytes, cgroup. */
static uint32_t find_limit(uint32_t number, enum limit_kind kind, uint64_t ret_numbers[6])
{
    return find(RECORD_LIMIT, number, 2, kind, ret_numbers);
}

/* USE: kind, owner, time, bytes. */
static uint32_t find_use(enum use_kind kind, uint32_t owner, uint64_t ret_numbers[6])
{
    return find(RECORD_USE, kind, 1, owner, ret_numbers);
}

static void set_address_limit(pid_t pid, uint64_t bytes)
{
    struct rlimit limit = {bytes, RLIM_INFINITY};

    CHECK_EQUAL(prlimit(pid, RLIMIT_AS, &limit, NULL), 0);
}

TEST(room_is_the_least_of_what_machine_and_cgroup_have)
{
    static const char meminfo[] = "MemTotal:  4000 kB\nMemFree:  1 kB\nMemAvailable:  1000 kB\n";
    struct room room = {0};
    struct room_bytes bytes;

    make_folder();
    room.mounts.v2 = mount_of_folder(CGROUP_V2);
    put("/a/memory.max", "2048000\n");
    put("/a/memory.current", "1500000\n");
    put("/a/memory.stat", "inactive_file 300000\nactive_file 200000\n");
    bytes = room_of(&room, meminfo, "0::/a\n");
    CHECK_EQUAL(bytes.total, 2048000);
    CHECK_EQUAL(bytes.left, 1000 * 1024); /* the machine's */
    put("/a/memory.stat", "inactive_file 300000\nactive_file 100000\n");
    CHECK_EQUAL(room_of(&room, meminfo, "0::/a\n").left, 2048000 - 1500000 + 400000);
    put("/a/memory.max", "max\n");
    bytes = room_of(&room, meminfo, "0::/a\n");
    CHECK_EQUAL(bytes.total, 4000 * 1024);
    CHECK_EQUAL(bytes.left, 1000 * 1024);
    bytes = room_of(&room, "", "");
    CHECK_EQUAL(bytes.left, UINT64_MAX);
    remove_folder();
}

TEST(a_limit_is_written_when_it_is_seen_and_when_it_changes)
{
    pid_t sleeper = start_sleeper();
    struct process *process;
    uint64_t numbers[6];

    begin("");
    set_address_limit(sleeper, (uint64_t)3000 * MIB);
    process = add_process(&session, 0, NUMBER, (uint32_t)sleeper);
    pass(RSS_SAMPLE_NS);
    CHECK_EQUAL(find_limit(NUMBER, LIMIT_ADDRESS_SPACE, numbers), 1);
    CHECK_EQUAL(numbers[3], 1);
    CHECK_EQUAL(numbers[4], (uint64_t)3000 * MIB);
    CHECK_EQUAL(find_limit(NUMBER, LIMIT_DATA, NULL), 0); /* there is none */
    CHECK_EQUAL(find_use(USE_ADDRESS_SPACE, NUMBER, numbers), 1);
    CHECK(numbers[3] > 100000 && numbers[3] < (uint64_t)3000 * MIB);
    CHECK_EQUAL(find_limit(0, LIMIT_MACHINE, numbers), 1);
    CHECK_EQUAL(numbers[4], (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));

    for (int i = 0; i < 3; i++) {
        atomic_fetch_add(&process->activity, 1);
        pass(LIMITS_LOOK_NS);
    }
    CHECK_EQUAL(find_limit(NUMBER, LIMIT_ADDRESS_SPACE, NULL), 1);
    set_address_limit(sleeper, (uint64_t)2000 * MIB);
    atomic_fetch_add(&process->activity, 1);
    pass(LIMITS_ASK_NS / 2); /* too early */
    CHECK_EQUAL(find_limit(NUMBER, LIMIT_ADDRESS_SPACE, NULL), 1);
    pass(LIMITS_ASK_NS / 2);
    CHECK_EQUAL(find_limit(NUMBER, LIMIT_ADDRESS_SPACE, numbers), 2);
    CHECK_EQUAL(numbers[4], (uint64_t)2000 * MIB);
    pass(LIMITS_LOOK_NS);
    set_address_limit(sleeper, RLIM_INFINITY);
    pass(LIMITS_LOOK_NS); /* at rest: not yet */
    CHECK_EQUAL(find_limit(NUMBER, LIMIT_ADDRESS_SPACE, NULL), 2);
    pass(LIMITS_QUIET_NS);
    CHECK_EQUAL(find_limit(NUMBER, LIMIT_ADDRESS_SPACE, numbers), 3);
    CHECK_EQUAL(numbers[3], 0);
    limits_finish(&limits);
    end_sleeper(sleeper);
}

TEST(address_space_is_written_only_while_it_is_limited)
{
    pid_t sleeper = start_sleeper();

    begin("");
    add_process(&session, 0, NUMBER, (uint32_t)sleeper);
    pass(RSS_SAMPLE_NS);
    pass(LIMITS_QUIET_NS);
    CHECK_EQUAL(find_use(USE_ADDRESS_SPACE, NUMBER, NULL), 0);
    set_address_limit(sleeper, (uint64_t)3000 * MIB);
    pass(LIMITS_QUIET_NS);
    pass(LIMITS_QUIET_NS);
    CHECK_EQUAL(find_use(USE_ADDRESS_SPACE, NUMBER, NULL), 1); /* it has not changed since */
    set_address_limit(sleeper, RLIM_INFINITY);
    pass(LIMITS_QUIET_NS);
    set_address_limit(sleeper, (uint64_t)3000 * MIB);
    pass(LIMITS_QUIET_NS);
    CHECK_EQUAL(find_use(USE_ADDRESS_SPACE, NUMBER, NULL), 2);
    limits_finish(&limits);
    end_sleeper(sleeper);
}

TEST(a_process_that_takes_a_slot_over_has_limits_of_its_own)
{
    pid_t sleeper = start_sleeper();

    begin("");
    set_address_limit(sleeper, (uint64_t)3000 * MIB);
    add_process(&session, 0, NUMBER, (uint32_t)sleeper);
    pass(RSS_SAMPLE_NS);
    add_process(&session, 0, NUMBER + 1, (uint32_t)sleeper);
    CHECK(!limits_has(&limits, 0, NUMBER + 1, LIMIT_ADDRESS_SPACE));
    pass(RSS_SAMPLE_NS);
    CHECK_EQUAL(find_limit(NUMBER + 1, LIMIT_ADDRESS_SPACE, NULL), 1);
    CHECK_EQUAL(find_use(USE_ADDRESS_SPACE, NUMBER + 1, NULL), 1);
    limits_finish(&limits);
    end_sleeper(sleeper);
}

/* The folder stands for the hierarchy that the kernel has put the process in. */
static const char *show_folder_as_mount(char ret_text[static 1024], char ret_path[static PATH_MAX])
{
    char proc[8192], rest[PATH_MAX];
    ssize_t size_bytes = proc_read(0, "self/cgroup", proc, sizeof(proc) - 1);
    bool is_v1;

    CHECK(size_bytes >= 0);
    proc[size_bytes] = '\0';
    is_v1 = strstr(proc, ":memory:") != NULL || strstr(proc, "memory,") != NULL ||
            strstr(proc, ",memory") != NULL;
    snprintf(ret_text, 1024, "30 23 0:26 / %s rw - %s\n", folder,
             is_v1 ? "cgroup cgroup rw,memory" : "cgroup2 none rw");
    cgroup_find_mounts(&mounts, ret_text);
    if (cgroup_of(&mounts, proc, rest) == NULL)
        return NULL;
    snprintf(ret_path, PATH_MAX, "%s", rest);
    return is_v1 ? "memory.limit_in_bytes" : "memory.max";
}

TEST(what_a_cgroup_uses_is_written_while_it_has_a_limit)
{
    pid_t sleeper = start_sleeper();
    char mountinfo[1024], path[PATH_MAX], file[2 * PATH_MAX];
    const char *limit_file, *current_file;
    enum limit_kind kind;
    struct process *process;
    uint64_t numbers[6];

    make_folder();
    limit_file = show_folder_as_mount(mountinfo, path);
    if (limit_file == NULL) {
        printf("# skipped: this process is in no cgroup that can be seen\n");
        remove_folder();
        end_sleeper(sleeper);
        return;
    }
    kind = strcmp(limit_file, "memory.max") == 0 ? LIMIT_CGROUP_MAX : LIMIT_CGROUP_V1;
    current_file = kind == LIMIT_CGROUP_MAX ? "memory.current" : "memory.usage_in_bytes";
    snprintf(file, sizeof(file), "%s/%s", path, limit_file);
    put(file, "1048576\n");
    snprintf(file, sizeof(file), "%s/memory.stat", path);
    put(file, kind == LIMIT_CGROUP_MAX ? "inactive_file 4096\n" : "total_inactive_file 4096\n");
    snprintf(file, sizeof(file), "%s/%s", path, current_file);
    put(file, "104096\n");

    begin(mountinfo);
    process = add_process(&session, 0, NUMBER, (uint32_t)sleeper);
    pass(RSS_SAMPLE_NS);
    CHECK_EQUAL(find(RECORD_CGROUP, 1, 0, 1, NULL), 1);
    CHECK_EQUAL(find_limit(NUMBER, kind, numbers), 1);
    CHECK_EQUAL(numbers[4], MIB);
    CHECK_EQUAL(numbers[5], 1);
    CHECK_EQUAL(find_use(USE_CGROUP, 1, numbers), 1);
    CHECK_EQUAL(numbers[3], 100000);
    put(file, "504096\n");
    pass(LIMITS_CGROUP_NS);
    CHECK_EQUAL(find_use(USE_CGROUP, 1, numbers), 2);
    CHECK_EQUAL(numbers[3], 500000);
    snprintf(file, sizeof(file), "%s/%s", path, limit_file);
    put(file, kind == LIMIT_CGROUP_MAX ? "max\n" : "9223372036854771712\n");
    atomic_fetch_add(&process->activity, 1);
    pass(LIMITS_LOOK_NS);
    CHECK_EQUAL(find_limit(NUMBER, kind, numbers), 2);
    CHECK_EQUAL(numbers[3], 0);
    limits_finish(&limits);
    remove_folder();
    end_sleeper(sleeper);
}

TEST(limits_of_a_process_that_cannot_be_asked_are_not_made_up)
{
    pid_t sleeper = start_sleeper();

    begin("");
    end_sleeper(sleeper);
    add_process(&session, 0, NUMBER, (uint32_t)sleeper);
    pass(RSS_SAMPLE_NS);
    pass(LIMITS_QUIET_NS);
    for (unsigned kind = 1; kind < LIMIT_KIND_COUNT; kind++)
        CHECK_EQUAL(find_limit(NUMBER, (enum limit_kind)kind, NULL), 0);
    limits_finish(&limits);
}
