/*
 * Which id stands for which code object, and the announcement of new ones.
 *
 * Runs in the program's threads, inside their malloc, and in the interpreter's release of code
 * objects. An id is given once in the life of a process image and never again. Code is looked up
 * only while a frame that executes it is alive, so the object cannot go away, nor its entry.
 *
 * The table lies in memory that a forked child finds empty: it announces again, with new ids.
 */
#ifndef PYTHON_CODE_NAMES_H
#define PYTHON_CODE_NAMES_H

#include "python/runtime.h"
#include "python/walk.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
    CODE_ID_NONE = 0,
    CODE_ID_MAX = 0x7fffffff, /* 31 bits, as in a frame */
    GENERATION_NONE = 0,      /* what code_names_generation() never returns */
};

/* Code objects released that had an id, times two, plus 1; code_names_generation() reads it. */
extern _Atomic uint32_t code_names_releases __attribute__((visibility("hidden")));

/*
 * Watch for code objects that are released: from now on a stale entry is never found.
 * runtime: lives as long as the process; its code type's tp_dealloc is replaced by one that calls
 * it.
 * Context: start-up, or any thread; once.
 */
void code_names_watch(const struct python_runtime *runtime);

/*
 * Return the id of a code object, announced now when it is new. CODE_ID_NONE when it is not a code
 * object, or could not be announced or remembered; the latter is counted.
 * code: executed by a live frame of the calling thread.
 * Context: hot path.
 */
uint32_t code_names_get(const struct python_runtime *runtime, uintptr_t code,
                        const struct announcer *announcer);

/* Return the id of a code object that has one, else CODE_ID_NONE. Context: hot path. */
uint32_t code_names_find(uintptr_t code);

/*
 * Return a number that changes when a code object that had an id has been released: what was kept by
 * its address may then stand for another. Context: hot path.
 */
static inline uint32_t code_names_generation(void)
{
    return atomic_load_explicit(&code_names_releases, memory_order_relaxed);
}

/* Names that could not be announced or remembered so far. Context: any thread. */
uint64_t code_names_lost(void);

/* Memory mapped for the tables of names. Context: any thread. */
uint64_t code_names_memory_bytes(void);

#endif
