/*
 * The conversation with whoever started the collector: lines of text over a SOCK_SEQPACKET pair
 * (collect.h).
 */
#ifndef COLLECT_STARTER_H
#define COLLECT_STARTER_H

#include <stdbool.h>
#include <stdint.h>

struct starter {
    int fd;           /* -1: none, or gone */
    bool has_ended;   /* the program has ended, or the starter has */
    bool has_status;  /* it said how: only who waits for a program knows for sure */
    int status;       /* as of waitpid() */
    uint32_t program; /* its pid, 0: not said */
};

/* Say a line; the starter may be gone. Context: main thread. */
void starter_say(struct starter *starter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Take what the starter has said. Never waits. Context: main thread. */
void starter_listen(struct starter *starter);

#endif
