/*
 * Stacks as the capture knows them: nodes (parent, frame) and stacks (node, allocator, class).
 *
 * Drain thread. Ids begin at 1 and grow by 1; 0 is "none". What is new is written by
 * trie_write_new() before the events that use it.
 */
#ifndef COLLECT_TRIE_H
#define COLLECT_TRIE_H

#include "collect/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A frame: bits 0-29 the instruction offset, signed; 30-60 the capture's code number; 61 ENTRY. As
 * in a ring, but with the capture's number instead of the process's id.
 */
struct trie_node {
    uint64_t frame;
    uint32_t parent;
};

struct trie_stack {
    uint32_t node;
    uint16_t kind; /* trie_kind() */
};

/* All zero bytes is not an empty trie: trie_init(). */
struct trie {
    struct trie_node *nodes; /* [0] stands for "none", as in stacks */
    size_t node_count, node_capacity;
    uint32_t *node_slots; /* a hash table of ids; 0 is empty */
    size_t node_slot_mask;
    struct trie_stack *stacks;
    size_t stack_count, stack_capacity;
    uint32_t *stack_slots;
    size_t stack_slot_mask;
    size_t written_nodes, written_stacks; /* as the counts */
};

/* Make an empty one; trie_finish() gives it back. Context: drain thread. */
void trie_init(struct trie *trie);
void trie_finish(struct trie *trie);

/* Return the id of a frame called by a node, adding it when new. Context: drain thread. */
uint32_t trie_node(struct trie *trie, uint32_t parent, uint64_t frame);

/* Return the id of a stack, adding it when new. kind: trie_kind(). Context: drain thread. */
uint32_t trie_stack(struct trie *trie, uint32_t node, uint16_t kind);

/* Allocator and map class in one number. Context: any thread. */
static inline uint16_t trie_kind(uint8_t allocator, uint8_t map_class)
{
    return (uint16_t)(allocator | map_class << 8);
}

/*
 * Write one record of the nodes or stacks that are new since the last call.
 * Returns false, with nothing written, when there are none left. Context: drain thread.
 */
bool trie_write_new(struct trie *trie, struct records *records);

#endif
