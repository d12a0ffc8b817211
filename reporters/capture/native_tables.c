/*
 * The records of native stacks: modules and native nodes. Runs in the tools.
 *
 * What holds: as in tables.c, an entry refers to entries before it alone, so whoever reads a table
 * need not check again.
 */
#include "capture/load.h"

#include "memtrack/format.h"

static const char cut_off[] = "record cut off";

static bool take_u64(struct cursor part, uint64_t *ret_value)
{
    return cursor_varint(&part, ret_value);
}

/* Returns why a field is refused; one that this version does not know is passed over. */
static record_fault take_module_field(struct capture *capture, struct capture_module *module,
                                      uint64_t field, struct cursor part)
{
    struct capture_memory *memory = capture->memory;
    bool is_right = true;
    uint64_t value;

    switch (field) {
    case MODULE_KIND:
        is_right = cursor_limited(&part, UINT8_MAX, &value);
        module->kind = is_right ? (uint8_t)value : 0;
        break;
    case MODULE_PATH:
        module->path = capture_load_text(capture, &part);
        return module->path == NULL ? "path with a NUL in it" : NULL;
    case MODULE_BUILD_ID:
        module->build_id_bytes = (uint32_t)part.left_bytes;
        module->build_id = (const uint8_t *)memory_pool_copy(
            &memory->pool, (const char *)part.bytes, part.left_bytes);
        break;
    case MODULE_EXTENT_BYTES:
        is_right = take_u64(part, &module->extent_bytes);
        break;
    case MODULE_FILE_BYTES:
        is_right = take_u64(part, &module->file_bytes);
        break;
    case MODULE_CHANGED_NS:
        is_right = take_u64(part, &module->changed_ns);
        break;
    case MODULE_PROCESS:
        is_right = cursor_limited(&part, UINT32_MAX, &value);
        if (is_right)
            module->process_index = capture_process_index(capture, (uint32_t)value);
        if (is_right && module->process_index == UINT32_MAX)
            return "module of an unknown process";
        break;
    default:
        break;
    }
    return is_right ? NULL : "number that does not fit its field";
}

record_fault capture_load_module(struct capture *capture, struct cursor *body)
{
    struct capture_memory *memory = capture->memory;
    struct capture_module module = {
        .path = "", .build_id = (const uint8_t *)"", .process_index = UINT32_MAX};
    struct cursor part;
    uint64_t field, number;

    if (!cursor_varint(body, &field) || !cursor_part(body, &part))
        return cut_off;
    if (field != MODULE_NUMBER || !take_u64(part, &number))
        return "module without a number";
    if (number != capture->module_count)
        return "module out of order";
    while (cursor_varint(body, &field) && cursor_part(body, &part)) {
        record_fault fault = take_module_field(capture, &module, field, part);

        if (fault != NULL)
            return fault;
    }
    if (body->left_bytes > 0)
        return cut_off;
    capture->modules = memory_grow(capture->modules, &memory->module_capacity,
                                   (size_t)capture->module_count + 1, sizeof(module));
    capture->modules[capture->module_count++] = module;
    return NULL;
}

record_fault capture_load_native_nodes(struct capture *capture, struct cursor *body)
{
    struct capture_memory *memory = capture->memory;
    uint64_t first, count;

    if (!cursor_varint(body, &first) || !cursor_varint(body, &count))
        return cut_off;
    if (first != capture->native_node_count)
        return "native node out of order";
    for (; count > 0; count--) {
        uint64_t parent, module, offset;

        if (!cursor_varint(body, &parent) || !cursor_varint(body, &module) ||
            !cursor_varint(body, &offset))
            return cut_off;
        if (parent >= capture->native_node_count)
            return "native node of an unknown parent";
        if (module >> NATIVE_NODE_SHIFT >= capture->module_count)
            return "native node of an unknown module";
        if (capture->native_node_count == UINT32_MAX)
            return "too many native nodes";
        capture->native_nodes =
            memory_grow(capture->native_nodes, &memory->native_node_capacity,
                        (size_t)capture->native_node_count + 1, sizeof(*capture->native_nodes));
        capture->native_nodes[capture->native_node_count++] = (struct capture_native_node){
            .parent = (uint32_t)parent,
            .module = (uint32_t)(module >> NATIVE_NODE_SHIFT),
            .offset = offset,
            .is_exact = (module & NATIVE_NODE_EXACT) != 0,
            .is_eval = (module & NATIVE_NODE_EVAL) != 0,
        };
    }
    return NULL;
}
