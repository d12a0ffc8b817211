/*
 * Chains. Drain thread.
 */
#include "collect/chain.h"

#include "base/memory.h"
#include "collect/trie.h"
#include "memtrack/memo.h"
#include "memtrack/protocol.h"

#include <stdlib.h>
#include <string.h>

uint32_t chain_pop(struct chain *chain, uint32_t count)
{
    uint32_t part;

    if (count == DELTA_POP_ALL) {
        chain->depth = chain->beyond = 0;
        return 0;
    }
    part = count < chain->beyond ? count : chain->beyond;
    chain->beyond -= part;
    count -= part;
    part = count < chain->depth ? count : chain->depth;
    chain->depth -= part;
    return count - part;
}

void chain_push(struct chain *chain, struct trie_nodes *nodes, uint64_t frame)
{
    if (chain->depth == CHAIN_MAX_DEPTH) {
        chain->beyond++;
        return;
    }
    if (chain->depth == chain->capacity_count)
        chain->nodes = memory_grow(chain->nodes, &chain->capacity_count, chain->depth + 1,
                                   sizeof(*chain->nodes));
    chain->nodes[chain->depth] = trie_node(nodes, chain_node(chain), frame);
    chain->depth++;
}

bool chain_move(struct chain *chain, struct trie_nodes *nodes, uint64_t offset)
{
    uint64_t frame;
    uint32_t outer;

    if (chain->depth == 0 || chain->beyond > 0)
        return false;
    frame = nodes->nodes[chain_node(chain)].frame;
    if ((frame >> FRAME_CODE_SHIFT & FRAME_CODE_MASK) == 0)
        return true; /* its offset says why */
    outer = chain->depth > 1 ? chain->nodes[chain->depth - 2] : 0;
    frame = (frame & ~((UINT64_C(1) << FRAME_OFFSET_BITS) - 1)) | offset;
    chain->nodes[chain->depth - 1] = trie_node(nodes, outer, frame);
    return true;
}

bool chain_make_memo(const struct chain *chain, struct chain_memo *memo)
{
    uint32_t base = memo_base(chain->depth);

    *memo = (struct chain_memo){0};
    if (chain->depth == 0 || chain->beyond > 0)
        return false;
    memo->base = base;
    memo->depth = chain->depth;
    memcpy(memo->nodes, chain->nodes + base, (chain->depth - base) * sizeof(memo->nodes[0]));
    return true;
}

bool chain_recall(struct chain *chain, const struct chain_memo *memo)
{
    /* A chain that was once as deep has the room. */
    if (memo->depth == 0 || memo->base > chain->depth || chain->beyond > 0)
        return false;
    memcpy(chain->nodes + memo->base, memo->nodes,
           (memo->depth - memo->base) * sizeof(memo->nodes[0]));
    chain->depth = memo->depth;
    return true;
}

void chain_cut_memos(struct chain_memo *memos, uint32_t depth)
{
    for (unsigned i = 0; i < MEMO_COUNT; i++)
        if (memos[i].base > depth)
            memos[i].depth = 0;
}

void chain_finish(struct chain *chain)
{
    free(chain->nodes);
    *chain = (struct chain){0};
}
