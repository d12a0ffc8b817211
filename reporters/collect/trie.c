/*
 * Interning of frames and stacks. Drain thread.
 *
 * Two open hash tables of ids beside arrays that only grow. Look-ups are on the way of every event
 * whose stack has changed, so nothing is called through a pointer and keys are compared in place.
 */
#include "collect/trie.h"

#include "base/memory.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"

#include <stdlib.h>

enum {
    FIRST_SLOTS = 4096,
    MAX_ROWS_OF_RECORD = 1 << 15, /* a section of records stays small */
};

static uint64_t hash_node(uint32_t parent, uint64_t frame)
{
    uint64_t x = frame ^ (uint64_t)parent * UINT64_C(0x9e3779b97f4a7c15);

    /* One multiplication and the high half: enough for the low bits of a table. */
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

static uint64_t hash_stack(uint32_t node, uint16_t kind)
{
    uint64_t x = ((uint64_t)node << 16 | kind) * UINT64_C(0x9e3779b97f4a7c15);

    return x ^ x >> 32;
}

void trie_init(struct trie *trie)
{
    *trie = (struct trie){0};
    trie->nodes = memory_grow(NULL, &trie->node_capacity, FIRST_SLOTS / 2, sizeof(*trie->nodes));
    trie->stacks = memory_grow(NULL, &trie->stack_capacity, FIRST_SLOTS / 2, sizeof(*trie->stacks));
    trie->nodes[0] = (struct trie_node){0};
    trie->stacks[0] = (struct trie_stack){0};
    trie->node_count = trie->stack_count = 1;
    trie->written_nodes = trie->written_stacks = 1;
    trie->node_slots = memory_allocate(FIRST_SLOTS, sizeof(*trie->node_slots));
    trie->stack_slots = memory_allocate(FIRST_SLOTS, sizeof(*trie->stack_slots));
    trie->node_slot_mask = trie->stack_slot_mask = FIRST_SLOTS - 1;
}

void trie_finish(struct trie *trie)
{
    free(trie->nodes);
    free(trie->stacks);
    free(trie->node_slots);
    free(trie->stack_slots);
    *trie = (struct trie){0};
}

static void grow_nodes(struct trie *trie)
{
    size_t mask = trie->node_slot_mask * 2 + 1;

    free(trie->node_slots);
    trie->node_slots = memory_allocate(mask + 1, sizeof(*trie->node_slots));
    trie->node_slot_mask = mask;
    for (uint32_t id = 1; id < trie->node_count; id++) {
        size_t at = hash_node(trie->nodes[id].parent, trie->nodes[id].frame) & mask;

        while (trie->node_slots[at] != 0)
            at = (at + 1) & mask;
        trie->node_slots[at] = id;
    }
}

static void grow_stacks(struct trie *trie)
{
    size_t mask = trie->stack_slot_mask * 2 + 1;

    free(trie->stack_slots);
    trie->stack_slots = memory_allocate(mask + 1, sizeof(*trie->stack_slots));
    trie->stack_slot_mask = mask;
    for (uint32_t id = 1; id < trie->stack_count; id++) {
        size_t at = hash_stack(trie->stacks[id].node, trie->stacks[id].kind) & mask;

        while (trie->stack_slots[at] != 0)
            at = (at + 1) & mask;
        trie->stack_slots[at] = id;
    }
}

uint32_t trie_node(struct trie *trie, uint32_t parent, uint64_t frame)
{
    size_t at = hash_node(parent, frame) & trie->node_slot_mask;
    uint32_t id;

    while ((id = trie->node_slots[at]) != 0) {
        if (trie->nodes[id].frame == frame && trie->nodes[id].parent == parent)
            return id;
        at = (at + 1) & trie->node_slot_mask;
    }
    if (trie->node_count >= UINT32_MAX)
        return 0;
    id = (uint32_t)trie->node_count;
    if (trie->node_count == trie->node_capacity)
        trie->nodes = memory_grow(trie->nodes, &trie->node_capacity, trie->node_count + 1,
                                  sizeof(*trie->nodes));
    trie->nodes[trie->node_count++] = (struct trie_node){frame, parent};
    trie->node_slots[at] = id;
    if (trie->node_count * 2 > trie->node_slot_mask)
        grow_nodes(trie);
    return id;
}

uint32_t trie_stack(struct trie *trie, uint32_t node, uint16_t kind)
{
    size_t at = hash_stack(node, kind) & trie->stack_slot_mask;
    uint32_t id;

    while ((id = trie->stack_slots[at]) != 0) {
        if (trie->stacks[id].node == node && trie->stacks[id].kind == kind)
            return id;
        at = (at + 1) & trie->stack_slot_mask;
    }
    if (trie->stack_count >= UINT32_MAX)
        return 0;
    id = (uint32_t)trie->stack_count;
    if (trie->stack_count == trie->stack_capacity)
        trie->stacks = memory_grow(trie->stacks, &trie->stack_capacity, trie->stack_count + 1,
                                   sizeof(*trie->stacks));
    trie->stacks[trie->stack_count++] = (struct trie_stack){node, kind};
    trie->stack_slots[at] = id;
    if (trie->stack_count * 2 > trie->stack_slot_mask)
        grow_stacks(trie);
    return id;
}

static size_t rows_of_record(size_t left)
{
    return left < MAX_ROWS_OF_RECORD ? left : MAX_ROWS_OF_RECORD;
}

/* Sign-extend the instruction offset. */
static int32_t offset_of(uint64_t frame)
{
    uint32_t bits = (uint32_t)(frame & ((UINT64_C(1) << FRAME_OFFSET_BITS) - 1));
    uint32_t sign = UINT32_C(1) << (FRAME_OFFSET_BITS - 1);

    return (int32_t)(bits ^ sign) - (int32_t)sign;
}

static void write_nodes(struct trie *trie, struct records *records, size_t count)
{
    records_begin(records, RECORD_NODES);
    records_number(records, trie->written_nodes);
    records_number(records, count);
    for (size_t i = 0; i < count; i++) {
        const struct trie_node *node = &trie->nodes[trie->written_nodes + i];
        uint64_t code = node->frame >> FRAME_CODE_SHIFT & FRAME_CODE_MASK;

        records_number(records, node->parent);
        records_number(records, code << 1 | ((node->frame & FRAME_ENTRY) != 0));
        records_folded(records, offset_of(node->frame));
    }
    records_end(records);
    trie->written_nodes += count;
}

static void write_stacks(struct trie *trie, struct records *records, size_t count)
{
    records_begin(records, RECORD_STACKS);
    records_number(records, trie->written_stacks);
    records_number(records, count);
    for (size_t i = 0; i < count; i++) {
        const struct trie_stack *stack = &trie->stacks[trie->written_stacks + i];

        records_number(records, stack->node);
        records_number(records, 0); /* no native node */
        records_number(records, stack->kind & 0xff);
        records_number(records, (uint64_t)stack->kind >> 8);
    }
    records_end(records);
    trie->written_stacks += count;
}

bool trie_write_new(struct trie *trie, struct records *records)
{
    /* Nodes first: stacks use them. */
    if (trie->written_nodes < trie->node_count)
        write_nodes(trie, records, rows_of_record(trie->node_count - trie->written_nodes));
    else if (trie->written_stacks < trie->stack_count)
        write_stacks(trie, records, rows_of_record(trie->stack_count - trie->written_stacks));
    else
        return false;
    return true;
}
