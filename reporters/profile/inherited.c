/*
 * Sets of keys that share what they have in common. Runs in the tools.
 *
 * What holds: a leaf and a root with more than one reference do not change. A leaf is at most three
 * quarters full, and between the slot where a key belongs and the slot where it is no slot is empty.
 * Slots wrap around at the end.
 */
#include "profile/inherited.h"

#include "base/memory.h"

#include <stdlib.h>

enum {
    LEAF_KEYS = 128, /* at most, about: so many are copied when a set changes one of them */
    FIRST_SLOT_COUNT = 32,
    MOST_BITS = 24,
};

struct inherited_leaf {
    uint32_t references; /* roots */
    uint32_t count;
    uint32_t slot_count; /* a power of two */
    uint64_t slots[];    /* 0: empty */
};

static struct inherited_leaf *leaf_create(uint32_t slot_count)
{
    struct inherited_leaf *leaf =
        memory_allocate(1, sizeof(*leaf) + slot_count * sizeof(leaf->slots[0]));

    leaf->references = 1;
    leaf->slot_count = slot_count;
    return leaf;
}

static void leaf_release(struct inherited_leaf *leaf)
{
    if (leaf != NULL && --leaf->references == 0)
        free(leaf);
}

static uint32_t home_of(const struct inherited_leaf *leaf, uint64_t key)
{
    return address_place(key) & (leaf->slot_count - 1);
}

/* The slot that has the key, or the empty one where it would go. */
static uint32_t leaf_search(const struct inherited_leaf *leaf, uint64_t key)
{
    uint32_t at = home_of(leaf, key);

    while (leaf->slots[at] != 0 && leaf->slots[at] != key)
        at = (at + 1) & (leaf->slot_count - 1);
    return at;
}

/* A leaf with the same keys that is the caller's alone, and has room for another one. */
static struct inherited_leaf *leaf_own(struct inherited_leaf *leaf)
{
    uint32_t slot_count = leaf != NULL ? leaf->slot_count : FIRST_SLOT_COUNT;
    struct inherited_leaf *own;

    if (leaf != NULL && leaf->count + 1 > slot_count / 4 * 3)
        slot_count *= 2;
    if (leaf != NULL && leaf->references == 1 && slot_count == leaf->slot_count)
        return leaf;
    own = leaf_create(slot_count);
    for (uint32_t i = 0; leaf != NULL && i < leaf->slot_count; i++)
        if (leaf->slot_count == slot_count)
            own->slots[i] = leaf->slots[i];
        else if (leaf->slots[i] != 0)
            own->slots[leaf_search(own, leaf->slots[i])] = leaf->slots[i];
    own->count = leaf != NULL ? leaf->count : 0;
    leaf_release(leaf);
    return own;
}

/* Empty a slot: those that its key displaced move back. */
static void leaf_clear(struct inherited_leaf *leaf, uint32_t hole)
{
    uint32_t mask = leaf->slot_count - 1;

    for (uint32_t at = (hole + 1) & mask; leaf->slots[at] != 0; at = (at + 1) & mask) {
        /* It may move back unless it belongs behind the hole. */
        if (((at - home_of(leaf, leaf->slots[at])) & mask) >= ((at - hole) & mask)) {
            leaf->slots[hole] = leaf->slots[at];
            hole = at;
        }
    }
    leaf->slots[hole] = 0;
    leaf->count--;
}

static size_t leaf_count_of(const struct inherited_root *root)
{
    return (size_t)1 << root->bits;
}

static struct inherited_root *root_create(unsigned bits)
{
    struct inherited_root *root =
        memory_allocate(1, sizeof(*root) + ((size_t)1 << bits) * sizeof(struct inherited_leaf *));

    root->references = 1;
    root->bits = bits;
    return root;
}

static void root_release(struct inherited_root *root)
{
    if (root == NULL || --root->references > 0)
        return;
    for (size_t i = 0; i < leaf_count_of(root); i++)
        leaf_release(root->leaves[i]);
    free(root);
}

/* Make the set's root its own: it is about to change. */
static void own_root(struct inherited *set)
{
    const struct inherited_root *shared = set->root;
    struct inherited_root *own;

    if (shared->references == 1)
        return;
    own = root_create(shared->bits);
    for (size_t i = 0; i < leaf_count_of(own); i++) {
        own->leaves[i] = shared->leaves[i];
        if (own->leaves[i] != NULL)
            own->leaves[i]->references++;
    }
    root_release(set->root);
    set->root = own;
}

unsigned inherited_bits(size_t count)
{
    unsigned bits = 1;

    while (bits < MOST_BITS && count >> bits > LEAF_KEYS)
        bits++;
    return bits;
}

void inherited_begin(struct inherited *set, size_t count)
{
    set->root = root_create(inherited_bits(count));
}

struct inherited inherited_share(const struct inherited *set)
{
    if (set->root != NULL)
        set->root->references++;
    return *set;
}

bool inherited_has(const struct inherited *set, uint64_t key)
{
    const struct inherited_leaf *leaf;

    if (set->count == 0)
        return false;
    leaf = set->root->leaves[inherited_leaf_of(key, set->root->bits)];
    return leaf != NULL && leaf->slots[leaf_search(leaf, key)] != 0;
}

void inherited_add(struct inherited *set, uint64_t key)
{
    struct inherited_leaf **link;

    if (inherited_has(set, key))
        return;
    if (set->root == NULL)
        inherited_begin(set, 1);
    own_root(set);
    link = &set->root->leaves[inherited_leaf_of(key, set->root->bits)];
    *link = leaf_own(*link);
    (*link)->slots[leaf_search(*link, key)] = key;
    (*link)->count++;
    set->count++;
}

bool inherited_remove(struct inherited *set, uint64_t key)
{
    struct inherited_leaf **link;

    if (!inherited_has(set, key))
        return false;
    own_root(set);
    link = &set->root->leaves[inherited_leaf_of(key, set->root->bits)];
    *link = leaf_own(*link);
    leaf_clear(*link, leaf_search(*link, key));
    set->count--;
    return true;
}

void inherited_split(struct inherited *set, unsigned bits)
{
    struct inherited split = {.root = root_create(bits)};

    for (size_t i = 0; set->root != NULL && i < leaf_count_of(set->root); i++) {
        const struct inherited_leaf *leaf = set->root->leaves[i];

        for (uint32_t k = 0; leaf != NULL && k < leaf->slot_count; k++)
            if (leaf->slots[k] != 0)
                inherited_add(&split, leaf->slots[k]);
    }
    inherited_finish(set);
    *set = split;
}

void inherited_take_leaf(struct inherited *set, size_t leaf, const struct inherited *from)
{
    struct inherited_leaf *taken = from->root != NULL ? from->root->leaves[leaf] : NULL;
    struct inherited_leaf **link;

    own_root(set);
    link = &set->root->leaves[leaf];
    if (taken != NULL)
        taken->references++;
    set->count += taken != NULL ? taken->count : 0;
    set->count -= *link != NULL ? (*link)->count : 0;
    leaf_release(*link);
    *link = taken;
}

void inherited_finish(struct inherited *set)
{
    root_release(set->root);
    *set = (struct inherited){0};
}
