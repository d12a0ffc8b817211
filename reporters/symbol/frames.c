/*
 * Nodes to frames. Runs in the tools; not thread-safe.
 *
 * What holds: a node is resolved once, whoever asks for it and however often.
 */
#include "symbol/frames.h"

#include "base/memory.h"
#include "memtrack/protocol.h"
#include "symbol/frame_table.h"
#include "symbol/native_frames.h"
#include "symbol/python_lines.h"

#include <stdlib.h>
#include <string.h>

#define NOT_YET UINT32_MAX

/* What of a code object does not depend on the instruction; made when first used. */
struct code_names {
    uint32_t function, file; /* in names; NOT_YET */
    bool is_runtime;
};

struct frames {
    const struct capture *capture;
    struct frame_table table;
    struct native_frames *natives;
    struct code_names *codes; /* capture->code_count */
    uint32_t *node_frames;    /* capture->node_count; NOT_YET */
    bool parts_columns;
};

static bool ends_with(const struct capture_text *text, const char *end)
{
    size_t length = strlen(end);

    return text->length_bytes >= length &&
           memcmp(text->text + text->length_bytes - length, end, length) == 0;
}

/* Whether a file of the standard library: the folder before `path` is python3.13, python313.zip. */
static bool is_library_file(const struct capture_text *file, const char *path)
{
    const char *folder, *end;

    if (!ends_with(file, path))
        return false;
    end = file->text + file->length_bytes - strlen(path);
    for (folder = end; folder > file->text && folder[-1] != '/'; folder--)
        ;
    return strncmp(folder, "python3", 7) == 0;
}

/* How Python imports and starts modules; every program has these frames above its own. */
static bool is_runtime_file(const struct capture_text *file)
{
    static const char *const frozen[] = {"<frozen importlib", "<frozen zipimport", "<frozen runpy"};
    static const char *const library[] = {"/importlib/__init__.py", "/importlib/_bootstrap.py",
                                          "/importlib/_bootstrap_external.py", "/runpy.py",
                                          "/zipimport.py"};

    for (size_t i = 0; i < sizeof(frozen) / sizeof(frozen[0]); i++) {
        if (strncmp(file->text, frozen[i], strlen(frozen[i])) == 0)
            return true;
    }
    for (size_t i = 0; i < sizeof(library) / sizeof(library[0]); i++) {
        if (is_library_file(file, library[i]))
            return true;
    }
    return false;
}

static const struct code_names *names_of_code(struct frames *frames, uint32_t code_number)
{
    const struct capture_code *code = &frames->capture->codes[code_number];
    struct code_names *names = &frames->codes[code_number];

    if (names->function == NOT_YET) {
        names->function =
            frame_table_name(&frames->table, code->name.text, code->name.length_bytes);
        names->file = frame_table_name(&frames->table, code->file.text, code->file.length_bytes);
        names->is_runtime = is_runtime_file(&code->file);
    }
    return names;
}

static uint32_t resolve(struct frames *frames, const struct capture_node *node)
{
    const struct capture_code *code = &frames->capture->codes[node->code];
    const struct code_names *names;
    struct python_position position;
    struct frame model;
    struct frame_key key;

    if (node->code == 0)
        return frame_table_special(&frames->table, frame_special_name(node->offset));
    names = names_of_code(frames, node->code);
    position = python_lines_find(code, node->offset);
    key = (struct frame_key){
        .function = names->function,
        .file = names->file,
        .line = position.line,
        .column = frames->parts_columns ? position.column : 0,
        .kind = FRAME_PYTHON,
        .is_hidden = (code->flags & CODE_HIDDEN) != 0,
        .is_runtime = names->is_runtime,
    };
    model = (struct frame){
        .column = position.column,
        .first_line = code->first_line > 0 ? (uint32_t)code->first_line : 0,
    };
    return frame_table_intern(&frames->table, &key, &model);
}

struct frames *frames_create(const struct capture *capture)
{
    struct frames *frames = memory_allocate(1, sizeof(*frames));

    frames->capture = capture;
    frames->codes = memory_allocate(capture->code_count, sizeof(frames->codes[0]));
    frames->node_frames = memory_allocate(capture->node_count, sizeof(frames->node_frames[0]));
    for (uint32_t i = 0; i < capture->code_count; i++)
        frames->codes[i].function = NOT_YET;
    for (uint32_t i = 0; i < capture->node_count; i++)
        frames->node_frames[i] = NOT_YET;
    frames->natives = native_frames_create(capture, &frames->table);
    return frames;
}

void frames_part_columns(struct frames *frames)
{
    frames->parts_columns = true;
}

void frames_destroy(struct frames *frames)
{
    if (frames == NULL)
        return;
    frame_table_finish(&frames->table);
    native_frames_destroy(frames->natives);
    free(frames->codes);
    free(frames->node_frames);
    free(frames);
}

uint32_t frames_of_node(struct frames *frames, uint32_t node)
{
    /* A capture without any node has no entry 0 to remember it in. */
    if (node == 0)
        return frame_table_special(&frames->table, "[no Python stack]");
    if (frames->node_frames[node] == NOT_YET)
        frames->node_frames[node] = resolve(frames, &frames->capture->nodes[node]);
    return frames->node_frames[node];
}

uint32_t frames_of_interpreter(struct frames *frames)
{
    return frame_table_special(&frames->table, "[interpreter]");
}

uint32_t frames_of_start(struct frames *frames)
{
    return frame_table_special(&frames->table, "[C runtime]");
}

void frames_prepare_native(struct frames *frames, const uint32_t *native_nodes, size_t count)
{
    native_frames_prepare(frames->natives, native_nodes, count);
}

uint32_t frames_of_native(struct frames *frames, uint32_t native_node, const uint32_t **ret_frames)
{
    return native_frames_of_node(frames->natives, native_node, frames->parts_columns, ret_frames);
}

struct native_symbols *frames_symbols(struct frames *frames)
{
    return native_frames_symbols(frames->natives);
}

uint32_t frames_native_parent(const struct frames *frames, uint32_t native_node)
{
    return native_frames_parent(frames->natives, native_node);
}

bool frames_is_interpreter(const struct frames *frames, uint32_t native_node)
{
    return native_frames_is_interpreter(frames->natives, native_node);
}

const struct frame *frames_get(const struct frames *frames, uint32_t id)
{
    return frames->table.entries[id].frame;
}

uint32_t frames_count(const struct frames *frames)
{
    return (uint32_t)frames->table.count;
}

void frames_line_of_code(const struct capture_code *code, int32_t offset, uint32_t *ret_line,
                         uint32_t *ret_column, uint32_t *ret_end_column)
{
    struct python_position position = python_lines_find(code, offset);

    if (ret_line != NULL)
        *ret_line = position.line;
    if (ret_column != NULL)
        *ret_column = position.column;
    if (ret_end_column != NULL)
        *ret_end_column = position.end_column;
}
