/*
 * Functions, lines and inlined functions from debugging information.
 *
 * Everything that is asked for is found in one go: each compilation unit that has one of the addresses
 * is walked through once, and its line table read once. Without libdw nothing is found.
 */
#ifndef SYMBOL_DWARF_PLACES_H
#define SYMBOL_DWARF_PLACES_H

#include "base/memory.h"
#include "symbol/demangle.h"
#include "symbol/elf_image.h"
#include "symbol/lookup.h"
#include "symbol/native.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one address, innermost first. */
struct dwarf_places {
    struct native_place *places; /* the pool's; function NULL in the last one: not known */
    uint32_t count;              /* 0: nothing is known */
    bool is_short;               /* the last one's name lacks what it is a member of */
};

/* What is asked for. */
struct dwarf_question {
    const struct elf_image *file; /* with the debugging information; has a descriptor */
    const struct elf_image *code; /* with the segments */
    const struct lookup *lookup;
    struct memory_pool *pool;
    struct demangler *demangler;
};

/*
 * Find the places of all addresses.
 * places: as lookup->addresses, all zero. Texts in them live until the process ends, which must be one
 * for this alone: the file may make libdw crash, or take very long.
 * Returns false when there is no debugging information that can be read. Context: tool.
 */
bool dwarf_places_find(const struct dwarf_question *question, struct dwarf_places *places);

/* Return whether debugging information can be read at all. Context: any thread. */
bool dwarf_places_is_built_in(void);

#endif
