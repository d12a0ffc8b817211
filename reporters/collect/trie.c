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

static uint64_t hash_stack(uint32_t python, uint32_t native, uint16_t kind)
{
    uint64_t x = ((uint64_t)python << 16 | kind) * UINT64_C(0x9e3779b97f4a7c15);

    x ^= native * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

static void init_nodes(struct trie_nodes *nodes)
{
    nodes->nodes = memory_grow(NULL, &nodes->capacity, FIRST_SLOTS / 2, sizeof(*nodes->nodes));
    nodes->nodes[0] = (struct trie_node){0};
    nodes->count = nodes->written = 1;
    nodes->slots = memory_allocate(FIRST_SLOTS, sizeof(*nodes->slots));
    nodes->slot_mask = FIRST_SLOTS - 1;
}

void trie_init(struct trie *trie)
{
    *trie = (struct trie){0};
    init_nodes(&trie->python);
    init_nodes(&trie->native);
    trie->stacks = memory_grow(NULL, &trie->stack_capacity, FIRST_SLOTS / 2, sizeof(*trie->stacks));
    trie->stacks[0] = (struct trie_stack){0};
    trie->stack_count = trie->written_stacks = 1;
    trie->stack_slots = memory_allocate(FIRST_SLOTS, sizeof(*trie->stack_slots));
    trie->stack_slot_mask = FIRST_SLOTS - 1;
}

void trie_finish(struct trie *trie)
{
    free(trie->python.nodes);
    free(trie->python.slots);
    free(trie->native.nodes);
    free(trie->native.slots);
    free(trie->stacks);
    free(trie->stack_slots);
    *trie = (struct trie){0};
}

static void grow_nodes(struct trie_nodes *nodes)
{
    size_t mask = nodes->slot_mask * 2 + 1;

    free(nodes->slots);
    nodes->slots = memory_allocate(mask + 1, sizeof(*nodes->slots));
    nodes->slot_mask = mask;
    for (uint32_t id = 1; id < nodes->count; id++) {
        size_t at = hash_node(nodes->nodes[id].parent, nodes->nodes[id].frame) & mask;

        while (nodes->slots[at] != 0)
            at = (at + 1) & mask;
        nodes->slots[at] = id;
    }
}

static void grow_stacks(struct trie *trie)
{
    size_t mask = trie->stack_slot_mask * 2 + 1;

    free(trie->stack_slots);
    trie->stack_slots = memory_allocate(mask + 1, sizeof(*trie->stack_slots));
    trie->stack_slot_mask = mask;
    for (uint32_t id = 1; id < trie->stack_count; id++) {
        const struct trie_stack *stack = &trie->stacks[id];
        size_t at = hash_stack(stack->python, stack->native, stack->kind) & mask;

        while (trie->stack_slots[at] != 0)
            at = (at + 1) & mask;
        trie->stack_slots[at] = id;
    }
}

uint32_t trie_node(struct trie_nodes *nodes, uint32_t parent, uint64_t frame)
{
    size_t at = hash_node(parent, frame) & nodes->slot_mask;
    uint32_t id;

    while ((id = nodes->slots[at]) != 0) {
        if (nodes->nodes[id].frame == frame && nodes->nodes[id].parent == parent)
            return id;
        at = (at + 1) & nodes->slot_mask;
    }
    if (nodes->count >= UINT32_MAX)
        return 0;
    id = (uint32_t)nodes->count;
    if (nodes->count == nodes->capacity)
        nodes->nodes =
            memory_grow(nodes->nodes, &nodes->capacity, nodes->count + 1, sizeof(*nodes->nodes));
    nodes->nodes[nodes->count++] = (struct trie_node){frame, parent};
    nodes->slots[at] = id;
    if (nodes->count * 2 > nodes->slot_mask)
        grow_nodes(nodes);
    return id;
}

uint32_t trie_stack(struct trie *trie, uint32_t python, uint32_t native, uint16_t kind)
{
    size_t at = hash_stack(python, native, kind) & trie->stack_slot_mask;
    uint32_t id;

    while ((id = trie->stack_slots[at]) != 0) {
        const struct trie_stack *stack = &trie->stacks[id];

        if (stack->python == python && stack->native == native && stack->kind == kind)
            return id;
        at = (at + 1) & trie->stack_slot_mask;
    }
    if (trie->stack_count >= UINT32_MAX)
        return 0;
    id = (uint32_t)trie->stack_count;
    if (trie->stack_count == trie->stack_capacity)
        trie->stacks = memory_grow(trie->stacks, &trie->stack_capacity, trie->stack_count + 1,
                                   sizeof(*trie->stacks));
    trie->stacks[trie->stack_count++] = (struct trie_stack){python, native, kind};
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

static void put_python(struct records *records, uint64_t frame)
{
    uint64_t code = frame >> FRAME_CODE_SHIFT & FRAME_CODE_MASK;

    records_number(records, code << 1 | ((frame & FRAME_ENTRY) != 0));
    records_folded(records, offset_of(frame));
}

static void put_native(struct records *records, uint64_t frame)
{
    uint64_t module = frame >> TRIE_MODULE_SHIFT & TRIE_MODULE_MASK;

    records_number(records, module << NATIVE_NODE_SHIFT |
                                ((frame & TRIE_EXACT) != 0 ? NATIVE_NODE_EXACT : 0) |
                                ((frame & TRIE_EVAL) != 0 ? NATIVE_NODE_EVAL : 0));
    records_number(records, frame & ((UINT64_C(1) << TRIE_OFFSET_BITS) - 1));
}

/* Write one record of those that are new. Returns false when there are none. */
static bool write_nodes(struct trie_nodes *nodes, struct records *records, uint32_t kind)
{
    size_t count = rows_of_record(nodes->count - nodes->written);

    if (count == 0)
        return false;
    records_begin(records, kind);
    records_number(records, nodes->written);
    records_number(records, count);
    for (size_t i = 0; i < count; i++) {
        const struct trie_node *node = &nodes->nodes[nodes->written + i];

        records_number(records, node->parent);
        if (kind == RECORD_NODES)
            put_python(records, node->frame);
        else
            put_native(records, node->frame);
    }
    records_end(records);
    nodes->written += count;
    return true;
}

static bool write_stacks(struct trie *trie, struct records *records)
{
    size_t count = rows_of_record(trie->stack_count - trie->written_stacks);

    if (count == 0)
        return false;
    records_begin(records, RECORD_STACKS);
    records_number(records, trie->written_stacks);
    records_number(records, count);
    for (size_t i = 0; i < count; i++) {
        const struct trie_stack *stack = &trie->stacks[trie->written_stacks + i];

        records_number(records, stack->python);
        records_number(records, stack->native);
        records_number(records, stack->kind & 0xff);
        records_number(records, (uint64_t)stack->kind >> 8);
    }
    records_end(records);
    trie->written_stacks += count;
    return true;
}

bool trie_write_new(struct trie *trie, struct records *records)
{
    /* Nodes first: stacks use them. */
    return write_nodes(&trie->python, records, RECORD_NODES) ||
           write_nodes(&trie->native, records, RECORD_NATIVE_NODES) || write_stacks(trie, records);
}
