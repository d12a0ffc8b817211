/*
 * Lines to and from the starter. Main thread.
 */
#include "collect/starter.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    LINE_BYTES = 8192,
    HEARD_BYTES = 256,
};

void starter_say(struct starter *starter, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;

    if (starter->fd < 0)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    /* A starter that has gone, or that does not read, misses it: nobody waits for it. */
    (void)send(starter->fd, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void take(struct starter *starter, const char *line)
{
    if (strncmp(line, "pid ", 4) == 0) {
        starter->program = (uint32_t)strtoul(line + 4, NULL, 10);
    } else if (strncmp(line, "ended", 5) == 0) {
        starter->has_ended = true;
        starter->has_status = line[5] == ' ';
        starter->status = starter->has_status ? (int)strtol(line + 5, NULL, 10) : 0;
    }
}

void starter_listen(struct starter *starter)
{
    while (starter->fd >= 0) {
        char line[HEARD_BYTES];
        ssize_t length = recv(starter->fd, line, sizeof(line) - 1, MSG_DONTWAIT);

        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0 && errno == EAGAIN)
            return;
        if (length <= 0) {
            close(starter->fd);
            starter->fd = -1;
            starter->has_ended = true;
            return;
        }
        line[length] = '\0';
        take(starter, line);
    }
}
