/*
 * Frames with names: each node of the capture's tries resolved to function, file and line, once.
 *
 * Frames with equal function, file, line and kind are one frame, whatever code object or
 * instruction they came from; so reports add them up. Equal texts of two frames are the same pointer.
 */
#ifndef SYMBOL_FRAMES_H
#define SYMBOL_FRAMES_H

#include "capture/capture.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_kind {
    FRAME_PYTHON = 0,
    FRAME_NATIVE = 1,
    FRAME_INLINED = 2,
    FRAME_SPECIAL = 3, /* [signal handler], [truncated], ... */
};

struct frame {
    const char *function; /* qualified name; never NULL. As recorded: may hold any character */
    const char *file;     /* "" when there is none */
    const char *module;   /* of native code: "libfoo.so.1"; NULL when there is none */
    uint32_t line;        /* 0: none */
    uint32_t column;      /* 1-based; 0: none, or not the same in all nodes seen */
    uint32_t first_line;  /* of the function */
    uint8_t kind;         /* enum frame_kind */
    bool is_hidden;       /* an interpreter shim: never shown */
    bool is_runtime; /* importlib, runpy, code of the interpreter, what is before main() and what
                             hands out memory: shown with --show-runtime */
};

struct frames;
struct native_symbols;

/* Resolve on demand. capture: must outlive it. Context: tool. */
struct frames *frames_create(const struct capture *capture);

/*
 * From now on places of one line but different columns are different frames, for reports of single
 * events; by itself a line is one place, as people count them. Call it before anything is resolved.
 * Context: tool.
 */
void frames_part_columns(struct frames *frames);

/* Give it back; NULL is allowed. Context: tool. */
void frames_destroy(struct frames *frames);

/*
 * Return the frame id of a Python node: a number from 0, dense.
 * node: 0 .. node_count - 1; 0 is a special frame, [no Python stack]. Context: tool.
 */
uint32_t frames_of_node(struct frames *frames, uint32_t node);

/*
 * Return the frame id of [interpreter]: stands for a stack whose frames are all hidden, so that its
 * bytes are not lost. Context: tool.
 */
uint32_t frames_of_interpreter(struct frames *frames);

/*
 * Return the frame id of [C runtime]: stands for a stack without Python whose frames are all hidden.
 * Context: tool.
 */
uint32_t frames_of_start(struct frames *frames);

/*
 * Say which native nodes will be asked for: their names, and those of the frames above them, are found
 * all at once, which takes far less time than one by one. May be called again. Without it all native
 * frames of the capture are looked up when the first one is asked for.
 * native_nodes: in any order, 0 and repeated ones are passed over. Context: tool.
 */
void frames_prepare_native(struct frames *frames, const uint32_t *native_nodes, size_t count);

/*
 * Return how many frames a native node has, 1 or more: functions may be inlined into each other.
 * native_node: 1 .. native_node_count - 1. ret_frames: their ids, outermost first; valid until the
 * next call. Context: tool.
 */
uint32_t frames_of_native(struct frames *frames, uint32_t native_node, const uint32_t **ret_frames);

/*
 * Return the native node outside of another, or 0: what there is besides is no frame, but that the
 * unwinder could not go beyond where the program begins. Context: tool.
 */
uint32_t frames_native_parent(const struct frames *frames, uint32_t native_node);

/* Return whether a native node lies in the code of an interpreter of Python. Context: tool. */
bool frames_is_interpreter(const struct frames *frames, uint32_t native_node);

/* Return where native frames have their names from; lives as long as the frames. Context: tool. */
struct native_symbols *frames_symbols(struct frames *frames);

/* Return a frame by id; valid until frames_destroy(). Context: tool. */
const struct frame *frames_get(const struct frames *frames, uint32_t id);

/* Return how many frame ids there are so far. Context: tool. */
uint32_t frames_count(const struct frames *frames);

/*
 * Return the Python line and columns of an instruction of a code object.
 * ret_line, ret_column, ret_end_column: 0 when there is none; columns count bytes of UTF-8 from 1,
 * the end is the first one behind. Any may be NULL. Context: tool.
 */
void frames_line_of_code(const struct capture_code *code, int32_t offset, uint32_t *ret_line,
                         uint32_t *ret_column, uint32_t *ret_end_column);

#endif
