/*
 * Which item of an array has this key: an index beside the array, by the keys' hashes.
 *
 * The caller keeps items and keys, and says what is equal; the index holds item numbers only. So one
 * index serves any kind of item, and growing it asks nothing of the caller. All zero bytes is an
 * empty index. Not thread-safe.
 */
#ifndef BASE_HASH_INDEX_H
#define BASE_HASH_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_INDEX_NONE UINT32_MAX

struct hash_index {
    uint64_t *slots;   /* hash's high half, item + 1; 0 is empty */
    size_t slot_count; /* a power of two */
    size_t item_count;
};

/* Return whether an item has the key. items, key: as given to hash_index_find(). */
typedef bool hash_index_equals(const void *items, uint32_t item, const void *key);

/*
 * Return the item that has the key, or HASH_INDEX_NONE.
 * hash: of the key, all 64 bits well mixed. Context: tool.
 */
uint32_t hash_index_find(const struct hash_index *index, uint64_t hash, hash_index_equals *equals,
                         const void *items, const void *key);

/*
 * Add an item that is not in the index. item: below HASH_INDEX_NONE. Context: tool.
 */
void hash_index_add(struct hash_index *index, uint64_t hash, uint32_t item);

/* Return an index of the same items; to be given to hash_index_finish(). Context: tool. */
struct hash_index hash_index_copy(const struct hash_index *index);

/* Give it back; it is empty then. Context: tool. */
void hash_index_finish(struct hash_index *index);

/* Mix two numbers into a hash, for keys that are numbers. Context: any thread. */
static inline uint64_t hash_index_mix(uint64_t a, uint64_t b)
{
    /* Multiply and fold, as splitmix64 does: each input bit reaches the half that is compared. */
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) ^ (b + UINT64_C(0x632be59bd9b4e019));

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

#endif
