/*
 * The blocks that a forked child began with and has not released, as keys alone: nothing of them is
 * counted, but their releases are known.
 *
 * Brothers have nearly the same ones, so the set is in leaves, by the top bits of the keys' hash,
 * which many sets may refer to: a set copies a leaf when it is about to change it, and its root, the
 * list of its leaves, likewise. Not thread-safe.
 */
#ifndef PROFILE_INHERITED_H
#define PROFILE_INHERITED_H

#include "profile/address_hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inherited_leaf;

struct inherited_root {
    uint32_t references;             /* sets */
    unsigned bits;                   /* log2 of the number of leaves, at least 1 */
    struct inherited_leaf *leaves[]; /* NULL: empty */
};

/* All zero bytes is an empty set. */
struct inherited {
    struct inherited_root *root; /* NULL: none yet */
    size_t count;                /* of keys */
};

/* Give an empty set leaves, for so many keys in all. Context: tool. */
void inherited_begin(struct inherited *set, size_t count);

/* Return the number of bits that so many keys want. Context: tool. */
unsigned inherited_bits(size_t count);

/* Return a set with the same keys. It and the other one do not change each other. Context: tool. */
struct inherited inherited_share(const struct inherited *set);

/* Give a set other leaves, as many as bits say; its keys are the same. Context: tool. */
void inherited_split(struct inherited *set, unsigned bits);

/* Return whether a key, which is not 0, is there. Context: tool. */
bool inherited_has(const struct inherited *set, uint64_t key);

/* Add a key, which is not 0; it may be there already. Context: tool. */
void inherited_add(struct inherited *set, uint64_t key);

/* Remove a key. Returns whether it was there. Context: tool. */
bool inherited_remove(struct inherited *set, uint64_t key);

/* Make a leaf what the same leaf of another set is, or empty: from has leaves as many, or none. */
void inherited_take_leaf(struct inherited *set, size_t leaf, const struct inherited *from);

/* Give it back; it is empty then. Context: tool. */
void inherited_finish(struct inherited *set);

/* Return the leaf of a key in a root with so many bits. Context: tool. */
static inline size_t inherited_leaf_of(uint64_t key, unsigned bits)
{
    return (size_t)(address_group_hash(key) >> (64 - bits));
}

#endif
