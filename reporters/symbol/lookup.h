/*
 * Addresses of one module that are looked up together, and the best symbol of each so far.
 *
 * The addresses are sorted, so whatever covers a range (a symbol, a function of DWARF, a line) is asked
 * once which of them it covers. That takes time by what there is to be read, not by the product of both.
 */
#ifndef SYMBOL_LOOKUP_H
#define SYMBOL_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a symbol says about an address. */
struct lookup_symbol {
    const char
        *name; /* as it stands in its table, whose it is; NULL: no symbol covers the address */
    uint64_t begin, end;
    uint8_t rank; /* of several that begin and end alike the lowest is the best */
};

struct lookup {
    const uint64_t *addresses; /* rising, no two equal; the caller's */
    size_t count;
    struct lookup_symbol *symbols; /* as addresses; all zero at first; the caller's */
};

/*
 * Find the addresses in [begin, end). ret_first: index of the first one.
 * Returns how many there are. Context: tool.
 */
size_t lookup_find(const struct lookup *lookup, uint64_t begin, uint64_t end, size_t *ret_first);

/*
 * Offer a symbol to the addresses that it covers. Each keeps the best: the one that begins last, of
 * those the shortest, then rank, then name. symbol: copied; its name must outlive the lookup.
 * Context: tool.
 */
void lookup_offer(struct lookup *lookup, const struct lookup_symbol *symbol);

#endif
