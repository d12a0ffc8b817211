/*
 * A thread's current stack: the node of every depth, so that a pop is a subtraction.
 *
 * Drain thread, one per ring. What holds: no more than CHAIN_MAX_DEPTH frames; pushes beyond are
 * counted and popped again without being kept, so that the depths agree with the thread's.
 */
#ifndef COLLECT_CHAIN_H
#define COLLECT_CHAIN_H

#include "memtrack/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trie_nodes;

enum {
    CHAIN_MAX_DEPTH = 1 << 17,
};

/* The inner end of a chain, kept: the nodes from base on. All zero bytes is none. */
struct chain_memo {
    uint32_t base, depth; /* depth 0: there is none */
    uint32_t nodes[MEMO_FRAMES];
};

/* All zero bytes is an empty chain. */
struct chain {
    uint32_t *nodes;
    size_t capacity_count;
    uint32_t depth;
    uint32_t beyond; /* frames deeper than are kept */
};

/* Return the innermost node, 0 when empty. Context: drain thread. */
static inline uint32_t chain_node(const struct chain *chain)
{
    return chain->depth == 0 ? 0 : chain->nodes[chain->depth - 1];
}

/*
 * Take frames away.
 * count: DELTA_POP_ALL takes all.
 * Returns how many there were not: 0, or the stream is damaged. Context: drain thread.
 */
uint32_t chain_pop(struct chain *chain, uint32_t count);

/* Add a frame with the capture's code number. Context: drain thread. */
void chain_push(struct chain *chain, struct trie_nodes *nodes, uint64_t frame);

/*
 * The innermost frame, if its code is known, is at another offset.
 * Returns false when there is none: the stream is damaged. Context: drain thread.
 */
bool chain_move(struct chain *chain, struct trie_nodes *nodes, uint64_t offset);

/*
 * Keep the inner end of a chain. Returns false when it has frames that are not kept. Context: drain thread.
 */
bool chain_make_memo(const struct chain *chain, struct chain_memo *memo);

/*
 * The chain is what a memo holds again.
 * Returns false when there is none: the stream is damaged. Context: drain thread.
 */
bool chain_recall(struct chain *chain, const struct chain_memo *memo);

/* Forget the memos that count on frames from this depth on. Context: drain thread. */
void chain_cut_memos(struct chain_memo *memos, uint32_t depth);

/* Give the memory back; the chain is empty then. Context: drain thread. */
void chain_finish(struct chain *chain);

#endif
