/*
 * Scopes of addresses. Runs in the tools, in a process of its own.
 *
 * What holds: an address's scopes are nested, each inside the one that it had before. So of functions
 * that share their code the first one is taken, and what is damaged cannot make a chain that is none.
 */
#include "symbol/dwarf_scopes.h"

#include "base/memory.h"

#include <dwarf.h>
#include <stdbool.h>

enum {
    DEPTH_MOST = 512, /* of entries in each other; deeper ones no compiler makes */
};

/* How a kind of entry is gone about. */
enum scope_kind {
    KIND_OTHER = 0, /* nothing in it is code */
    KIND_FUNCTION,
    KIND_INLINED,
    KIND_BLOCK,  /* may be without ranges of its own, then they are those of what it is in */
    KIND_FOLDER, /* may have functions in it, is none */
};

/* What the ranges of an entry cover. */
struct covered {
    bool has_ranges, has_addresses;
};

static enum scope_kind kind_of(int tag)
{
    switch (tag) {
    case DW_TAG_subprogram:
        return KIND_FUNCTION;
    case DW_TAG_inlined_subroutine:
        return KIND_INLINED;
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
        return KIND_BLOCK;
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
        return KIND_FOLDER;
    default:
        return KIND_OTHER;
    }
}

/* Give the addresses of a range to a new scope, where its parent is what they had. */
static bool give_range(struct dwarf_scopes *scopes, uint64_t begin, uint64_t end, uint32_t unit,
                       uint32_t parent)
{
    size_t first, count = lookup_find(scopes->lookup, begin, end, &first);
    bool is_any = false;

    /* What a linker has left out begins at 0 and covers whatever comes. */
    if (count == 0 || begin == 0 || !elf_image_is_code(scopes->code, begin, end))
        return false;
    for (size_t i = first; i < first + count; i++) {
        if (scopes->units[i] == unit && scopes->innermost[i] == parent) {
            scopes->innermost[i] = (uint32_t)scopes->count;
            is_any = true;
        }
    }
    return is_any;
}

/* Make a scope of an entry when it holds addresses. ret_scope: 0 when it does not. */
static struct covered give(struct dwarf_scopes *scopes, Dwarf_Die *die, uint32_t unit,
                           uint32_t parent, uint32_t *ret_scope)
{
    struct covered covered = {false, false};
    Dwarf_Addr base, begin, end;
    ptrdiff_t offset = 0;

    *ret_scope = 0;
    if (scopes->count == UINT32_MAX)
        return covered;
    while ((offset = dwarf_ranges(die, offset, &base, &begin, &end)) > 0) {
        covered.has_ranges = true;
        covered.has_addresses |= give_range(scopes, begin, end, unit, parent);
    }
    if (!covered.has_addresses)
        return covered;
    scopes->items =
        memory_grow(scopes->items, &scopes->capacity, scopes->count + 1, sizeof(*scopes->items));
    scopes->items[scopes->count] = (struct dwarf_scope){.die = *die, .parent = parent};
    *ret_scope = (uint32_t)scopes->count++;
    return covered;
}

/* Whether one of the addresses lies in an entry that is no scope. */
static bool is_wanted(const struct dwarf_scopes *scopes, Dwarf_Die *die)
{
    Dwarf_Addr base, begin, end;
    ptrdiff_t offset = 0;
    bool has_ranges = false;
    size_t first;

    while ((offset = dwarf_ranges(die, offset, &base, &begin, &end)) > 0) {
        has_ranges = true;
        if (lookup_find(scopes->lookup, begin, end, &first) > 0)
            return true;
    }
    return !has_ranges;
}

static void walk_children(struct dwarf_scopes *scopes, Dwarf_Die *die, uint32_t unit,
                          uint32_t scope, unsigned depth);

static void walk_entry(struct dwarf_scopes *scopes, Dwarf_Die *die, uint32_t unit, uint32_t scope,
                       unsigned depth)
{
    uint32_t own;

    switch (kind_of(dwarf_tag(die))) {
    case KIND_FUNCTION: /* one inside another is not inlined there */
        give(scopes, die, unit, 0, &own);
        walk_children(scopes, die, unit, own, depth + 1);
        break;
    case KIND_INLINED:
        if (scope != 0 && give(scopes, die, unit, scope, &own).has_addresses)
            walk_children(scopes, die, unit, own, depth + 1);
        break;
    case KIND_BLOCK:
        if (is_wanted(scopes, die))
            walk_children(scopes, die, unit, scope, depth + 1);
        break;
    case KIND_FOLDER:
        walk_children(scopes, die, unit, 0, depth + 1);
        break;
    case KIND_OTHER:
        break;
    }
}

/* Recursive, as deep as the entries are in each other. */
static void walk_children(struct dwarf_scopes *scopes, Dwarf_Die *die, uint32_t unit,
                          uint32_t scope, unsigned depth)
{
    Dwarf_Die child;

    if (depth > DEPTH_MOST || dwarf_child(die, &child) != 0)
        return;
    do
        walk_entry(scopes, &child, unit, scope, depth);
    while (dwarf_siblingof(&child, &child) == 0);
}

void dwarf_scopes_walk(struct dwarf_scopes *scopes, Dwarf_Die *unit_die, uint32_t unit)
{
    scopes->items = memory_grow(scopes->items, &scopes->capacity, 1, sizeof(*scopes->items));
    scopes->items[0] = (struct dwarf_scope){.parent = 0};
    scopes->count = 1;
    walk_children(scopes, unit_die, unit, 0, 0);
}
