/*
 * Positions inside _Py_DebugOffsets, from Include/internal/pycore_runtime.h of 3.13 and
 * Include/internal/pycore_debug_offsets.h of 3.14 and 3.15. Patch releases keep them; alpha and beta
 * releases do not, and are refused before they come here (runtime.c).
 */
#include "python/layout_debug_offsets.h"

#include "python/load.h"

#include <stddef.h>
#include <string.h>

enum {
    VERSION_COUNT = 3,      /* 3.13, 3.14, 3.15 */
    MAX_OFFSET = 16 * 1024, /* _PyRuntimeState is the largest structure we look into */
};

/* A field: its place in the structure of each version (0: not described), and in our layout. */
struct described_field {
    uint16_t position[VERSION_COUNT];
    uint16_t field;
    bool can_be_zero;
};

#define FIELD(field_) (uint16_t) offsetof(struct python_layout, field_)

static const struct described_field fields[] = {
    {{32, 32, 32}, FIELD(runtime.finalizing), false},
    {{184, 208, 208}, FIELD(frame.state_frame), false},
    {{0, 0, 224}, FIELD(frame.watermark), false},
    {{0, 0, 232}, FIELD(frame.watermark_sequence), false},
    {{232, 256, 320}, FIELD(frame.previous), false},
    {{240, 264, 328}, FIELD(frame.code), true},
    {{248, 272, 336}, FIELD(frame.instruction), false},
    {{264, 288, 352}, FIELD(frame.owner), false},
    {{0, 304, 368}, FIELD(frame.copy), true},
    {{280, 320, 384}, FIELD(code.file_name), false},
    {{288, 328, 392}, FIELD(code.name), false},
    {{296, 336, 400}, FIELD(code.qualified_name), false},
    {{304, 344, 408}, FIELD(code.line_table), false},
    {{312, 352, 416}, FIELD(code.first_line), false},
    {{344, 384, 448}, FIELD(code.bytecode), false},
    {{0, 392, 456}, FIELD(code.copies), true},
    {{360, 408, 472}, FIELD(object.type), false},
    {{520, 600, 696}, FIELD(object.size), false},
    {{528, 608, 704}, FIELD(object.bytes_data), false},
    {{544, 624, 720}, FIELD(object.text_state), false},
    {{552, 632, 728}, FIELD(object.text_length), false},
    {{560, 640, 736}, FIELD(object.text_ascii_data), false},
};

#undef FIELD

static const char cookie[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};

bool layout_debug_offsets_identify(const void *bytes, uint64_t *ret_version,
                                   bool *ret_is_free_threaded)
{
    if (memcmp(bytes, cookie, sizeof(cookie)) != 0)
        return false;
    *ret_version = load_word((uintptr_t)bytes, 8);
    *ret_is_free_threaded = load_word((uintptr_t)bytes, 16) != 0;
    return true;
}

bool layout_debug_offsets_apply(const void *bytes, struct python_layout *layout)
{
    struct python_layout described = *layout;
    unsigned version = layout->minor - DEBUG_OFFSETS_MINOR_FIRST;

    if (version >= VERSION_COUNT)
        return false;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        uint64_t offset;
        uint16_t value;

        if (fields[i].position[version] == 0)
            continue;
        offset = load_word((uintptr_t)bytes, fields[i].position[version]);
        if (offset >= MAX_OFFSET || (offset == 0 && !fields[i].can_be_zero))
            return false;
        value = (uint16_t)offset;
        memcpy((char *)&described + fields[i].field, &value, sizeof(value));
    }
    /* Not described: what follows from a described field beside it, as the headers have it. */
    described.object.text_compact_data = (uint16_t)(described.object.text_ascii_data + 16);
    described.object.text_pointer = described.object.text_compact_data;
    *layout = described;
    return true;
}
