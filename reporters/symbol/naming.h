/*
 * How many native frames have no name, and why: what to install, or to keep, to have more.
 */
#ifndef SYMBOL_NAMING_H
#define SYMBOL_NAMING_H

#include "symbol/frames.h"

#include <stddef.h>
#include <stdint.h>

/* Why frames of a module have no name. */
enum naming_reason {
    NAMING_MISSING = 0,   /* the file is not there (any more) */
    NAMING_CHANGED = 1,   /* it is another one than was run */
    NAMING_DAMAGED = 2,   /* it cannot be read */
    NAMING_STRIPPED = 3,  /* it has no names there */
    NAMING_GENERATED = 4, /* code that was made as the program ran, without a perf map */
    NAMING_REASON_COUNT = 5,
};

/* A module in which frames have no name. */
struct naming_module {
    const char *name, *path; /* the frames' and the capture's */
    uint32_t addresses;      /* that occur */
    uint32_t unnamed;        /* of them */
    uint8_t reason;          /* enum naming_reason */
};

struct naming {
    struct naming_module *modules; /* most unnamed ones first; only those with any */
    size_t count;
    uint32_t module_count; /* in which frames are at all */
    uint64_t addresses, unnamed;
};

/*
 * Look up all native frames of a capture. frames: of that capture, lives as long as what is returned.
 * Returns counts to be given to naming_finish(). Context: tool.
 */
struct naming naming_collect(const struct capture *capture, struct frames *frames);

/* Give its memory back. Context: tool. */
void naming_finish(struct naming *naming);

#endif
