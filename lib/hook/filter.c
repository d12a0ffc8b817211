/*
 * System call filters that may have come since the session was joined.
 *
 * Runs in the program's threads, before a filter can be there, and in our constructor. A filter that
 * was there all the time (a container's) has let all our calls through; what holds: filters are
 * only ever added, so an equal count is an equal set.
 */
#include "hook/filter.h"

#include "base/syscalls.h"
#include "memtrack/protocol.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>

enum {
    COUNT_UNKNOWN = -1,
    COUNT_NOT_ASKED = -2,
    COUNT_MAX = 999999, /* linux allows 32768 instructions in all */
    STATUS_BYTES = 4096,
};

static _Atomic int remembered = COUNT_NOT_ASKED;

/* Return the number at the beginning of a text; COUNT_UNKNOWN: there is none. */
static int parse_count(const char *text)
{
    int count = COUNT_UNKNOWN;

    for (; *text >= '0' && *text <= '9' && count <= COUNT_MAX / 10; text++)
        count = (count < 0 ? 0 : 10 * count) + (*text - '0');
    return count;
}

/* Return the number that a line of the status begins with; COUNT_UNKNOWN: there is no such line. */
static int find_number(const char *status, const char *line)
{
    const char *found = strstr(status, line);

    return found != NULL ? parse_count(found + strlen(line)) : COUNT_UNKNOWN;
}

/* Return how many filters are in force for this thread, or COUNT_UNKNOWN. */
static int count_filters(void)
{
    static const char path[] = "/proc/thread-self/status";
    char status[STATUS_BYTES];
    long fd = sys_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    long size;

    if (sys_failed(fd))
        return COUNT_UNKNOWN;
    size = sys_call(SYS_read, fd, (long)status, sizeof(status) - 1, 0, 0, 0);
    sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
    if (sys_failed(size))
        return COUNT_UNKNOWN;
    status[size] = '\0';
    /* The count is there since linux 5.9. */
    return find_number(status, "\nSeccomp:\t") == 0 ? 0
                                                    : find_number(status, "\nSeccomp_filters:\t");
}

void filter_remember(void)
{
    int none = COUNT_NOT_ASKED;

    /* Another thread may be faster, and have its filter by now. */
    if (remembered == COUNT_NOT_ASKED && !sys_makes_no_calls())
        atomic_compare_exchange_strong(&remembered, &none, count_filters());
}

size_t filter_write_mark(char *to)
{
    char digits[FILTER_MARK_MAX_BYTES];
    char *end = to;
    size_t count_digits = 0;

    *end++ = SESSION_FILTER_MARK;
    for (int count = remembered; count > 0 || (count == 0 && count_digits == 0); count /= 10)
        digits[count_digits++] = (char)('0' + count % 10);
    while (count_digits > 0)
        *end++ = digits[--count_digits];
    *end++ = ':';
    return (size_t)(end - to);
}

const char *filter_skip_mark(const char *text)
{
    if (*text != SESSION_FILTER_MARK)
        return text;
    while (*text != '\0' && *text != ':')
        text++;
    return *text == ':' ? text + 1 : text;
}

bool filter_allows(const char *text)
{
    int before, now;

    if (*text != SESSION_FILTER_MARK)
        return true;
    before = parse_count(text + 1);
    /* The loader has just made the calls of this one. */
    now = count_filters();
    remembered = now;
    return now == 0 || (now != COUNT_UNKNOWN && now == before);
}
