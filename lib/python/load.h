/*
 * Loads from the interpreter's memory, whose types we do not know.
 *
 * Relaxed atomics: they keep the compiler from taking one load for another where a check stands
 * between them, and in a free-threaded interpreter other threads may write beside what we read. The
 * fields that decide belong to frames of the calling thread; nothing is published through them.
 */
#ifndef PYTHON_LOAD_H
#define PYTHON_LOAD_H

#include <stddef.h>
#include <stdint.h>

/* Return the field of this width at an offset from an address. Context: hot path. */
static inline __attribute__((always_inline)) uintptr_t load_word(uintptr_t base, size_t offset)
{
    return __atomic_load_n((const uintptr_t *)(base + offset), __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) uint32_t load_u32(uintptr_t base, size_t offset)
{
    return __atomic_load_n((const uint32_t *)(base + offset), __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) uint16_t load_u16(uintptr_t base, size_t offset)
{
    return __atomic_load_n((const uint16_t *)(base + offset), __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) uint8_t load_u8(uintptr_t base, size_t offset)
{
    return __atomic_load_n((const uint8_t *)(base + offset), __ATOMIC_RELAXED);
}

/*
 * Return the same value, in a copy of which the compiler knows nothing. After a check that the value
 * equals another it would go on with the other, and wait for it. Context: hot path.
 */
static inline __attribute__((always_inline)) uintptr_t load_as_predicted(uintptr_t value)
{
    __asm__("" : "+r"(value));
    return value;
}

/* Store a word there. Context: hot path. */
static inline void store_word(uintptr_t base, size_t offset, uintptr_t value)
{
    __atomic_store_n((uintptr_t *)(base + offset), value, __ATOMIC_RELAXED);
}

#endif
