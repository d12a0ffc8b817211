/*
 * One line on a terminal that says how far something long has come.
 *
 *     struct progress progress;
 *     progress_begin(&progress, "reading out.bin", isatty(STDERR_FILENO) ? stderr : NULL);
 *     capture_open(path, progress_step, &progress, &err);
 *     progress_end(&progress);
 */
#ifndef PRINT_PROGRESS_H
#define PRINT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The caller's. */
struct progress {
    const char *what;
    FILE *out;
    uint64_t (*now_ns)(void); /* a test may put its own clock here after progress_begin() */
    uint64_t next_ns;         /* when to draw next */
    unsigned drawn_columns;   /* to be wiped; 0 while nothing stands there */
};

/*
 * Begin: nothing is written for the first half second.
 * what: the caller's, ASCII, as long as the progress. out: NULL for none at all.
 * Context: tool.
 */
void progress_begin(struct progress *progress, const char *what, FILE *out);

/*
 * Draw when it is time; done of total, in the same unit. It is a capture_progress function: user is
 * the progress. Returns true: go on. Context: tool.
 */
bool progress_step(void *user, uint64_t done, uint64_t total);

/* Wipe the line. What follows in the output begins at its start. Context: tool. */
void progress_end(struct progress *progress);

#endif
