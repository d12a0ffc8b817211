/*
 * Rows of offsets, printed by small programs that include CPython's own headers, one for each minor
 * version; patch releases of a minor and debug builds (Py_DEBUG) agree with them.
 *
 * Two kinds of build move things by a rule, so they have no rows: free-threaded ones and those with
 * --with-trace-refs have 16 bytes more in front of every object.
 */
#include "python/layout_table.h"

#include <memtrack/protocol.h>
#include <string.h>

struct layout_row {
    enum frame_family family;
    struct code_layout code;
    struct runtime_layout runtime;
    enum line_table line_table;
};

/* Include/cpython/code.h, Include/internal/pycore_runtime.h and pycore_interp.h of each version. */
static const struct layout_row rows[] = {
    {FRAMES_3_8,
     {.file_name = 104, .name = 112, .first_line = 40, .line_table = 120},
     {.finalizing = 16, .current_state = 1368, .interpreters = 32, .state_thread = 176},
     LINE_TABLE_LNOTAB},
    {FRAMES_3_8,
     {.file_name = 104, .name = 112, .first_line = 40, .line_table = 120},
     {.finalizing = 16, .current_state = 568, .interpreters = 32, .state_thread = 176},
     LINE_TABLE_LNOTAB},
    {FRAMES_3_10,
     {.file_name = 104, .name = 112, .first_line = 40, .line_table = 120},
     {.finalizing = 16, .current_state = 568, .interpreters = 32, .state_thread = 176},
     LINE_TABLE_PAIRS},
    {FRAMES_3_11,
     {.file_name = 112,
      .name = 120,
      .qualified_name = 128,
      .first_line = 72,
      .line_table = 136,
      .first_traceable = 168,
      .bytecode = 184},
     {.finalizing = 24, .current_state = 576, .interpreters = 40, .state_thread = 152},
     LINE_TABLE_LOCATION},
    {FRAMES_3_12,
     {.file_name = 112,
      .name = 120,
      .qualified_name = 128,
      .first_line = 68,
      .line_table = 136,
      .first_traceable = 176,
      .bytecode = 192},
     {.finalizing = 24},
     LINE_TABLE_LOCATION},
    {FRAMES_3_13,
     {.file_name = 112,
      .name = 120,
      .qualified_name = 128,
      .first_line = 68,
      .line_table = 136,
      .first_traceable = 184,
      .bytecode = 200},
     {.finalizing = 608},
     LINE_TABLE_LOCATION},
    {FRAMES_3_14,
     {.file_name = 112,
      .name = 120,
      .qualified_name = 128,
      .first_line = 68,
      .line_table = 136,
      .first_traceable = 192,
      .bytecode = 208},
     {.finalizing = 784},
     LINE_TABLE_LOCATION},
    {FRAMES_3_15,
     {.file_name = 112,
      .name = 120,
      .qualified_name = 128,
      .first_line = 68,
      .line_table = 136,
      .first_traceable = 192,
      .bytecode = 208},
     {.finalizing = 912},
     LINE_TABLE_LOCATION},
};

enum {
    WIDER_HEADER_BYTES = 16,
};

/* Include/cpython/unicodeobject.h: 3.12 dropped wstr and its length. */
static struct object_layout object_layout_of(unsigned minor)
{
    struct object_layout layout = {
        .type = 8,
        .size = 16,
        .bytes_data = 32,
        .text_length = 16,
        .text_state = 32,
        .text_ascii_data = minor >= 12 ? 40 : 48,
        .text_compact_data = minor >= 12 ? 56 : 72,
        .text_pointer = minor >= 12 ? 56 : 72,
        .text_kind_shift = 2,
        .text_compact_bit = 0x20,
        .text_ascii_bit = 0x40,
        .type_dealloc = 48,
    };

    return layout;
}

static void widen_objects(struct object_layout *object)
{
    object->type += WIDER_HEADER_BYTES;
    object->size += WIDER_HEADER_BYTES;
    object->bytes_data += WIDER_HEADER_BYTES;
    object->text_length += WIDER_HEADER_BYTES;
    object->text_state += WIDER_HEADER_BYTES;
    object->text_ascii_data += WIDER_HEADER_BYTES;
    object->text_compact_data += WIDER_HEADER_BYTES;
    object->text_pointer += WIDER_HEADER_BYTES;
    object->type_dealloc += WIDER_HEADER_BYTES;
}

static void widen_code(struct code_layout *code)
{
    code->file_name += WIDER_HEADER_BYTES;
    code->name += WIDER_HEADER_BYTES;
    code->first_line += WIDER_HEADER_BYTES;
    code->line_table += WIDER_HEADER_BYTES;
    if (code->qualified_name == 0)
        return; /* up to 3.10 */
    code->qualified_name += WIDER_HEADER_BYTES;
    code->first_traceable += WIDER_HEADER_BYTES;
    code->bytecode += WIDER_HEADER_BYTES;
}

static void make_free_threaded(struct python_layout *layout)
{
    widen_objects(&layout->object);
    widen_code(&layout->code);
    layout->is_free_threaded = true;
    if (layout->minor == 13)
        return;
    /* From 3.14: co_tlbc before the bytecode; the state's interned field is a byte of its own. */
    layout->code.copies = layout->code.bytecode;
    layout->code.bytecode += 8;
    layout->object.text_kind_shift = 8;
    layout->object.text_compact_bit = 0x800;
    layout->object.text_ascii_bit = 0x1000;
    layout->frame = frame_layout_of(layout->minor == 14 ? FRAMES_3_14T : FRAMES_3_15T);
}

static void make_trace_refs(struct python_layout *layout)
{
    widen_objects(&layout->object);
    widen_code(&layout->code);
    if (layout->minor > 10)
        return; /* frames are no objects any more */
    layout->frame.previous += WIDER_HEADER_BYTES;
    layout->frame.code += WIDER_HEADER_BYTES;
    layout->frame.instruction += WIDER_HEADER_BYTES;
}

bool layout_table_find(unsigned minor, bool is_free_threaded, bool has_trace_refs,
                       struct python_layout *ret_layout)
{
    const struct layout_row *row;

    if (minor < LAYOUT_MINOR_FIRST || minor > LAYOUT_MINOR_LAST)
        return false;
    if (is_free_threaded && minor < 13)
        return false;
    row = &rows[minor - LAYOUT_MINOR_FIRST];
    *ret_layout = (struct python_layout){
        .frame = frame_layout_of(row->family),
        .code = row->code,
        .object = object_layout_of(minor),
        .runtime = row->runtime,
        .minor = (uint8_t)minor,
        .line_table = (uint8_t)row->line_table,
    };
    if (is_free_threaded)
        make_free_threaded(ret_layout);
    else if (has_trace_refs && minor <= 12)
        make_trace_refs(ret_layout);
    return true;
}

enum frame_family layout_table_family(const struct frame_layout *layout)
{
    for (enum frame_family family = 0; family < FRAMES_COUNT; family++) {
        struct frame_layout known = frame_layout_of(family);

        if (memcmp(&known, layout, sizeof(known)) == 0)
            return family;
    }
    return FRAMES_COUNT;
}

_Static_assert(sizeof(rows) / sizeof(rows[0]) == LAYOUT_MINOR_LAST - LAYOUT_MINOR_FIRST + 1,
               "a row for each minor version");
_Static_assert(sizeof(struct frame_layout) == 13 * sizeof(uint16_t), "no padding");
