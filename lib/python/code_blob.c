/*
 * Reading a code object: strings in any of CPython's forms to UTF-8, the line table as it is.
 *
 * Runs in the program's threads, inside their malloc. A length is taken once, when the blob is
 * measured, and writing keeps to it: whatever the object holds, the buffer is not overrun.
 */
#include "python/code_blob.h"

#include "python/load.h"

#include <memtrack/protocol.h>
#include <string.h>

enum {
    CODE_POINT_MAX_BYTES = 4,
};

/* A str object's characters. */
struct text {
    uintptr_t data;
    size_t length;       /* characters */
    unsigned char_bytes; /* 1, 2 or 4 */
};

static struct text text_of(const struct object_layout *layout, uintptr_t object)
{
    struct text text = {0};
    uint32_t state;

    if (object == 0)
        return text;
    state = load_u32(object, layout->text_state);
    text.char_bytes = state >> layout->text_kind_shift & 7;
    if (text.char_bytes != 1 && text.char_bytes != 2 && text.char_bytes != 4)
        return (struct text){0}; /* up to 3.11: a string that is not ready; names always are */
    text.length = load_word(object, layout->text_length);
    if ((state & layout->text_compact_bit) == 0)
        text.data = load_word(object, layout->text_pointer);
    else if ((state & layout->text_ascii_bit) != 0)
        text.data = object + layout->text_ascii_data;
    else
        text.data = object + layout->text_compact_data;
    return text;
}

static uint32_t text_at(const struct text *text, size_t i)
{
    if (text->char_bytes == 1)
        return load_u8(text->data, i);
    if (text->char_bytes == 2)
        return load_u16(text->data, 2 * i);
    return load_u32(text->data, 4 * i);
}

/* Write one code point, surrogates like any other (WTF-8). Returns its bytes. */
static unsigned encode(uint32_t point, uint8_t bytes[CODE_POINT_MAX_BYTES])
{
    if (point < 0x80) {
        bytes[0] = (uint8_t)point;
        return 1;
    }
    if (point < 0x800) {
        bytes[0] = (uint8_t)(0xc0 | point >> 6);
        bytes[1] = (uint8_t)(0x80 | (point & 0x3f));
        return 2;
    }
    if (point < 0x10000) {
        bytes[0] = (uint8_t)(0xe0 | point >> 12);
        bytes[1] = (uint8_t)(0x80 | (point >> 6 & 0x3f));
        bytes[2] = (uint8_t)(0x80 | (point & 0x3f));
        return 3;
    }
    bytes[0] = (uint8_t)(0xf0 | (point >> 18 & 7));
    bytes[1] = (uint8_t)(0x80 | (point >> 12 & 0x3f));
    bytes[2] = (uint8_t)(0x80 | (point >> 6 & 0x3f));
    bytes[3] = (uint8_t)(0x80 | (point & 0x3f));
    return 4;
}

/*
 * Write at most limit_bytes of a text as UTF-8, whole characters only.
 * bytes: NULL to count only. Returns the bytes.
 */
static uint32_t text_encode(const struct text *text, uint8_t *bytes, uint32_t limit_bytes)
{
    uint32_t count = 0;

    for (size_t i = 0; i < text->length; i++) {
        uint8_t point[CODE_POINT_MAX_BYTES];
        unsigned point_bytes = encode(text_at(text, i), point);

        if (point_bytes > limit_bytes - count)
            break;
        if (bytes != NULL)
            memcpy(bytes + count, point, point_bytes);
        count += point_bytes;
    }
    return count;
}

static struct text file_name_of(const struct python_layout *layout, uintptr_t code)
{
    return text_of(&layout->object, load_word(code, layout->code.file_name));
}

static struct text name_of(const struct python_layout *layout, uintptr_t code)
{
    uint16_t field = layout->code.qualified_name;

    return text_of(&layout->object, load_word(code, field != 0 ? field : layout->code.name));
}

/* Take room in the blob for this many bytes, or for what is left. Returns what was taken. */
static uint32_t take(struct code_blob *blob, size_t wanted_bytes)
{
    uint32_t room = BLOB_MAX_BYTES - blob->total_bytes;

    if (wanted_bytes > room) {
        blob->is_cut = true;
        wanted_bytes = room;
    }
    blob->total_bytes += (uint32_t)wanted_bytes;
    return (uint32_t)wanted_bytes;
}

static uint32_t take_text(struct code_blob *blob, struct text text)
{
    uint32_t room = BLOB_MAX_BYTES - blob->total_bytes;
    uint32_t bytes = text_encode(&text, NULL, room);

    /* A text that fills the room to the last character may go on behind it. */
    if (room - bytes < CODE_POINT_MAX_BYTES)
        blob->is_cut = true;
    return take(blob, bytes);
}

struct code_blob code_blob_measure(const struct python_layout *layout, uintptr_t code)
{
    struct code_blob blob = {.code = code, .total_bytes = BLOB_CODE_HEADER_BYTES};
    uintptr_t table = load_word(code, layout->code.line_table);

    blob.file_name_bytes = take_text(&blob, file_name_of(layout, code));
    blob.name_bytes = take_text(&blob, name_of(layout, code));
    /* Its entries stand in the order of the code: what lies behind a cut has no lines. */
    blob.line_table_bytes = take(&blob, table != 0 ? load_word(table, layout->object.size) : 0);
    return blob;
}

/* A shim of the interpreter has no line of its own: none of its instructions is traceable. */
static bool is_hidden(const struct python_layout *layout, uintptr_t code)
{
    if (layout->code.first_traceable == 0)
        return false;
    return load_u32(code, layout->code.first_traceable) >= load_word(code, layout->object.size);
}

void code_blob_write(const struct python_layout *layout, const struct code_blob *blob, uint32_t id,
                     uint8_t *bytes)
{
    struct text file_name = file_name_of(layout, blob->code);
    struct text name = name_of(layout, blob->code);
    uintptr_t table = load_word(blob->code, layout->code.line_table);
    uint32_t first_line = load_u32(blob->code, layout->code.first_line);
    uint8_t *at = bytes + BLOB_CODE_HEADER_BYTES;

    memcpy(bytes, &id, 4);
    memcpy(bytes + 4, &first_line, 4);
    bytes[8] = layout->line_table;
    bytes[9] = is_hidden(layout, blob->code) ? CODE_HIDDEN : 0;
    bytes[10] = 0;
    bytes[11] = 0;
    memcpy(bytes + 12, &blob->file_name_bytes, 4);
    memcpy(bytes + 16, &blob->name_bytes, 4);
    memcpy(bytes + 20, &blob->line_table_bytes, 4);
    text_encode(&file_name, at, blob->file_name_bytes);
    at += blob->file_name_bytes;
    text_encode(&name, at, blob->name_bytes);
    at += blob->name_bytes;
    if (blob->line_table_bytes != 0)
        memcpy(at, (const void *)(table + layout->object.bytes_data), blob->line_table_bytes);
}

uint32_t code_blob_text(const struct object_layout *layout, uintptr_t object, uint8_t *bytes,
                        uint32_t limit_bytes)
{
    struct text text = text_of(layout, object);

    return text_encode(&text, bytes, limit_bytes);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "blobs are little-endian");
