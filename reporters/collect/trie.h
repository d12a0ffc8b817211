/*
 * Stacks as the capture knows them: nodes (parent, frame) of Python's and of native frames, and stacks
 * (a node of each, allocator, class).
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
 * A Python frame: bits 0-29 the instruction offset, signed; 30-60 the capture's code number; 61 ENTRY. As
 * in a ring, but with the capture's number instead of the process's id.
 * A native frame: bits 0-46 the offset, 47-61 the capture's module, 62 EXACT, 63 EVAL.
 */
#define TRIE_OFFSET_BITS  47
#define TRIE_MODULE_SHIFT 47
#define TRIE_MODULE_MASK  UINT64_C(0x7fff)
#define TRIE_EXACT        (UINT64_C(1) << 62)
#define TRIE_EVAL         (UINT64_C(1) << 63)

struct trie_node {
    uint64_t frame;
    uint32_t parent;
};

/* Nodes of one kind: ids, and a hash table of them. */
struct trie_nodes {
    struct trie_node *nodes; /* [0] stands for "none" */
    size_t count, capacity;
    uint32_t *slots; /* 0 is empty */
    size_t slot_mask;
    size_t written; /* as the count */
};

struct trie_stack {
    uint32_t python, native; /* nodes */
    uint16_t kind;           /* trie_kind() */
};

/* All zero bytes is not an empty trie: trie_init(). */
struct trie {
    struct trie_nodes python, native;
    struct trie_stack *stacks; /* [0] stands for "none" */
    size_t stack_count, stack_capacity;
    uint32_t *stack_slots;
    size_t stack_slot_mask;
    size_t written_stacks; /* as the count */
};

/* Make an empty one; trie_finish() gives it back. Context: drain thread. */
void trie_init(struct trie *trie);
void trie_finish(struct trie *trie);

/* Return the id of a frame called by a node, adding it when new. Context: drain thread. */
uint32_t trie_node(struct trie_nodes *nodes, uint32_t parent, uint64_t frame);

/* Return the id of a stack, adding it when new. kind: trie_kind(). Context: drain thread. */
uint32_t trie_stack(struct trie *trie, uint32_t python, uint32_t native, uint16_t kind);

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
