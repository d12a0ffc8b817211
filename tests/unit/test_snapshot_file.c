/*
 * The file of a snapshot, on file systems and kernels that lack something, and on full disks. The calls
 * that can be refused are defined here, in the place of libc's.
 */
#include "collect/snapshot_file.h"

#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum {
    SIZE = (1 << 18) * 2 + 12345, /* more than is copied at once by hand */
    NOT_REFUSED = 1 << 30,
};

static bool has_no_nameless_files;
static int64_t copied_by_kernel = NOT_REFUSED; /* bytes; then it refuses */
static int64_t room_bytes = NOT_REFUSED;       /* on the disk */

static char directory[] = "/tmp/test_snapshot_file_XXXXXX";
static char path[sizeof(directory) + 16], other[sizeof(directory) + 16];
static uint8_t content[SIZE];

int open(const char *name, int flags, ...)
{
    va_list arguments;
    mode_t mode = 0;

    va_start(arguments, flags);
    if ((flags & (O_CREAT | O_TMPFILE)) != 0)
        mode = va_arg(arguments, mode_t);
    va_end(arguments);
    if ((flags & O_TMPFILE) == O_TMPFILE && has_no_nameless_files) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, name, flags, mode);
}

ssize_t copy_file_range(int from_fd, off_t *from, int to_fd, off_t *to, size_t length,
                        unsigned flags)
{
    ssize_t count;

    (void)flags;
    if ((int64_t)length > copied_by_kernel)
        length = (size_t)copied_by_kernel;
    if (length == 0) {
        errno = EXDEV;
        return -1;
    }
    count = syscall(SYS_copy_file_range, from_fd, from, to_fd, to, length, 0);
    copied_by_kernel -= count > 0 ? count : 0;
    return count;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at)
{
    if ((int64_t)length > room_bytes)
        length = (size_t)room_bytes;
    if (length == 0) {
        errno = ENOSPC;
        return -1;
    }
    room_bytes -= (int64_t)length;
    return syscall(SYS_pwrite64, fd, bytes, length, at);
}

static unsigned count_files(void)
{
    DIR *folder = opendir(directory);
    unsigned count = 0;

    CHECK(folder != NULL);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void remove_all(void)
{
    unlink(path);
    unlink(other);
    rmdir(directory);
}

/* Returns the source, open. */
static int begin(void)
{
    int fd;

    CHECK(mkdtemp(directory) != NULL);
    snprintf(path, sizeof(path), "%s/made", directory);
    snprintf(other, sizeof(other), "%s/other", directory);
    atexit(remove_all);
    for (size_t i = 0; i < SIZE; i++)
        content[i] = (uint8_t)(i * 7 + i / 251);
    fd = open(other, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0 && write(fd, content, SIZE) == SIZE);
    return fd;
}

static void check_content(size_t size_bytes)
{
    static uint8_t bytes[SIZE + 1];
    int fd = open(path, O_RDONLY);

    CHECK(fd >= 0);
    CHECK_EQUAL((uint64_t)read(fd, bytes, sizeof(bytes)), size_bytes);
    CHECK(memcmp(bytes, content, size_bytes) == 0);
    close(fd);
}

TEST(it_holds_what_stands_before_a_place_however_it_is_copied)
{
    static const size_t sizes[] = {0, 1, 4095, 1 << 18, SIZE - 1, SIZE};
    static const int64_t by_kernel[] = {NOT_REFUSED, 0, 5000};
    int fd = begin();

    for (unsigned i = 0; i < 6 * (unsigned)(sizeof(sizes) / sizeof(sizes[0])); i++) {
        size_t size_bytes = sizes[i / 6];
        struct snapshot_file file;
        bool is_taken;

        has_no_nameless_files = i % 2 == 1;
        copied_by_kernel = by_kernel[i / 2 % 3];
        test_case("%zu bytes, %s, %" PRId64 " by the kernel", size_bytes,
                  has_no_nameless_files ? "named" : "nameless", copied_by_kernel);
        CHECK(snapshot_file_open(path, &file, NULL));
        CHECK(!has_no_nameless_files || file.temporary != NULL);
        CHECK(snapshot_file_copy(&file, fd, size_bytes, path, NULL));
        CHECK_EQUAL((uint64_t)lseek(file.fd, 0, SEEK_CUR), size_bytes);
        CHECK(access(path, F_OK) != 0);
        CHECK(snapshot_file_name(&file, path, false, &is_taken, NULL));
        snapshot_file_close(&file);
        check_content(size_bytes);
        CHECK_EQUAL(count_files(), 2);
        unlink(path);
    }
    close(fd);
}

TEST(it_takes_a_name_that_is_taken_only_when_it_may)
{
    int fd = begin();

    for (int i = 0; i < 2; i++) {
        struct snapshot_file file;
        struct error err;
        struct stat status;
        bool is_taken;
        int kept = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

        has_no_nameless_files = i == 1;
        test_case("%s", has_no_nameless_files ? "named" : "nameless");
        CHECK(kept >= 0 && write(kept, "kept", 4) == 4);
        CHECK(snapshot_file_open(path, &file, NULL));
        CHECK(snapshot_file_copy(&file, fd, 100, path, NULL));
        CHECK(!snapshot_file_name(&file, path, false, &is_taken, &err));
        CHECK(is_taken && strstr(err.text, "is there already") != NULL);
        CHECK(stat(path, &status) == 0 && status.st_size == 4);
        CHECK(snapshot_file_name(&file, path, true, &is_taken, NULL));
        snapshot_file_close(&file);
        check_content(100);
        CHECK_EQUAL(count_files(), 2);
        close(kept);
    }
    close(fd);
}

TEST(of_one_without_a_name_nothing_is_left)
{
    int fd = begin();

    for (int i = 0; i < 2; i++) {
        struct snapshot_file file;

        has_no_nameless_files = i == 1;
        CHECK(snapshot_file_open(path, &file, NULL));
        CHECK(snapshot_file_copy(&file, fd, 100, path, NULL));
        snapshot_file_close(&file);
        CHECK_EQUAL(count_files(), 1);
    }
    close(fd);
}

TEST(a_disk_that_fills_up_is_said)
{
    int fd = begin();
    struct snapshot_file file;
    struct error err;

    copied_by_kernel = 1000;
    room_bytes = (1 << 18) + 100;
    CHECK(snapshot_file_open(path, &file, NULL));
    CHECK(!snapshot_file_copy(&file, fd, SIZE, path, &err));
    CHECK(strstr(err.text, "/made: cannot be written: No space left on device") != NULL);
    snapshot_file_close(&file);
    CHECK_EQUAL(count_files(), 1);
    close(fd);
}

TEST(a_source_that_is_shorter_than_it_was_is_an_error)
{
    int fd = begin();

    for (int i = 0; i < 2; i++) {
        struct snapshot_file file;
        struct error err;

        copied_by_kernel = i == 0 ? NOT_REFUSED : 0;
        CHECK(snapshot_file_open(path, &file, NULL));
        CHECK(!snapshot_file_copy(&file, fd, SIZE + 1, path, &err));
        snapshot_file_close(&file);
    }
    close(fd);
}
