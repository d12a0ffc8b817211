/*
 * Counting filters. Runs in the program's threads, before a filter can be there, and in our constructor.
 */
#include "base/filters.h"

#include "base/syscalls.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    COUNT_MAX = 999999, /* linux allows 32768 instructions in all */
    STATUS_BYTES = 4096,
};

int filters_parse(const char *text)
{
    int count = FILTERS_UNKNOWN;

    for (; *text >= '0' && *text <= '9' && count <= COUNT_MAX / 10; text++)
        count = (count < 0 ? 0 : 10 * count) + (*text - '0');
    return count;
}

/* Return what stands in a text behind a beginning; NULL: it begins with something else. */
static const char *skip(const char *text, const char *beginning)
{
    while (*beginning != '\0' && *text == *beginning) {
        text++;
        beginning++;
    }
    return *beginning == '\0' ? text : NULL;
}

/* Return the number that a line of the status begins with; FILTERS_UNKNOWN: there is no such line. */
static int find_number(const char *status, const char *line)
{
    const char *number = NULL;

    for (; *status != '\0' && number == NULL; status++)
        number = skip(status, line);
    return number != NULL ? filters_parse(number) : FILTERS_UNKNOWN;
}

/* Read a file of the kernel's. Returns false when it cannot be read. */
static bool read_file(const char *path, char *ret_text, size_t size_bytes)
{
    long fd = sys_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    long count;

    if (sys_failed(fd))
        return false;
    count = sys_call(SYS_read, fd, (long)ret_text, (long)(size_bytes - 1), 0, 0, 0);
    sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
    if (sys_failed(count))
        return false;
    ret_text[count] = '\0';
    return true;
}

int filters_count(void)
{
    /* The thread's stack may be a small one. */
    char *status = sys_map(STATUS_BYTES);
    int count = FILTERS_UNKNOWN;

    if (status == NULL)
        return count;
    /* The count is there since linux 5.9. */
    if (read_file("/proc/thread-self/status", status, STATUS_BYTES))
        count = find_number(status, "\nSeccomp:\t") == 0
                    ? 0
                    : find_number(status, "\nSeccomp_filters:\t");
    sys_unmap(status, STATUS_BYTES);
    return count;
}
