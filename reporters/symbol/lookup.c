/*
 * Addresses that are looked up together. Runs in the tools.
 */
#include "symbol/lookup.h"

#include <string.h>

/* The index of the first address that is not below. */
static size_t lower_bound(const struct lookup *lookup, uint64_t address)
{
    size_t low = 0, high = lookup->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (lookup->addresses[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t lookup_find(const struct lookup *lookup, uint64_t begin, uint64_t end, size_t *ret_first)
{
    size_t first = lower_bound(lookup, begin);

    *ret_first = first;
    if (begin >= end || first == lookup->count || lookup->addresses[first] >= end)
        return 0;
    return lower_bound(lookup, end) - first;
}

/* People know the name with the fewest underscores before it: malloc, not __libc_malloc. */
static bool is_better_name(const char *name, const char *than)
{
    size_t own = strspn(name, "_"), other = strspn(than, "_");

    return own != other ? own < other : strcmp(name, than) < 0;
}

static bool is_better(const struct lookup_symbol *symbol, const struct lookup_symbol *than)
{
    if (than->name == NULL)
        return true;
    if (symbol->begin != than->begin)
        return symbol->begin > than->begin;
    if (symbol->end != than->end)
        return symbol->end < than->end;
    if (symbol->rank != than->rank)
        return symbol->rank < than->rank;
    return is_better_name(symbol->name, than->name);
}

void lookup_offer(struct lookup *lookup, const struct lookup_symbol *symbol)
{
    size_t first, count = lookup_find(lookup, symbol->begin, symbol->end, &first);

    for (size_t i = first; i < first + count; i++)
        if (is_better(symbol, &lookup->symbols[i]))
            lookup->symbols[i] = *symbol;
}
