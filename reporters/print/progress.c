/*
 * The progress line. Runs in the tools.
 */
#include "print/progress.h"

#include <inttypes.h>
#include <time.h>

#define FIRST_NS  UINT64_C(500000000)
#define REDRAW_NS UINT64_C(100000000)

static uint64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void progress_begin(struct progress *progress, const char *what, FILE *out)
{
    *progress = (struct progress){.what = what, .out = out, .now_ns = monotonic_ns};
    progress->next_ns = monotonic_ns() + FIRST_NS;
}

bool progress_step(void *user, uint64_t done, uint64_t total)
{
    struct progress *progress = user;
    uint64_t now_ns, percent = 0;
    int columns;

    if (progress->out == NULL)
        return true;
    now_ns = progress->now_ns();
    if (now_ns < progress->next_ns)
        return true;
    progress->next_ns = now_ns + REDRAW_NS;
    /* Both are halved together until the product fits. */
    for (; total > UINT64_MAX / 128 || done > UINT64_MAX / 128; total >>= 1)
        done >>= 1;
    if (total > 0)
        percent = done < total ? done * 100 / total : 100;
    columns = fprintf(progress->out, "\r%s %3" PRIu64 "%%", progress->what, percent) - 1;
    fflush(progress->out);
    if (columns > 0)
        progress->drawn_columns = (unsigned)columns;
    return true;
}

void progress_end(struct progress *progress)
{
    if (progress->drawn_columns == 0)
        return;
    fprintf(progress->out, "\r%*s\r", (int)progress->drawn_columns, "");
    fflush(progress->out);
    progress->drawn_columns = 0;
}
