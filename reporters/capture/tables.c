/*
 * The records that fill tables: code objects, nodes, stacks, ticks, samples, bounds, names, states.
 *
 * Runs in the tools. What holds: an entry that stands in a table refers to entries before it or in
 * tables that are complete up to what it names, so whoever reads a table need not check again. A
 * count from the file makes no room by itself: entries are added as they are read.
 */
#include "capture/load.h"

#include "memtrack/format.h"
#include "memtrack/protocol.h"

#include <string.h>

static const char cut_off[] = "record cut off";

record_fault capture_load_code(struct capture *capture, struct cursor *body)
{
    struct capture_memory *memory = capture->memory;
    struct capture_code code = {0};
    struct cursor file, name, table;
    uint64_t number;

    if (!cursor_varint(body, &number) || !cursor_folded_i32(body, &code.first_line) ||
        !cursor_u8(body, &code.line_table_kind) || !cursor_u8(body, &code.flags) ||
        !cursor_part(body, &file) || !cursor_part(body, &name) || !cursor_part(body, &table))
        return cut_off;
    if (number != capture->code_count)
        return "code number out of order";
    code.file = (struct capture_text){capture_load_text(capture, &file), (uint32_t)file.left_bytes};
    code.name = (struct capture_text){capture_load_text(capture, &name), (uint32_t)name.left_bytes};
    if (code.file.text == NULL || code.name.text == NULL)
        return "name with a NUL in it";
    code.line_table = (const uint8_t *)memory_pool_copy(&memory->pool, (const char *)table.bytes,
                                                        table.left_bytes);
    code.line_table_bytes = (uint32_t)table.left_bytes;
    capture->codes = memory_grow(capture->codes, &memory->code_capacity,
                                 (size_t)capture->code_count + 1, sizeof(code));
    capture->codes[capture->code_count++] = code;
    return NULL;
}

record_fault capture_load_nodes(struct capture *capture, struct cursor *body)
{
    struct capture_memory *memory = capture->memory;
    uint64_t first, count;

    if (!cursor_varint(body, &first) || !cursor_varint(body, &count))
        return cut_off;
    if (first != capture->node_count)
        return "node out of order";
    for (; count > 0; count--) {
        struct capture_node node = {0};
        uint64_t parent, code;

        if (!cursor_varint(body, &parent) || !cursor_varint(body, &code) ||
            !cursor_folded_i32(body, &node.offset))
            return cut_off;
        if (parent >= capture->node_count)
            return "node of an unknown parent";
        if (code / 2 >= capture->code_count)
            return "node of an unknown code";
        if (capture->node_count == UINT32_MAX)
            return "too many nodes";
        node.parent = (uint32_t)parent;
        node.code = (uint32_t)(code / 2);
        node.is_entry = code % 2 != 0;
        capture->nodes = memory_grow(capture->nodes, &memory->node_capacity,
                                     (size_t)capture->node_count + 1, sizeof(node));
        capture->nodes[capture->node_count++] = node;
    }
    return NULL;
}

record_fault capture_load_stacks(struct capture *capture, struct cursor *body)
{
    struct capture_memory *memory = capture->memory;
    uint64_t first, count;

    if (!cursor_varint(body, &first) || !cursor_varint(body, &count))
        return cut_off;
    if (first != capture->stack_count)
        return "stack out of order";
    for (; count > 0; count--) {
        uint64_t python_node, native_node, allocator, map_class, level = 0;

        if (!cursor_varint(body, &python_node) || !cursor_varint(body, &native_node) ||
            !cursor_varint(body, &allocator) || !cursor_varint(body, &map_class))
            return cut_off;
        if (!capture->is_followed &&
            (python_node >= capture->node_count || native_node >= capture->native_node_count))
            return "stack of an unknown node";
        if (map_class >= STACK_LEVEL_BASE) {
            level = map_class - STACK_LEVEL_BASE;
            map_class = CLASS_ANONYMOUS;
        }
        if (allocator >= ALLOCATOR_COUNT || level > SAMPLE_LEVEL_MOST)
            return "stack of an unknown allocator or class";
        if (capture->stack_count == UINT32_MAX)
            return "too many stacks";
        capture->stacks = memory_grow(capture->stacks, &memory->stack_capacity,
                                      (size_t)capture->stack_count + 1, sizeof(*capture->stacks));
        capture->stacks[capture->stack_count++] =
            (struct capture_stack){(uint32_t)python_node, (uint32_t)native_node, (uint8_t)allocator,
                                   (uint8_t)map_class, (uint8_t)level};
    }
    return NULL;
}

/* Ticks that are known already are passed over; a clock that went back is set to where it was. */
static void add_tick(struct capture *capture, uint32_t tick, uint64_t time_ns)
{
    struct capture_memory *memory = capture->memory;

    if (capture->tick_count > 0) {
        const struct capture_tick *last = &capture->ticks[capture->tick_count - 1];

        if (tick <= last->tick)
            return;
        if (time_ns < last->time_ns)
            time_ns = last->time_ns;
    }
    capture->ticks = memory_grow(capture->ticks, &memory->tick_capacity,
                                 (size_t)capture->tick_count + 1, sizeof(*capture->ticks));
    capture->ticks[capture->tick_count++] = (struct capture_tick){tick, time_ns};
    capture_load_instant(capture, time_ns);
}

record_fault capture_load_ticks(struct capture *capture, struct cursor *body)
{
    uint64_t tick, count, time_ns = 0;

    if (!cursor_varint(body, &tick) || !cursor_varint(body, &count))
        return cut_off;
    for (; count > 0; count--) {
        uint64_t step_ns;

        if (!cursor_varint(body, &step_ns))
            return cut_off;
        if (tick > UINT32_MAX || __builtin_add_overflow(time_ns, step_ns, &time_ns))
            return "impossible tick";
        add_tick(capture, (uint32_t)tick++, time_ns);
    }
    return NULL;
}

/*
 * A capture that is read along must not grow with time: a sample that says what the one before it did
 * is not kept. Nobody can tell, unless the process had ended before it (load_process()).
 */
static bool skip_rss(struct capture *capture, const struct capture_rss *rss)
{
    struct capture_process *process = &capture->processes[rss->process_index];

    if (process->ended_ns == 0 && process->last_resident_bytes == rss->resident_bytes) {
        process->skipped_ns = rss->time_ns;
        capture_load_instant(capture, rss->time_ns);
        return true;
    }
    process->last_resident_bytes = rss->resident_bytes;
    return false;
}

record_fault capture_load_rss(struct capture *capture, struct cursor *body)
{
    struct capture_memory *memory = capture->memory;
    struct capture_rss rss;
    uint64_t number;

    if (!cursor_varint(body, &number) || !cursor_varint(body, &rss.time_ns) ||
        !cursor_varint(body, &rss.resident_bytes) || !cursor_varint(body, &rss.huge_bytes))
        return cut_off;
    rss.process_index =
        number <= UINT32_MAX ? capture_process_index(capture, (uint32_t)number) : UINT32_MAX;
    if (rss.process_index == UINT32_MAX)
        return "sample of an unknown process";
    if (capture->is_followed && skip_rss(capture, &rss))
        return NULL;
    if (capture->rss_count == UINT32_MAX)
        return "too many samples";
    capture->rss = memory_grow(capture->rss, &memory->rss_capacity, (size_t)capture->rss_count + 1,
                               sizeof(rss));
    capture->rss[capture->rss_count++] = rss;
    capture_load_instant(capture, rss.time_ns);
    return NULL;
}

record_fault capture_load_bound(struct capture *capture, struct cursor *body)
{
    uint64_t number, segment;
    uint32_t index;

    if (!cursor_varint(body, &number) || !cursor_varint(body, &segment))
        return cut_off;
    index = number <= UINT32_MAX ? capture_process_index(capture, (uint32_t)number) : UINT32_MAX;
    if (index == UINT32_MAX)
        return "bound of an unknown process";
    capture->processes[index].bound_segment = segment;
    return NULL;
}

static record_fault add_mark_name(struct capture *capture, uint64_t number, const char *name)
{
    struct capture_memory *memory = capture->memory;

    if (number != capture->mark_name_count)
        return "name of a mark out of order";
    capture->mark_names =
        memory_grow(capture->mark_names, &memory->mark_name_capacity,
                    (size_t)capture->mark_name_count + 1, sizeof(*capture->mark_names));
    capture->mark_names[capture->mark_name_count++] = name;
    return NULL;
}

record_fault capture_load_name(struct capture *capture, struct cursor *body)
{
    struct cursor text;
    uint64_t kind, number;
    const char *name;

    if (!cursor_varint(body, &kind) || !cursor_varint(body, &number) || !cursor_part(body, &text))
        return cut_off;
    name = capture_load_text(capture, &text);
    if (name == NULL)
        return "name with a NUL in it";
    if (kind == NAME_MARK)
        return add_mark_name(capture, number, name);
    if (kind != NAME_POOL)
        return NULL;
    if (number < ALLOCATOR_POOL || number >= CAPTURE_POOLS)
        return "name of an impossible pool";
    capture->pool_names[number] = name;
    return NULL;
}

const char *capture_mark_name(const struct capture *capture, uint64_t number)
{
    return number < capture->mark_name_count ? capture->mark_names[number] : "";
}

record_fault capture_load_state(struct capture *capture, struct cursor *body)
{
    struct capture_memory *memory = capture->memory;
    uint64_t time_ns, state, cause;

    if (!cursor_varint(body, &time_ns) || !cursor_limited(body, UINT8_MAX, &state) ||
        !cursor_limited(body, UINT8_MAX, &cause))
        return cut_off;
    if (capture->state_count > 0 && time_ns < capture->states[capture->state_count - 1].time_ns)
        return "state before the one before it";
    capture->states = memory_grow(capture->states, &memory->state_capacity,
                                  (size_t)capture->state_count + 1, sizeof(*capture->states));
    capture->states[capture->state_count++] =
        (struct capture_state_change){time_ns, (uint8_t)state, (uint8_t)cause};
    capture_load_instant(capture, time_ns);
    return NULL;
}

record_fault capture_load_sampling(struct capture *capture, struct cursor *body)
{
    struct capture_memory *memory = capture->memory;
    uint64_t time_ns, level, cause;

    if (!cursor_varint(body, &time_ns) || !cursor_limited(body, UINT8_MAX, &level) ||
        !cursor_limited(body, UINT8_MAX, &cause))
        return cut_off;
    if (level == 0 || level > SAMPLE_LEVEL_MOST)
        return "sampling at an unknown level";
    if (capture->sampling_count > 0 &&
        time_ns < capture->samplings[capture->sampling_count - 1].time_ns)
        return "sampling before the one before it";
    capture->samplings =
        memory_grow(capture->samplings, &memory->sampling_capacity,
                    (size_t)capture->sampling_count + 1, sizeof(*capture->samplings));
    capture->samplings[capture->sampling_count++] =
        (struct capture_sampling){time_ns, (uint8_t)level, (uint8_t)cause};
    capture_load_instant(capture, time_ns);
    return NULL;
}

record_fault capture_load_mark(struct capture *capture, struct cursor *body)
{
    struct capture_memory *memory = capture->memory;
    struct capture_mark mark = {.process_index = UINT32_MAX};
    uint64_t number;
    struct cursor text;

    if (!cursor_varint(body, &mark.time_ns) || !cursor_limited(body, UINT32_MAX, &number) ||
        !cursor_part(body, &text))
        return cut_off;
    mark.name = capture_load_text(capture, &text);
    if (mark.name == NULL)
        return "name with a NUL in it";
    if (capture->mark_count > 0 && mark.time_ns < capture->marks[capture->mark_count - 1].time_ns)
        return "mark before the one before it";
    if (number != 0)
        mark.process_index = capture_process_index(capture, (uint32_t)number);
    capture->marks = memory_grow(capture->marks, &memory->mark_capacity,
                                 (size_t)capture->mark_count + 1, sizeof(*capture->marks));
    capture->marks[capture->mark_count++] = mark;
    capture_load_instant(capture, mark.time_ns);
    return NULL;
}

uint64_t capture_largest_mean(const struct capture *capture)
{
    uint64_t mean_bytes = capture->session.sample_bytes;

    for (uint32_t i = 0; i < capture->sampling_count; i++)
        if (SAMPLE_LEVEL_BYTES(capture->samplings[i].level) > mean_bytes)
            mean_bytes = SAMPLE_LEVEL_BYTES(capture->samplings[i].level);
    return mean_bytes;
}

bool capture_has_silence(const struct capture *capture, uint64_t from_ns, uint64_t to_ns)
{
    for (uint32_t i = 0; i < capture->state_count; i++) {
        const struct capture_state_change *change = &capture->states[i];
        bool is_silence = change->state == POOL_DORMANT || change->state == POOL_PAUSED;

        if (is_silence && change->time_ns >= from_ns && change->time_ns <= to_ns)
            return true;
    }
    return false;
}
