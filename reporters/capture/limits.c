/*
 * The records of limits: what there is, what counts against it, and the names of cgroups.
 *
 * Runs in the tools. What holds: what stands in a table names only processes and cgroups that are in
 * theirs; limits and uses of a kind that this version does not know are passed over.
 */
#include "capture/load.h"

#include "memtrack/format.h"

static const char cut_off[] = "record cut off";

/* Index of a process. Returns false when there is none of this number. */
static bool find_process(const struct capture *capture, uint64_t number, uint32_t *ret_index)
{
    uint32_t index =
        number <= UINT32_MAX ? capture_process_index(capture, (uint32_t)number) : UINT32_MAX;

    *ret_index = index;
    return index != UINT32_MAX;
}

/* Index of a cgroup, whose numbers begin at 1. */
static bool find_cgroup(const struct capture *capture, uint64_t number, uint32_t *ret_index)
{
    if (number == 0 || number > capture->cgroup_count)
        return false;
    *ret_index = (uint32_t)(number - 1);
    return true;
}

record_fault capture_load_limit(struct capture *capture, struct cursor *body)
{
    struct capture_memory *memory = capture->memory;
    struct capture_limit limit = {.process_index = UINT32_MAX, .cgroup = UINT32_MAX};
    uint64_t process, kind, is_set, cgroup;

    if (!cursor_varint(body, &process) || !cursor_varint(body, &limit.time_ns) ||
        !cursor_varint(body, &kind) || !cursor_varint(body, &is_set) ||
        !cursor_varint(body, &limit.bytes) || !cursor_varint(body, &cgroup))
        return cut_off;
    if (process != 0 && !find_process(capture, process, &limit.process_index))
        return "limit of an unknown process";
    if (cgroup != 0 && !find_cgroup(capture, cgroup, &limit.cgroup))
        return "limit of an unknown cgroup";
    if (kind == 0 || kind >= LIMIT_KIND_COUNT)
        return NULL;
    if (capture->limit_count == UINT32_MAX)
        return "too many limits";
    limit.kind = (uint8_t)kind;
    limit.is_set = is_set != 0;
    capture->limits = memory_grow(capture->limits, &memory->limit_capacity,
                                  (size_t)capture->limit_count + 1, sizeof(*capture->limits));
    capture->limits[capture->limit_count++] = limit;
    capture_load_instant(capture, limit.time_ns);
    return NULL;
}

record_fault capture_load_use(struct capture *capture, struct cursor *body)
{
    struct capture_memory *memory = capture->memory;
    struct capture_use use;
    uint64_t kind, owner;

    if (!cursor_varint(body, &kind) || !cursor_varint(body, &owner) ||
        !cursor_varint(body, &use.time_ns) || !cursor_varint(body, &use.bytes))
        return cut_off;
    if (kind == 0 || kind >= USE_KIND_COUNT)
        return NULL;
    if (kind == USE_CGROUP ? !find_cgroup(capture, owner, &use.owner)
                           : !find_process(capture, owner, &use.owner))
        return "memory of an unknown process or cgroup";
    if (capture->use_count == UINT32_MAX)
        return "too many samples";
    use.kind = (uint8_t)kind;
    capture->uses = memory_grow(capture->uses, &memory->use_capacity,
                                (size_t)capture->use_count + 1, sizeof(*capture->uses));
    capture->uses[capture->use_count++] = use;
    capture_load_instant(capture, use.time_ns);
    return NULL;
}

record_fault capture_load_cgroup(struct capture *capture, struct cursor *body)
{
    struct capture_memory *memory = capture->memory;
    struct cursor text;
    const char *path;
    uint64_t number;

    if (!cursor_varint(body, &number) || !cursor_part(body, &text))
        return cut_off;
    if (number != (uint64_t)capture->cgroup_count + 1)
        return "cgroup out of order";
    path = capture_load_text(capture, &text);
    if (path == NULL)
        return "name with a NUL in it";
    capture->cgroups = memory_grow(capture->cgroups, &memory->cgroup_capacity, (size_t)number,
                                   sizeof(*capture->cgroups));
    capture->cgroups[capture->cgroup_count++] = path;
    return NULL;
}
