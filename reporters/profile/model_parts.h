/*
 * Inside the folder: what a stored model consists of, for those who write and read it.
 */
#ifndef PROFILE_MODEL_PARTS_H
#define PROFILE_MODEL_PARTS_H

#include "profile/columns.h"
#include "profile/profile.h"

#include <stddef.h>
#include <stdint.h>

/* Numbers of the parts in the file. */
enum model_part_kind {
    MODEL_TOTALS = 1,
    MODEL_ROWS = 2,
    MODEL_PROCESSES = 3,
    MODEL_THREADS = 4,
    MODEL_ALLOCATORS = 5,
    MODEL_SIZES = 6,
    MODEL_SAMPLES = 7,
    MODEL_INTERVALS = 8,
    MODEL_MARKS = 9,
    MODEL_PHASES = 10,
    MODEL_POOLS = 11,
    MODEL_FAILURES = 12,
    MODEL_LATE = 13,        /* may be missing: there was nothing */
    MODEL_ALLOCATIONS = 14, /* of the samples; may be missing: earlier versions stored none */
    MODEL_PART_COUNT = 15,
};

/* A class of sizes, as part of a model. */
struct model_size {
    uint64_t allocations, bytes;
};

/* What a part is made of. */
struct model_part {
    const struct column *columns; /* NULL: there is no such part */
    size_t column_count, item_bytes;
};

/* By enum model_part_kind. MODEL_TOTALS and MODEL_LATE are one item each, a struct profile. */
extern const struct model_part model_parts[MODEL_PART_COUNT];

#endif
