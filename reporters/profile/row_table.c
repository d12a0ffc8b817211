/*
 * Rows and their index. Runs in the tools, when the short way in row_table.h does not do.
 *
 * What holds: the index is at most half full, and between the slot where a pair belongs and the slot
 * where it is no slot is empty.
 */
#include "profile/row_table.h"

#include "base/hash_index.h"
#include "base/memory.h"
#include "memtrack/protocol.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_SLOT_COUNT = 1 << 10,
    FIRST_ROW_COUNT = 256,
};

static uint32_t *search(const struct row_table *rows, uint32_t stack, uint32_t stream)
{
    size_t mask = rows->slot_count - 1;
    size_t at = hash_index_mix(stack, stream) & mask;

    for (;; at = (at + 1) & mask) {
        const struct row *row;

        if (rows->slots[at] == 0)
            return &rows->slots[at];
        row = &rows->rows[rows->slots[at] - 1];
        if (row->stack == stack && row->stream == stream)
            return &rows->slots[at];
    }
}

static void grow_index(struct row_table *rows)
{
    free(rows->slots);
    rows->slot_count = rows->slot_count == 0 ? FIRST_SLOT_COUNT : rows->slot_count * 2;
    rows->slots = memory_allocate(rows->slot_count, sizeof(*rows->slots));
    for (uint32_t i = 0; i < rows->count; i++)
        *search(rows, rows->rows[i].stack, rows->rows[i].stream) = i + 1;
}

/* How the blocks of a stack were picked. Maps and the program's own pools are recorded whole. */
static uint8_t sampling_of(const struct capture *capture, const struct capture_stack *stack)
{
    if (stack->allocator >= ALLOCATOR_POOL ||
        (stack->allocator >= ALLOCATOR_MMAP && stack->allocator <= ALLOCATOR_MPROTECT))
        return ROW_IS_WHOLE;
    if (stack->level > 0)
        return stack->level;
    return capture->session.sample_bytes > 0 ? ROW_IS_SAMPLE : ROW_IS_WHOLE;
}

/* Allocated with a row to spare, so that they can begin on a cache line. */
static struct row *allocate_rows(uint32_t capacity, void **ret_memory)
{
    uint8_t *memory = memory_allocate((size_t)capacity + 1, sizeof(struct row));

    *ret_memory = memory;
    return (struct row *)(memory + -(uintptr_t)memory % sizeof(struct row));
}

static void grow_rows(struct row_table *rows)
{
    uint32_t capacity = rows->capacity == 0 ? FIRST_ROW_COUNT : rows->capacity * 2;
    size_t extra_capacity = rows->capacity;
    void *memory;
    struct row *larger = allocate_rows(capacity, &memory);

    if (rows->count > 0)
        memcpy(larger, rows->rows, rows->count * sizeof(*larger));
    free(rows->rows_memory);
    rows->rows_memory = memory;
    rows->rows = larger;
    rows->extras = memory_grow(rows->extras, &extra_capacity, capacity, sizeof(*rows->extras));
    rows->capacity = capacity;
}

void row_table_extend(struct row_table *rows, uint32_t stack_count)
{
    rows->latest = memory_grow_zeroed(rows->latest, &rows->latest_capacity, stack_count,
                                      sizeof(*rows->latest));
}

uint32_t row_table_search(struct row_table *rows, const struct capture *capture, uint32_t stack,
                          uint32_t stream)
{
    uint32_t *slot;

    if (rows->count >= rows->slot_count / 2)
        grow_index(rows);
    slot = search(rows, stack, stream);
    if (*slot == 0) {
        if (rows->count == rows->capacity)
            grow_rows(rows);
        rows->rows[rows->count] =
            (struct row){.stack = stack,
                         .stream = stream,
                         .process = capture->threads[stream].process_index,
                         .allocator = capture->stacks[stack].allocator,
                         .sampling = sampling_of(capture, &capture->stacks[stack])};
        rows->extras[rows->count] = (struct row_extra){0};
        *slot = ++rows->count;
    }
    rows->latest[stack] = *slot;
    return *slot - 1;
}

struct row_table row_table_copy(const struct row_table *rows)
{
    struct row_table copy = {.count = rows->count, .capacity = rows->count};

    copy.rows = allocate_rows(rows->count, &copy.rows_memory);
    if (rows->count > 0)
        memcpy(copy.rows, rows->rows, rows->count * sizeof(*copy.rows));
    copy.extras = memory_copy(rows->extras, rows->count, sizeof(*copy.extras));
    return copy;
}

void row_table_finish(struct row_table *rows)
{
    free(rows->rows_memory);
    free(rows->extras);
    free(rows->slots);
    free(rows->latest);
    *rows = (struct row_table){0};
}
