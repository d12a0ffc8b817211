/*
 * Nodes to frames. Runs in the tools; not thread-safe.
 *
 * What holds: texts are interned first, so a frame's key is four numbers, and a frame once made
 * never moves. A node is resolved once, whoever asks for it and however often.
 */
#include "symbol/frames.h"

#include "base/hash_index.h"
#include "base/memory.h"
#include "memtrack/protocol.h"
#include "symbol/python_lines.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define NOT_YET UINT32_MAX

/* A text of the capture, which owns it. */
struct name {
    const char *text;
    uint32_t length_bytes;
};

struct names {
    struct name *names;
    size_t count, capacity;
    struct hash_index index;
};

/* What of a code object does not depend on the instruction; made when first used. */
struct code_names {
    uint32_t function, file; /* in names; NOT_YET */
    bool is_runtime;
};

struct key {
    uint32_t function, file; /* in names */
    uint32_t line;
    uint32_t column; /* 0 unless frames part by it */
    uint8_t kind;
    bool is_hidden; /* a shim is never added to the function that it stands before */
};

struct entry {
    struct key key;
    struct frame *frame; /* the pool's */
};

struct frames {
    const struct capture *capture;
    struct memory_pool pool;
    struct names names;
    struct code_names *codes; /* capture->code_count */
    uint32_t *node_frames;    /* capture->node_count; NOT_YET */
    struct entry *entries;
    size_t count, capacity;
    struct hash_index index;
    bool parts_columns;
};

/* enum frame_special; later versions may have more. */
static const char *const special_names[] = {
    [SPECIAL_UNKNOWN] = "[unknown]",
    [SPECIAL_TRUNCATED] = "[truncated]",
    [SPECIAL_FINALIZING] = "[interpreter ending]",
    [SPECIAL_SIGNAL_HANDLER] = "[signal handler]",
};

static bool name_equals(const void *items, uint32_t item, const void *key)
{
    const struct name *a = &((const struct name *)items)[item], *b = key;

    return a->length_bytes == b->length_bytes && memcmp(a->text, b->text, a->length_bytes) == 0;
}

static uint32_t intern_name(struct names *names, const char *text, uint32_t length_bytes)
{
    struct name name = {text, length_bytes};
    uint64_t hash = XXH3_64bits(text, length_bytes);
    uint32_t found = hash_index_find(&names->index, hash, name_equals, names->names, &name);

    if (found != HASH_INDEX_NONE)
        return found;
    names->names =
        memory_grow(names->names, &names->capacity, names->count + 1, sizeof(names->names[0]));
    names->names[names->count] = name;
    hash_index_add(&names->index, hash, (uint32_t)names->count);
    return (uint32_t)names->count++;
}

static bool key_equals(const void *items, uint32_t item, const void *key)
{
    const struct key *a = &((const struct entry *)items)[item].key, *b = key;

    return a->function == b->function && a->file == b->file && a->line == b->line &&
           a->column == b->column && a->kind == b->kind && a->is_hidden == b->is_hidden;
}

/* Find a frame by its key, or add one as `model` has it, with the key's names and line. */
static uint32_t intern_frame(struct frames *frames, const struct key *key,
                             const struct frame *model)
{
    uint64_t place = hash_index_mix((uint64_t)key->line << 32 | key->column,
                                    (uint64_t)key->kind << 1 | key->is_hidden);
    uint64_t hash = hash_index_mix((uint64_t)key->function << 32 | key->file, place);
    uint32_t found = hash_index_find(&frames->index, hash, key_equals, frames->entries, key);
    struct frame *frame;

    if (found != HASH_INDEX_NONE) {
        frame = frames->entries[found].frame;
        if (frame->column != model->column)
            frame->column = 0;
        return found;
    }
    frame = memory_pool_allocate(&frames->pool, sizeof(*frame));
    *frame = *model;
    frame->function = frames->names.names[key->function].text;
    frame->file = frames->names.names[key->file].text;
    frame->line = key->line;
    frame->kind = key->kind;
    frame->is_hidden = key->is_hidden;
    frames->entries = memory_grow(frames->entries, &frames->capacity, frames->count + 1,
                                  sizeof(frames->entries[0]));
    frames->entries[frames->count] = (struct entry){*key, frame};
    hash_index_add(&frames->index, hash, (uint32_t)frames->count);
    return (uint32_t)frames->count++;
}

static uint32_t intern_special(struct frames *frames, const char *name)
{
    struct key key = {.kind = FRAME_SPECIAL};

    key.function = intern_name(&frames->names, name, (uint32_t)strlen(name));
    key.file = intern_name(&frames->names, "", 0);
    return intern_frame(frames, &key, &(struct frame){.line = 0});
}

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
        names->function = intern_name(&frames->names, code->name.text, code->name.length_bytes);
        names->file = intern_name(&frames->names, code->file.text, code->file.length_bytes);
        names->is_runtime = is_runtime_file(&code->file);
    }
    return names;
}

static uint32_t resolve_special(struct frames *frames, int32_t offset)
{
    size_t count = sizeof(special_names) / sizeof(special_names[0]);

    if (offset < 0 || (size_t)offset >= count)
        offset = SPECIAL_UNKNOWN;
    return intern_special(frames, special_names[offset]);
}

static uint32_t resolve(struct frames *frames, const struct capture_node *node)
{
    const struct capture_code *code = &frames->capture->codes[node->code];
    const struct code_names *names;
    struct python_position position;
    struct frame model;
    struct key key;

    if (node->code == 0)
        return resolve_special(frames, node->offset);
    names = names_of_code(frames, node->code);
    position = python_lines_find(code, node->offset);
    key = (struct key){
        .function = names->function,
        .file = names->file,
        .line = position.line,
        .column = frames->parts_columns ? position.column : 0,
        .kind = FRAME_PYTHON,
        .is_hidden = (code->flags & CODE_HIDDEN) != 0,
    };
    model = (struct frame){
        .column = position.column,
        .first_line = code->first_line > 0 ? (uint32_t)code->first_line : 0,
        .is_runtime = names->is_runtime,
    };
    return intern_frame(frames, &key, &model);
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
    memory_pool_finish(&frames->pool);
    hash_index_finish(&frames->names.index);
    hash_index_finish(&frames->index);
    free(frames->names.names);
    free(frames->codes);
    free(frames->node_frames);
    free(frames->entries);
    free(frames);
}

uint32_t frames_of_node(struct frames *frames, uint32_t node)
{
    /* A capture without any node has no entry 0 to remember it in. */
    if (node == 0)
        return intern_special(frames, "[no Python stack]");
    if (frames->node_frames[node] == NOT_YET)
        frames->node_frames[node] = resolve(frames, &frames->capture->nodes[node]);
    return frames->node_frames[node];
}

uint32_t frames_of_interpreter(struct frames *frames)
{
    return intern_special(frames, "[interpreter]");
}

const struct frame *frames_get(const struct frames *frames, uint32_t id)
{
    return frames->entries[id].frame;
}

uint32_t frames_count(const struct frames *frames)
{
    return (uint32_t)frames->count;
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
