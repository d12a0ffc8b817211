/*
 * perf's map files. Runs in the tools.
 */
#include "symbol/perf_map.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NUMBER_DIGITS_MOST = 16,
    FILE_MOST_BYTES = 1 << 30,
};

/* Read up to so many bytes; a file that grew meanwhile is cut. */
static size_t read_bytes(int fd, char *ret_bytes, size_t size_bytes)
{
    size_t used = 0;

    while (used < size_bytes) {
        ssize_t count = read(fd, ret_bytes + used, size_bytes - used);

        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        used += (size_t)count;
    }
    return used;
}

char *perf_map_read(const char *path, struct stat *ret_status, size_t *ret_size_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char *text = NULL;

    if (fd < 0)
        return NULL;
    if (fstat(fd, ret_status) == 0 && S_ISREG(ret_status->st_mode) &&
        ret_status->st_size <= FILE_MOST_BYTES) {
        text = memory_allocate((size_t)ret_status->st_size + 1, 1);
        *ret_size_bytes = read_bytes(fd, text, (size_t)ret_status->st_size);
    }
    close(fd);
    return text;
}

/* Take a hexadecimal number and the spaces behind it. */
static bool take_number(const char **text, uint64_t *ret_value)
{
    const char *digits = "0123456789abcdef", *next = *text;
    uint64_t value = 0;
    int count = 0;

    if (next[0] == '0' && (next[1] == 'x' || next[1] == 'X'))
        next += 2;
    for (; count < NUMBER_DIGITS_MOST && *next != '\0'; next++, count++) {
        const char *digit = strchr(digits, *next >= 'A' && *next <= 'F' ? *next | 0x20 : *next);

        if (digit == NULL)
            break;
        value = value << 4 | (uint64_t)(digit - digits);
    }
    if (count == 0 || *next != ' ')
        return false;
    *text = next + strspn(next, " ");
    *ret_value = value;
    return true;
}

static void take_line(const char *line, struct lookup *lookup)
{
    struct lookup_symbol symbol = {.rank = 0};
    uint64_t size_bytes;
    size_t first, count;

    if (!take_number(&line, &symbol.begin) || !take_number(&line, &size_bytes) || *line == '\0' ||
        __builtin_add_overflow(symbol.begin, size_bytes, &symbol.end))
        return;
    symbol.name = line;
    count = lookup_find(lookup, symbol.begin, symbol.end, &first);
    for (size_t i = first; i < first + count; i++)
        lookup->symbols[i] = symbol;
}

void perf_map_offer(char *text, size_t size_bytes, struct lookup *lookup)
{
    char *end = text + size_bytes;

    for (char *line = text; line < end;) {
        char *newline = memchr(line, '\n', (size_t)(end - line));

        if (newline == NULL)
            return; /* a line that is being written */
        *newline = '\0';
        take_line(line, lookup);
        line = newline + 1;
    }
}
