/*
 * Inside the folder: which functions of a compilation unit hold which addresses. With libdw only.
 */
#ifndef SYMBOL_DWARF_SCOPES_H
#define SYMBOL_DWARF_SCOPES_H

#include "symbol/elf_image.h"
#include "symbol/lookup.h"

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#define UNIT_NONE UINT32_MAX

/* A function, or one that was inlined there. */
struct dwarf_scope {
    Dwarf_Die die;
    uint32_t parent;  /* that it was inlined into; 0: it is a function of its own */
    const char *name; /* NULL: not looked for yet, or there is none */
    bool is_named;    /* it was looked for */
    bool is_short;    /* the name lacks what it is a member of, if it is of something */
};

/* A unit's scopes; 0 is none. All zero bytes, and the first four, to begin with. */
struct dwarf_scopes {
    const struct elf_image *code;
    const struct lookup *lookup;
    const uint32_t *units;     /* as lookup->addresses: the unit that each is of */
    uint32_t *innermost;       /* likewise, the scope; all zero at first */
    struct dwarf_scope *items; /* of the unit that was walked through last */
    size_t count, capacity;
};

/*
 * Walk through a unit.
 * unit_die: its root. unit: its number. Context: tool.
 */
void dwarf_scopes_walk(struct dwarf_scopes *scopes, Dwarf_Die *unit_die, uint32_t unit);

#endif
