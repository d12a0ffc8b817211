/*
 * The interpreter of this process: where it is, what it is, how it lies in memory.
 *
 * Found once, at start-up or when a library has come later, and constant from then on. One
 * interpreter library a process is followed, with all its subinterpreters; of a second one nothing
 * is seen.
 */
#ifndef PYTHON_RUNTIME_H
#define PYTHON_RUNTIME_H

#include "python/layout.h"
#include "python/load.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PYTHON_TEXT_BYTES = 256,
    PYTHON_DATA_RANGES = 8,
};

/* PyObjectArenaAllocator, Include/cpython/objimpl.h. */
struct arena_allocator {
    void *context;
    void *(*allocate)(void *context, size_t size_bytes);
    void (*free)(void *context, void *range, size_t size_bytes);
};

struct address_range {
    uintptr_t start, end;
};

struct python_allocator;

struct python_runtime {
    void *(*thread_state)(void);   /* PyGILState_GetThisThreadState */
    void *(*attached_state)(void); /* from 3.12: PyThreadState_GetUnchecked, else NULL */
    intptr_t attached_distance;    /* of what it returns, from the thread pointer; 0: not known */
    /* PyObject_GetArenaAllocator, where there are chunks of frames (layout.frame.chunk); else NULL. */
    void (*arena_allocator)(struct arena_allocator *ret_allocator);
    /* The same, and PyMem_GetAllocator and PyMem_SetAllocator, wherever they are exported. */
    void (*get_arena_allocator)(struct arena_allocator *ret_allocator);
    void (*get_allocator)(int domain, struct python_allocator *ret_allocator);
    void (*set_allocator)(int domain, const struct python_allocator *allocator);
    bool is_initial;      /* it was there when the program started */
    bool keeps_chunk;     /* one chunk that is done with may wait for the next call */
    uintptr_t host_start; /* the library that the interpreter is in */
    uintptr_t host_end;
    struct address_range code; /* of the host */
    /* Its variables, and the program's where some have been moved there; empty ones behind them. */
    struct address_range data[PYTHON_DATA_RANGES];
    uintptr_t address;       /* &_PyRuntime */
    uintptr_t code_type;     /* &PyCode_Type */
    uintptr_t eval_function; /* _PyEval_EvalFrameDefault, up to 3.9; else 0 */
    uint32_t version;        /* as PY_VERSION_HEX */
    struct python_layout layout;
    char text[PYTHON_TEXT_BYTES]; /* of Py_GetVersion(), cut to fit, NUL-terminated */
};

/* Context: any thread. */
static inline bool range_has(const struct address_range *range, uintptr_t address)
{
    return address - range->start < range->end - range->start;
}

/* What was wrong with an interpreter that was found and is not followed. */
enum python_refusal {
    REFUSAL_NONE = 0,
    REFUSAL_PYPY,        /* another implementation */
    REFUSAL_VERSION,     /* older than 3.8, newer than the table, alpha or beta */
    REFUSAL_DESCRIPTION, /* its _Py_DebugOffsets are not what its version should have */
    REFUSAL_SYMBOLS,     /* it does not export what we need */
    REFUSAL_COUNT,
};

/*
 * Look through the loaded libraries for an interpreter.
 * ret_runtime: filled in only when one is found whose layout is known.
 * Returns REFUSAL_NONE with *ret_is_found false when there is no interpreter, or when no library has
 * come since the last search.
 * Context: start-up, or any thread outside the loader's lock; one thread at a time.
 */
enum python_refusal runtime_search(struct python_runtime *ret_runtime, bool *ret_is_found);

/*
 * Choose the layout of an interpreter. The one place where versions are told apart.
 * has_trace_refs: as for layout_table_find().
 * debug_offsets: start of _PyRuntime; looked at from 3.13 on.
 * Context: start-up.
 */
enum python_refusal runtime_choose_layout(uint32_t version, bool has_trace_refs,
                                          const void *debug_offsets,
                                          struct python_layout *ret_layout);

/*
 * Up to 3.11: return the state that the calling thread uses now, which with several interpreters may
 * be another than the first one it had.
 * Context: hot path.
 */
uintptr_t runtime_state_in_use(const struct python_runtime *runtime, uintptr_t state);

/*
 * Return the thread state of the calling thread, 0 when Python does not know it or is going away.
 * Context: hot path.
 */
static inline uintptr_t runtime_thread_state(const struct python_runtime *runtime)
{
    uintptr_t state = (uintptr_t)runtime->thread_state();
    uintptr_t finalizing;

    if (state == 0)
        return 0;
    /* Whoever ends the interpreter frees the other threads' states and stacks under them. */
    finalizing = load_word(runtime->address, runtime->layout.runtime.finalizing);
    if (finalizing != 0 && finalizing != state)
        return 0;
    if (runtime->layout.runtime.current_state != 0)
        state = runtime_state_in_use(runtime, state);
    return state;
}

/*
 * Returns true when chunks of frames are the interpreter's own maps, which it unmaps when their
 * first frame has returned, or keeps one of each thread (Python/pystate.c, datastack_cached_chunk):
 * unless somebody has put in an allocator of his own.
 * Context: hot path.
 */
static inline bool runtime_unmaps_chunks(const struct python_runtime *runtime)
{
    struct arena_allocator allocator;

    if (runtime->arena_allocator == NULL)
        return false;
    runtime->arena_allocator(&allocator);
    return (uintptr_t)allocator.free >= runtime->host_start &&
           (uintptr_t)allocator.free < runtime->host_end;
}

/*
 * Returns true when the library has come since the last search that lets a thread have several stacks
 * of frames (greenlet).
 * Context: as runtime_search().
 */
bool runtime_find_greenlet(void);

/*
 * Make the walkers follow this interpreter (walk.c). Tests give one of their own making.
 * runtime: copied.
 * Context: start-up, or any thread; once.
 */
void python_walk_follow(const struct python_runtime *runtime);

#endif
