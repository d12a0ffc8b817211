/*
 * The writer: what it writes is a capture by docs/format.md, at any instant, also when the disk is
 * full; and it replaces nothing that it was not told to.
 */
#include "capture/writer.h"

#include "capture/capture.h"
#include "capture/section.h"
#include "memtrack/format.h"
#include "memtrack/varint.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const uint8_t uuid[16] = "0123456789abcde";
static char directory[] = "/tmp/test_writer_XXXXXX";
static char path[sizeof(directory) + 16];

static void remove_all(void)
{
    unlink(path);
    rmdir(directory);
}

static void make_directory(void)
{
    CHECK(mkdtemp(directory) != NULL);
    snprintf(path, sizeof(path), "%s/app.bin", directory);
    atexit(remove_all);
}

static struct capture_bytes load(void)
{
    static uint8_t bytes[4 << 20];
    int fd = open(path, O_RDONLY);
    ssize_t size_bytes = read(fd, bytes, sizeof(bytes));

    CHECK(fd >= 0 && size_bytes >= 0);
    close(fd);
    return (struct capture_bytes){"app.bin", bytes, (size_t)size_bytes};
}

static struct writer_section events(const void *payload, uint32_t payload_bytes)
{
    return (struct writer_section){
        .type = SECTION_EVENTS,
        .coder = CODER_FIXED,
        .process = 1,
        .stream = 2,
        .record_count = payload_bytes / EVENT_BYTES,
        .first_segment = 3,
        .payload = payload,
        .payload_bytes = payload_bytes,
    };
}

static void check_superblock(const struct capture_bytes *capture, uint64_t realtime_ns)
{
    const uint8_t *bytes = capture->bytes;

    CHECK(capture->size_bytes >= SUPERBLOCK_BYTES);
    CHECK(memcmp(bytes, "\x89MTK\r\n\x1a\n", 8) == 0);
    CHECK_EQUAL(le_load_u16(bytes + 8), 1);
    CHECK_EQUAL(le_load_u16(bytes + 10), FORMAT_MINOR);
    CHECK_EQUAL(le_load_u32(bytes + 12), 64);
    CHECK(memcmp(bytes + 16, uuid, 16) == 0);
    CHECK_EQUAL(le_load_u64(bytes + 32), 0);
    CHECK_EQUAL(le_load_u64(bytes + 40), realtime_ns);
    CHECK_EQUAL(le_load_u64(bytes + 56), XXH3_64bits(bytes, 56));
}

TEST(a_capture_is_superblock_sections_directory_and_trailer)
{
    uint8_t repeated[4096] = {7}, odd[17] = "does not compress", back[4096];
    struct writer_section first = events(repeated, sizeof(repeated));
    struct writer_section second = {
        .type = SECTION_RECORDS, .record_count = 1, .payload = odd, .payload_bytes = sizeof(odd)};
    struct capture_writer *writer;
    struct capture_bytes capture;
    struct section section;
    const uint8_t *trailer;
    size_t second_offset, directory_offset;

    make_directory();
    writer = capture_writer_open(path, false, uuid, 42, NULL);
    CHECK(writer != NULL);
    CHECK(capture_writer_section(writer, &first, NULL));
    CHECK(capture_writer_section(writer, &second, NULL));
    CHECK_EQUAL(capture_writer_bytes(writer), load().size_bytes);
    CHECK(capture_writer_close(writer, NULL));

    capture = load();
    check_superblock(&capture, 42);
    CHECK(section_read(&capture, SUPERBLOCK_BYTES, &section, NULL));
    CHECK(section_check_payload(&capture, &section, NULL));
    CHECK_EQUAL(section.flags, SECTION_LZ4);
    CHECK_EQUAL(section.coder, CODER_FIXED);
    CHECK_EQUAL(section.first_segment, 3);
    CHECK_EQUAL(section.process, 1);
    CHECK_EQUAL(section.stream, 2);
    CHECK_EQUAL(section.raw_bytes, sizeof(repeated));
    CHECK(section.payload_bytes < 100);
    CHECK_EQUAL(LZ4_decompress_safe((const char *)section.payload, (char *)back,
                                    (int)section.payload_bytes, sizeof(back)),
                sizeof(back));
    CHECK(memcmp(back, repeated, sizeof(back)) == 0);

    second_offset = section.next_offset;
    CHECK(section_read(&capture, second_offset, &section, NULL));
    CHECK_EQUAL(section.flags, 0);
    CHECK(memcmp(section.payload, odd, sizeof(odd)) == 0);

    directory_offset = section.next_offset;
    CHECK(section_read(&capture, directory_offset, &section, NULL));
    CHECK(section_check_payload(&capture, &section, NULL));
    CHECK_EQUAL(section.type, SECTION_DIRECTORY);
    CHECK_EQUAL(section.raw_bytes, 2 * DIRECTORY_ENTRY_BYTES);
    CHECK_EQUAL(section.record_count, 2);
    CHECK_EQUAL(section.next_offset, capture.size_bytes - TRAILER_BYTES);
    trailer = capture.bytes + section.next_offset;
    CHECK_EQUAL(le_load_u64(trailer), directory_offset);
    CHECK_EQUAL(le_load_u64(trailer + 8), capture.size_bytes);
    CHECK(memcmp(trailer + 16, "MTKEND\r\n", 8) == 0);
    CHECK_EQUAL(le_load_u64(trailer + 24), XXH3_64bits(trailer, 24));
}

TEST(the_directory_repeats_offset_type_stream_and_segment)
{
    uint8_t payload[16] = {0};
    struct writer_section section = events(payload, sizeof(payload));
    struct capture_writer *writer;
    struct capture_bytes capture;
    struct section read;
    uint8_t entry[24] = {0}, entries[72];
    size_t offset = SUPERBLOCK_BYTES;

    make_directory();
    writer = capture_writer_open(path, false, uuid, 0, NULL);
    for (int i = 0; i < 3; i++) {
        section.stream = (uint32_t)i + 10;
        section.first_segment = (uint64_t)i << 40;
        CHECK(capture_writer_section(writer, &section, NULL));
    }
    CHECK(capture_writer_close(writer, NULL));
    capture = load();
    CHECK(section_read(&capture, (size_t)le_load_u64(capture.bytes + capture.size_bytes - 32),
                       &read, NULL));
    CHECK_EQUAL(read.raw_bytes, 72);
    CHECK_EQUAL(read.flags & SECTION_LZ4, SECTION_LZ4);
    CHECK_EQUAL(LZ4_decompress_safe((const char *)read.payload, (char *)entries,
                                    (int)read.payload_bytes, sizeof(entries)),
                72);
    for (unsigned i = 0; i < 3; i++) {
        struct section header;

        le_store_u64(offset, entry);
        entry[8] = SECTION_EVENTS;
        le_store_u32(i + 10, entry + 12);
        le_store_u64((uint64_t)i << 40, entry + 16);
        CHECK(memcmp(entries + i * sizeof(entry), entry, sizeof(entry)) == 0);
        CHECK(section_read(&capture, offset, &header, NULL));
        offset = header.next_offset;
    }
}

TEST(an_existing_file_is_left_alone)
{
    struct error err;
    int fd;

    make_directory();
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    CHECK(write(fd, "precious", 8) == 8);
    close(fd);
    CHECK(capture_writer_open(path, false, uuid, 0, &err) == NULL);
    CHECK(strstr(err.text, "is there already") != NULL);
    CHECK(strstr(err.text, "-f") != NULL);
    CHECK_EQUAL(load().size_bytes, 8);
}

TEST(overwriting_makes_a_new_inode_and_leaves_nothing_beside_it)
{
    struct stat before, after, beside;
    struct capture_writer *writer;
    char temporary[sizeof(path) + 32];
    int fd;

    make_directory();
    fd = open(path, O_CREAT | O_RDWR, 0600);
    CHECK(write(fd, "old", 3) == 3);
    CHECK(fstat(fd, &before) == 0);
    writer = capture_writer_open(path, true, uuid, 0, NULL);
    CHECK(writer != NULL);
    CHECK(stat(path, &after) == 0);
    CHECK(before.st_ino != after.st_ino);
    CHECK(capture_writer_close(writer, NULL));
    CHECK(fstat(fd, &before) == 0);
    CHECK_EQUAL(before.st_size, 3); /* a reader that has it open keeps it */
    snprintf(temporary, sizeof(temporary), "%s.%ld.tmp", path, (long)getpid());
    CHECK(stat(temporary, &beside) < 0 && errno == ENOENT);
}

TEST(overwriting_through_a_link_keeps_the_link)
{
    struct capture_writer *writer;
    struct stat status;
    char link_path[sizeof(path) + 8];
    int fd;

    make_directory();
    snprintf(link_path, sizeof(link_path), "%s.link", path);
    fd = open(path, O_CREAT | O_RDWR, 0600);
    close(fd);
    CHECK(symlink(path, link_path) == 0);
    writer = capture_writer_open(link_path, true, uuid, 0, NULL);
    CHECK(writer != NULL && capture_writer_close(writer, NULL));
    CHECK(lstat(link_path, &status) == 0 && S_ISLNK(status.st_mode));
    CHECK(load().size_bytes > SUPERBLOCK_BYTES);
    unlink(link_path);
}

TEST(a_device_is_never_replaced)
{
    struct error err;

    CHECK(capture_writer_open("/dev/null", true, uuid, 0, &err) == NULL);
    CHECK_TEXT(err.text, "/dev/null: is not a regular file: give another name");
}

TEST(a_missing_directory_is_named)
{
    struct error err;

    CHECK(capture_writer_open("/nonexistent/app.bin", true, uuid, 0, &err) == NULL);
    CHECK_TEXT(err.text, "/nonexistent/app.bin: cannot be created: No such file or directory");
}

TEST(the_file_is_locked_while_it_is_written)
{
    struct capture_writer *writer;
    int fd;

    make_directory();
    writer = capture_writer_open(path, false, uuid, 0, NULL);
    fd = open(path, O_RDONLY);
    CHECK(flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK);
    CHECK(capture_writer_close(writer, NULL));
    CHECK(flock(fd, LOCK_SH | LOCK_NB) == 0);
}

TEST(a_full_disk_leaves_whole_sections_and_is_remembered)
{
    static uint8_t noise[8000];
    struct rlimit limit = {20000, RLIM_INFINITY};
    struct writer_section section = events(noise, sizeof(noise));
    struct capture_writer *writer;
    struct capture_bytes capture;
    struct section read;
    struct error err = {""}, later = {""};

    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (uint8_t)XXH3_64bits(&i, sizeof(i));
    make_directory();
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    writer = capture_writer_open(path, false, uuid, 0, NULL);
    CHECK(capture_writer_section(writer, &section, &err));
    CHECK(capture_writer_section(writer, &section, &err));
    CHECK(!capture_writer_section(writer, &section, &err));
    CHECK(strstr(err.text, "cannot be written: File too large") != NULL);

    capture = load();
    CHECK(section_read(&capture, SUPERBLOCK_BYTES, &read, NULL));
    CHECK(section_read(&capture, read.next_offset, &read, NULL));
    CHECK(section_check_payload(&capture, &read, NULL));
    CHECK_EQUAL(read.next_offset, capture.size_bytes);

    limit.rlim_cur = RLIM_INFINITY; /* room again is too late: what is missing would not be seen */
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(!capture_writer_section(writer, &section, &later));
    CHECK_TEXT(later.text, err.text);
    CHECK(!capture_writer_close(writer, &later));
    CHECK_TEXT(later.text, err.text);
    CHECK_EQUAL(load().size_bytes, capture.size_bytes);
}

TEST(a_directory_of_more_sections_than_one_can_list_is_several)
{
    static const uint8_t unknown_record[] = {100, 0};
    const uint64_t count = SECTION_MAX_RAW_BYTES / DIRECTORY_ENTRY_BYTES + 3;
    struct writer_section section = {
        .type = SECTION_RECORDS,
        .record_count = 1,
        .payload = unknown_record,
        .payload_bytes = sizeof(unknown_record),
    };
    struct capture_writer *writer;
    struct capture *capture;
    struct error err = {""};

    make_directory();
    writer = capture_writer_open(path, false, uuid, 0, NULL);
    for (uint64_t i = 0; i < count; i++)
        CHECK(capture_writer_section(writer, &section, NULL));
    CHECK(capture_writer_close(writer, NULL));
    capture = capture_open(path, NULL, NULL, &err);
    CHECK(capture != NULL);
    CHECK_TEXT(capture->damage.error.text, "");
    CHECK(!capture->damage.is_damaged);
    CHECK_EQUAL(capture->state, CAPTURE_CLEAN);
    capture_close(capture);
}
