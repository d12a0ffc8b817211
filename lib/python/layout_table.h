/*
 * The layouts we know from CPython's headers, 3.8 to 3.15.
 *
 * Up to 3.12 this is all there is to know; from 3.13 on the interpreter's own description is laid
 * over a row of this table (layout_debug_offsets.h).
 */
#ifndef PYTHON_LAYOUT_TABLE_H
#define PYTHON_LAYOUT_TABLE_H

#include "python/layout.h"

enum {
    LAYOUT_MINOR_FIRST = 8,
    LAYOUT_MINOR_LAST = 15,
};

/* The shapes that the chain of frames has had. */
enum frame_family {
    FRAMES_3_8, /* and 3.9 */
    FRAMES_3_10,
    FRAMES_3_11,
    FRAMES_3_12,
    FRAMES_3_13, /* free-threaded or not */
    FRAMES_3_14,
    FRAMES_3_14T,
    FRAMES_3_15,
    FRAMES_3_15T,
    FRAMES_COUNT,
};

/* EACH(family, suffix of a function made for it), for all families. */
#define FRAME_FAMILIES(EACH)   \
    EACH(FRAMES_3_8, _3_8)     \
    EACH(FRAMES_3_10, _3_10)   \
    EACH(FRAMES_3_11, _3_11)   \
    EACH(FRAMES_3_12, _3_12)   \
    EACH(FRAMES_3_13, _3_13)   \
    EACH(FRAMES_3_14, _3_14)   \
    EACH(FRAMES_3_14T, _3_14t) \
    EACH(FRAMES_3_15, _3_15)   \
    EACH(FRAMES_3_15T, _3_15t)

/*
 * Return the layout of a family. Inline, so that a walker made for one family has constants for it.
 * Sources: Include/internal/pycore_frame.h (3.11 to 3.13), pycore_interpframe_structs.h (3.14 and
 * later), Include/cpython/frameobject.h (3.8 to 3.10), Include/cpython/pystate.h.
 * Context: any thread.
 */
static inline __attribute__((always_inline)) struct frame_layout
frame_layout_of(enum frame_family family)
{
    struct frame_layout layout = {
        .state_frame = 72,
        .previous = 8,
        .instruction = 56,
        .instruction_kind = INSTRUCTION_POINTER,
        .owner = 74,
    };

    switch (family) {
    case FRAMES_3_8:
        return (struct frame_layout){.state_frame = 24,
                                     .previous = 24,
                                     .code = 32,
                                     .instruction = 104,
                                     .instruction_kind = INSTRUCTION_BYTES};
    case FRAMES_3_10:
        return (struct frame_layout){.state_frame = 24,
                                     .previous = 24,
                                     .code = 32,
                                     .instruction = 96,
                                     .instruction_kind = INSTRUCTION_UNITS};
    case FRAMES_3_11:
        return (struct frame_layout){.state_frame = 56,
                                     .has_cframe = 1,
                                     .cframe_frame = 8,
                                     .previous = 48,
                                     .code = 32,
                                     .instruction = 56,
                                     .instruction_kind = INSTRUCTION_POINTER,
                                     .entry = 68,
                                     .chunk = 296};
    case FRAMES_3_12:
        layout.state_frame = 56;
        layout.has_cframe = 1;
        layout.owner = 70;
        layout.chunk = 232;
        break;
    case FRAMES_3_13:
        layout.owner = 70;
        layout.chunk = 232;
        break;
    case FRAMES_3_14T:
    case FRAMES_3_15T:
        layout.owner = 78;
        layout.copy = 72;
        break;
    case FRAMES_3_14:
        layout.chunk = 232;
        break;
    case FRAMES_3_15:
    case FRAMES_COUNT:
        break;
    }
    if (family == FRAMES_3_15 || family == FRAMES_3_15T) {
        layout.watermark = 88;
        layout.watermark_sequence = 96;
    }
    return layout;
}

/*
 * Give the layout of a version.
 * has_trace_refs: built with --with-trace-refs, which up to 3.12 makes object headers larger.
 * Returns false when the version is not known. Context: start-up.
 */
bool layout_table_find(unsigned minor, bool is_free_threaded, bool has_trace_refs,
                       struct python_layout *ret_layout);

/*
 * Return the family whose frames lie as in the layout, FRAMES_COUNT when there is none.
 * Context: start-up.
 */
enum frame_family layout_table_family(const struct frame_layout *layout);

#endif
