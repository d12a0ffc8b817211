/*
 * The interpreter's allocator tables, and wrappers in them.
 *
 * CPython allocates through three tables of functions: raw, mem and object (Include/cpython/pymem.h).
 * A wrapper is put in by exchanging a function, never the context that stands beside it: whatever
 * function a thread has just loaded fits the context it loads next, so that no GIL and no lock is
 * needed, at any time. A wrapper calls what stood there before it, with the context it was called
 * with, and is never taken out.
 *
 * Others change the tables as well: PYTHONMALLOC and -X dev fill them anew, debug hooks and
 * tracemalloc put themselves on top. So the tables are looked at again and again, and what has come
 * without a wrapper below it gets one. docs/architecture.md: "Python's allocators".
 */
#ifndef PYTHON_ALLOCATORS_H
#define PYTHON_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct python_runtime;

enum python_domain {
    PYTHON_RAW = 0, /* PYMEM_DOMAIN_RAW and so on: the numbers are CPython's */
    PYTHON_MEM = 1,
    PYTHON_OBJECT = 2,
    PYTHON_DOMAIN_COUNT = 3,
};

enum {
    PYTHON_LAYERS = 4, /* different sets of functions of a domain that can be wrapped */
};

struct python_functions {
    void *(*malloc)(void *context, size_t size_bytes);
    void *(*calloc)(void *context, size_t count, size_t size_bytes);
    void *(*realloc)(void *context, void *block, size_t size_bytes);
    void (*free)(void *context, void *block);
};

/* PyMemAllocatorEx, Include/cpython/pymem.h, the same from 3.5 on. */
struct python_allocator {
    void *context;
    struct python_functions functions;
};

/* What the wrappers of a layer call. Constant once it is filled in, before the wrappers are in use. */
extern struct python_functions python_below[PYTHON_DOMAIN_COUNT][PYTHON_LAYERS];

/* The function that maps pymalloc's arenas; 0: not known. Constant once an interpreter is found. */
extern uintptr_t python_arena_map;

enum {
    PYTHON_ARENA_BYTES =
        256 * 1024,               /* up to 3.9; 1 MiB from 3.10 on, 2 with huge pages from 3.15 */
    PYTHON_ARENA_MAP_BYTES = 256, /* code of that function, at most */
};

/*
 * Whether a map is one of pymalloc's arenas. The chunks that frames lie in are mapped by the same
 * function, but are smaller.
 * caller: the return address of the call of mmap().
 * Context: hot path.
 */
static inline bool python_maps_arena(const void *caller, size_t size_bytes)
{
    return python_arena_map != 0 && (uintptr_t)caller - python_arena_map < PYTHON_ARENA_MAP_BYTES &&
           size_bytes >= PYTHON_ARENA_BYTES && size_bytes % PYTHON_ARENA_BYTES == 0;
}

/*
 * Say which functions wrap the interpreter's.
 * wrappers: one for each layer of each domain, all different; theirs is python_below of the same
 * place. Constant from now on.
 * Context: start-up.
 */
void python_offer_wrappers(
    const struct python_functions (*wrappers)[PYTHON_DOMAIN_COUNT][PYTHON_LAYERS]);

/* Note where a found interpreter has its tables. Context: as python_find_runtime(); once. */
void python_know_allocators(const struct python_runtime *runtime);

/*
 * Return which allocator its objects come from now: enum python_flag of PYTHON_DEBUG_HOOKS on, as far as
 * it is known. Context: hot path.
 */
unsigned python_allocator_flags(void);

/* Whether the interpreter that was found has no GIL. Context: as python_find_runtime(). */
bool python_is_free_threaded(void);

/*
 * Wrap the tables of the interpreter that was found, from now on.
 * Returns false when there are no wrappers, or when the tables have not been found.
 * Context: as python_find_runtime().
 */
bool python_trace_allocators(void);

/* True from then on. */
extern bool python_traces_allocators;

/* Wrap what has come into the tables; the slow half of python_keep_allocators(). */
void python_wrap_allocators(void);

/*
 * See to it that the tables are wrapped, if they are to be. Cheap.
 * Context: hot path (slow paths only).
 */
static inline void python_keep_allocators(void)
{
    if (__builtin_expect(python_traces_allocators, false))
        python_wrap_allocators();
}

#endif
