/*
 * Where things lie in the structures of a CPython: byte offsets, for LP64.
 *
 * Written once, when an interpreter is found, and constant from then on. An offset of 0 says that
 * this version has no such field, but for the four fields that can stand first in their structure:
 * frame.code, frame.cframe_frame, runtime.interpreter_next and (always there) the object header.
 */
#ifndef PYTHON_LAYOUT_H
#define PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* frame_layout.instruction_kind: how a frame says where it is. */
enum instruction_kind {
    INSTRUCTION_BYTES = 0,   /* an int, in bytes: up to 3.9 */
    INSTRUCTION_UNITS = 1,   /* an int, in units of 2 bytes: 3.10 */
    INSTRUCTION_POINTER = 2, /* a pointer into the bytecode: from 3.11 */
};

/*
 * The chain of frames. All members are of one type, so that two layouts are equal when their bytes
 * are. frame: PyFrameObject up to 3.10, _PyInterpreterFrame from 3.11.
 */
struct frame_layout {
    uint16_t state_frame;  /* PyThreadState: running frame, or _PyCFrame where has_cframe */
    uint16_t has_cframe;   /* 3.11 and 3.12 */
    uint16_t cframe_frame; /* _PyCFrame.current_frame */
    uint16_t previous;
    uint16_t code; /* may carry tag bits from 3.13 on */
    uint16_t instruction;
    uint16_t instruction_kind;
    uint16_t owner;     /* a byte; there are boundary frames where this is not 0 */
    uint16_t entry;     /* 3.11: is_entry, a byte */
    uint16_t copy;      /* free-threaded from 3.14: index of the thread's copy of the bytecode */
    uint16_t watermark; /* 3.15: PyThreadState.last_profiled_frame */
    uint16_t watermark_sequence;
    uint16_t chunk; /* 3.11 to 3.14: PyThreadState.datastack_chunk */
};

/* From _frameowner, Include/internal/pycore_frame.h of 3.12 and later. */
enum {
    FRAME_OWNED_BY_THREAD = 0,
    FRAME_OWNED_BY_C_FROM = 3, /* this and above: a frame of the interpreter's own, a boundary */
    FRAME_CODE_TAGS = 3,       /* _PyStackRef tag bits */
};

/* _PyStackChunk, Include/cpython/pystate.h of 3.11 and later: the same in all of them. */
enum {
    CHUNK_PREVIOUS = 0,
    CHUNK_FRAMES = 24,      /* the first frame */
    CHUNK_ROOT_FRAMES = 32, /* the first frame of a chunk without a previous one */
};

/* PyCodeObject. */
struct code_layout {
    uint16_t file_name;
    uint16_t name;
    uint16_t qualified_name; /* from 3.11 */
    uint16_t first_line;
    uint16_t line_table; /* a bytes object */
    uint16_t first_traceable;
    uint16_t bytecode; /* co_code_adaptive, from 3.11 */
    uint16_t copies;   /* co_tlbc, free-threaded from 3.14 */
};

/* PyObject, PyBytesObject, PyUnicodeObject, PyTypeObject. */
struct object_layout {
    uint16_t type;
    uint16_t size; /* ob_size */
    uint16_t bytes_data;
    uint16_t text_length;
    uint16_t text_state;
    uint16_t text_ascii_data;
    uint16_t text_compact_data;
    uint16_t text_pointer; /* PyUnicodeObject.data, of strings that are not compact */
    uint16_t text_kind_shift;
    uint16_t text_compact_bit;
    uint16_t text_ascii_bit;
    uint16_t type_dealloc;
};

/* _PyRuntimeState, PyInterpreterState, PyThreadState. */
struct runtime_layout {
    uint16_t finalizing;
    uint16_t current_state; /* gilstate.tstate_current, up to 3.11 */
    uint16_t interpreters;  /* up to 3.11, as the two below */
    uint16_t interpreter_next;
    uint16_t state_thread;
};

struct python_layout {
    struct frame_layout frame;
    struct code_layout code;
    struct object_layout object;
    struct runtime_layout runtime;
    uint8_t minor;
    uint8_t line_table; /* protocol.h: enum line_table */
    bool is_free_threaded;
};

#endif
