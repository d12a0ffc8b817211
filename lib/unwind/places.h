/*
 * Places: what the reader is told of an address, and which object it lies in.
 *
 * One table for all threads, as that of rows; but a forked child begins with none, as what its parent
 * has announced is not its own.
 */
#ifndef UNWIND_PLACES_H
#define UNWIND_PLACES_H

#include "base/announcer.h"
#include "base/arch.h"

#include <memtrack/protocol.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * bits 0-46 the address, 47 it is the evaluation loop's, 48 it is known whether it is, 49-63 number of its
 * module. 0: not known. An address that lies in no module, as that of generated code, is never known.
 */
typedef uint64_t unwind_place;

#define PLACE_ADDRESS_BITS 47
#define PLACE_ADDRESS_MASK ((UINT64_C(1) << PLACE_ADDRESS_BITS) - 1)
#define PLACE_IS_EVAL      (UINT64_C(1) << 47)
#define PLACE_IS_SURE      (UINT64_C(1) << 48)
#define PLACE_MODULE_SHIFT 49

enum {
    PLACES_COUNT_BITS = 15,
    PLACES_MODULES = 1 << 15,
};

/* A loaded object that has been announced. */
struct place_module {
    _Atomic uintptr_t bias;
    const void *_Atomic identity; /* the loader's; NULL: it is gone, or being filled in */
};

/* Of this process; NULL before places_prepare(), and where there was no memory. */
struct places {
    _Atomic uint64_t table[1 << PLACES_COUNT_BITS];
    struct place_module modules[PLACES_MODULES]; /* the first is none */
    _Atomic uint32_t module_count;               /* given out, the first not counted */
};

extern struct places *places __attribute__((visibility("hidden")));

/* Get the memory. Returns false when there is none. Context: start-up. */
bool places_prepare(void);

/*
 * Find out what an address is, and remember it; announce its object if that has not been met.
 * code: what the object is looked up by: within the instruction that the address is of or behind.
 * Returns 0 when it lies in no object or could not be announced. Context: hot path (slow paths only).
 */
unwind_place places_miss(uintptr_t address, uintptr_t code, const struct announcer *announcer)
    __attribute__((noinline));

/* Return what is known of an address. is_exact: as in struct unwind_state. Context: hot path. */
static inline unwind_place places_get(uintptr_t address, bool is_exact,
                                      const struct announcer *announcer)
{
    size_t at = address & ((1u << PLACES_COUNT_BITS) - 1);
    /* Acquire: with a module's number its bias is seen. */
    uint64_t place = atomic_load_explicit(&places->table[at], memory_order_acquire);

    if (likely((place & PLACE_ADDRESS_MASK) == address))
        return place;
    return places_miss(address, address - !is_exact, announcer);
}

/* Note whether an address is the evaluation loop's, now that it is known. Context: hot path (slow paths only). */
void places_note_eval(unwind_place place, bool is_eval);

/* Return the frame that the reader gets. Context: hot path. */
static inline uint64_t places_frame(unwind_place place, uintptr_t address, bool is_exact)
{
    uint64_t module = place >> PLACE_MODULE_SHIFT, frame;

    if (unlikely(place == 0))
        return NATIVE_ABSOLUTE | (address & (NATIVE_EXACT - 1));
    frame = module << NATIVE_MODULE_SHIFT |
            (address - atomic_load_explicit(&places->modules[module].bias, memory_order_relaxed));
    if ((place & PLACE_IS_EVAL) != 0)
        frame |= NATIVE_EVAL;
    return is_exact ? frame | NATIVE_EXACT : frame;
}

/*
 * The loader frees something: if it is what it knew of an object that was met, that one is gone.
 * Context: any thread, before the memory is released.
 */
void places_note_free(const void *block);

/* Memory of the table, as far as it may be in use. Context: any thread. */
uint64_t places_memory_bytes(void);

#endif
