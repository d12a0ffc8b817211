/*
 * What an interpreter says about itself: _Py_DebugOffsets, at the start of _PyRuntime from 3.13 on.
 *
 * The structure is positional and each minor version has its own, so it is only read for versions
 * whose positions are known. It lacks some fields that we need; those keep the table's offsets.
 */
#ifndef PYTHON_LAYOUT_DEBUG_OFFSETS_H
#define PYTHON_LAYOUT_DEBUG_OFFSETS_H

#include "python/layout.h"

enum {
    DEBUG_OFFSETS_MINOR_FIRST = 13,
    DEBUG_OFFSETS_HEADER_BYTES = 24, /* cookie, version, free_threaded */
};

/*
 * Read what identifies the structure.
 * bytes: at least DEBUG_OFFSETS_HEADER_BYTES.
 * ret_version: as PY_VERSION_HEX.
 * Returns false when the cookie is another. Context: start-up.
 */
bool layout_debug_offsets_identify(const void *bytes, uint64_t *ret_version,
                                   bool *ret_is_free_threaded);

/*
 * Lay the interpreter's own offsets over those of the table.
 * bytes: the whole structure, identified as one of layout->minor.
 * layout: the table's row; changed only on success.
 * Returns false when a value cannot be an offset of the field it stands for. Context: start-up.
 */
bool layout_debug_offsets_apply(const void *bytes, struct python_layout *layout);

#endif
