/*
 * System call filters that may have come since the session was joined.
 *
 * Runs in the program's threads, before a filter can be there, and in our constructor. A filter that
 * was there all the time (a container's) has let all our calls through; what holds: filters are
 * only ever added, so an equal count is an equal set.
 */
#include "hook/filter.h"

#include "base/filters.h"
#include "base/syscalls.h"
#include "memtrack/protocol.h"

#include <stdatomic.h>

enum {
    COUNT_NOT_ASKED = -2,
};

static _Atomic int remembered = COUNT_NOT_ASKED;

void filter_remember(void)
{
    int none = COUNT_NOT_ASKED;

    /* Another thread may be faster, and have its filter by now. */
    if (remembered == COUNT_NOT_ASKED && !sys_makes_no_calls())
        atomic_compare_exchange_strong(&remembered, &none, filters_count());
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
    before = filters_parse(text + 1);
    /* The loader has just made the calls of this one. */
    now = filters_count();
    remembered = now;
    return now == 0 || (now != FILTERS_UNKNOWN && now == before);
}
