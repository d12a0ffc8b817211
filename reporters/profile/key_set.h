/*
 * The blocks that a forked child began with, as keys alone: nothing of them is counted, but their
 * releases are known. 16 to 32 bytes a block.
 */
#ifndef PROFILE_KEY_SET_H
#define PROFILE_KEY_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero bytes is an empty set. */
struct key_set {
    uint64_t *slots; /* 0: empty */
    size_t slot_count;
    size_t count;
    unsigned shift;
};

/* Make room for so many keys in all. Context: tool. */
void key_set_reserve(struct key_set *set, size_t count);

/* Add a key, which is not 0; it may be there already. Context: tool. */
void key_set_add(struct key_set *set, uint64_t key);

/* Return whether a key is there. Context: tool. */
bool key_set_has(const struct key_set *set, uint64_t key);

/* Remove a key. Returns whether it was there. Context: tool. */
bool key_set_remove(struct key_set *set, uint64_t key);

/* Give it back; it is empty then. Context: tool. */
void key_set_finish(struct key_set *set);

#endif
