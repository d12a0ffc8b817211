/*
 * Limits. Clock thread.
 *
 * What cannot be read is not written: a limit that is not there is never made up. Processes of one
 * cgroup share what is read of it. Page cache is charged to cgroups too, and fills them up where there
 * is much to read, but it goes when memory is needed: it does not count here. Finding out how much it
 * is takes long, so that is done when the cgroup holds more than ever before, else once a second.
 */
#include "collect/limits.h"

#include "base/memory.h"
#include "collect/proc_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ROUND_NS = 10000000,
    CACHE_NS = 1000000000,
    CACHE_SHARE = 500, /* of the time at most 1 / so much in memory.stat */
    MAX_AT_ONCE = 16,  /* processes in a round */
    TEXT_BYTES = 8192,
};

void limits_init(struct limits *limits, const char *mountinfo)
{
    cgroup_find_mounts(&limits->mounts, mountinfo);
}

void limits_finish(struct limits *limits)
{
    for (uint32_t i = 0; i < LIMITS_MAX_PATHS; i++)
        free(limits->paths[i].path);
    for (uint32_t i = 0; i < limits->cgroup_count; i++) {
        free(limits->cgroups[i].path);
        if (limits->cgroups[i].has_file)
            close(limits->cgroups[i].file);
    }
    *limits = (struct limits){.looked_ns = 0};
}

static bool is_same(const struct limits_value *left, const struct limits_value *right)
{
    return left->is_set == right->is_set &&
           (!left->is_set || (left->bytes == right->bytes && left->cgroup == right->cgroup));
}

/* Write a limit when it is another one than the last written. process: 0 is the machine. */
static void write_limit(struct records *records, uint32_t process, uint64_t time_ns,
                        enum limit_kind kind, const struct limits_value *value,
                        struct limits_value *last)
{
    if (is_same(value, last))
        return;
    *last = *value;
    records_begin(records, RECORD_LIMIT);
    records_number(records, process);
    records_number(records, time_ns);
    records_number(records, kind);
    records_number(records, value->is_set);
    records_number(records, value->is_set ? value->bytes : 0);
    records_number(records, value->is_set ? value->cgroup : 0);
    records_end(records);
}

static void write_use(struct records *records, enum use_kind kind, uint32_t owner, uint64_t time_ns,
                      uint64_t bytes)
{
    records_begin(records, RECORD_USE);
    records_number(records, kind);
    records_number(records, owner);
    records_number(records, time_ns);
    records_number(records, bytes);
    records_end(records);
}

static void look_at_machine(struct limits *limits, struct session *session, struct records *records,
                            uint64_t now_ns)
{
    struct limits_value memory = {.is_set = true}, swap = {.is_set = false};

    if (limits->machine_ns != 0 && now_ns - limits->machine_ns < LIMITS_QUIET_NS)
        return;
    limits->machine_ns = now_ns;
    if (!proc_machine(&memory.bytes, &swap.bytes))
        return;
    swap.is_set = swap.bytes > 0;
    limits->swap_bytes = swap.bytes;
    write_limit(records, 0, now_ns - session->start_ns, LIMIT_MACHINE, &memory,
                &limits->machine[LIMIT_MACHINE]);
    write_limit(records, 0, now_ns - session->start_ns, LIMIT_SWAP, &swap,
                &limits->machine[LIMIT_SWAP]);
}

/* The number of the cgroup that so many bytes of a path name, written when it is new. 0: no room. */
static uint32_t number_of(struct limits *limits, const struct cgroup_mount *mount, const char *path,
                          size_t length, struct records *records)
{
    struct limits_cgroup *cgroup;
    char name[2 * PATH_MAX];

    for (uint32_t i = 0; i < limits->cgroup_count; i++)
        if (strncmp(limits->cgroups[i].path, path, length) == 0 &&
            limits->cgroups[i].path[length] == '\0')
            return i + 1;
    if (limits->cgroup_count == LIMITS_MAX_CGROUPS)
        return 0;
    cgroup = &limits->cgroups[limits->cgroup_count++];
    cgroup->path = memory_copy_text(path);
    cgroup->path[length] = '\0';
    cgroup->file = cgroup_open_current(mount, path, length);
    cgroup->has_file = cgroup->file >= 0;
    snprintf(name, sizeof(name), "%s%s", mount->root, cgroup->path);
    if (name[0] == '\0')
        snprintf(name, sizeof(name), "/");
    records_begin(records, RECORD_CGROUP);
    records_number(records, limits->cgroup_count);
    records_text(records, name, strlen(name));
    records_end(records);
    return limits->cgroup_count;
}

static void read_limit(struct limits *limits, const struct cgroup_mount *mount, const char *path,
                       const char *name, struct records *records, struct limits_value *ret_value)
{
    size_t length;

    *ret_value = (struct limits_value){.is_set = false};
    if (!cgroup_limit(mount, path, name, &ret_value->bytes, &length))
        return;
    ret_value->is_set = true;
    ret_value->cgroup = number_of(limits, mount, path, length, records);
}

/* The limits where a path leads, read once a second. */
static const struct limits_path *look_at_path(struct limits *limits,
                                              const struct cgroup_mount *mount, const char *text,
                                              struct records *records, uint64_t now_ns)
{
    struct limits_path *path = NULL;

    for (uint32_t i = 0; i < LIMITS_MAX_PATHS && path == NULL; i++)
        if (limits->paths[i].path != NULL && strcmp(limits->paths[i].path, text) == 0)
            path = &limits->paths[i];
    if (path != NULL && now_ns - path->looked_ns < LIMITS_LOOK_NS / 2)
        return path;
    if (path == NULL) {
        path = &limits->paths[limits->next_path++ % LIMITS_MAX_PATHS];
        free(path->path);
        path->path = memory_copy_text(text);
    }
    path->looked_ns = now_ns;
    read_limit(limits, mount, text,
               mount->version == CGROUP_V1 ? "memory.limit_in_bytes" : "memory.max", records,
               &path->maximum);
    path->high = (struct limits_value){.is_set = false};
    if (mount->version == CGROUP_V2)
        read_limit(limits, mount, text, "memory.high", records, &path->high);
    return path;
}

static void note_in_force(struct limits *limits, const struct limits_value *value, uint64_t now_ns)
{
    if (value->is_set && value->cgroup != 0)
        limits->cgroups[value->cgroup - 1].in_force_ns = now_ns;
}

/* The limits of a process's cgroup; those that cannot be read stay as they are. */
static void read_cgroup_limits(struct limits *limits, uint32_t pid, struct records *records,
                               uint64_t now_ns, struct limits_value ret_values[LIMIT_KIND_COUNT])
{
    char text[TEXT_BYTES], path[PATH_MAX];
    ssize_t size_bytes = proc_read(pid, "cgroup", text, sizeof(text) - 1);
    const struct cgroup_mount *mount;
    const struct limits_path *found;

    if (size_bytes <= 0)
        return;
    text[size_bytes] = '\0';
    mount = cgroup_of(&limits->mounts, text, path);
    if (mount == NULL)
        return;
    found = look_at_path(limits, mount, path, records, now_ns);
    ret_values[mount->version == CGROUP_V1 ? LIMIT_CGROUP_V1 : LIMIT_CGROUP_MAX] = found->maximum;
    ret_values[LIMIT_CGROUP_HIGH] = found->high;
    note_in_force(limits, &found->maximum, now_ns);
    note_in_force(limits, &found->high, now_ns);
}

static void look_at_swap(struct limits_process *process, uint32_t pid, struct records *records,
                         uint64_t time_ns)
{
    uint64_t bytes;

    if (!proc_swapped(pid, &bytes) || bytes == process->swapped_bytes)
        return;
    process->swapped_bytes = bytes;
    write_use(records, USE_SWAP, process->number, time_ns, bytes);
}

/* What stands in values becomes what is known of a process, unless its slot is another's by now. */
static void take_values(struct limits_process *known, const struct session *session, uint32_t index,
                        struct records *records, uint64_t now_ns,
                        const struct limits_value values[LIMIT_KIND_COUNT])
{
    if (known->number !=
        atomic_load_explicit(&session->processes[index].number, memory_order_acquire))
        return;
    for (unsigned kind = 1; kind < LIMIT_KIND_COUNT; kind++)
        write_limit(records, known->number, now_ns - session->start_ns, (enum limit_kind)kind,
                    &values[kind], &known->values[kind]);
}

/* A process's own limits. values: those that cannot be read stay as they are. */
static void read_own_limits(uint32_t pid, struct limits_value values[LIMIT_KIND_COUNT])
{
    struct proc_limit address, data;

    if (!proc_limits(pid, &address, &data))
        return;
    values[LIMIT_ADDRESS_SPACE] = (struct limits_value){address.is_set, address.bytes, 0};
    values[LIMIT_DATA] = (struct limits_value){data.is_set, data.bytes, 0};
}

/* Look at one of the processes. is_whole: not for its own limits alone. */
static void look_at_process(struct limits *limits, struct session *session, struct records *records,
                            uint32_t index, uint64_t now_ns, bool is_whole)
{
    const struct process *process = &session->processes[index];
    struct limits_process *known = &limits->processes[index];
    uint32_t pid = atomic_load_explicit(&process->pid, memory_order_relaxed);
    struct limits_value values[LIMIT_KIND_COUNT];

    memcpy(values, known->values, sizeof(values));
    if (is_whole)
        read_cgroup_limits(limits, pid, records, now_ns, values);
    read_own_limits(pid, values);
    take_values(known, session, index, records, now_ns, values);
    if (is_whole && (limits->swap_bytes > 0 || known->swapped_bytes > 0))
        look_at_swap(known, pid, records, now_ns - session->start_ns);
}

/* Whether it is this process's turn. */
static bool is_due(struct limits_process *known, const struct process *process, uint64_t now_ns)
{
    uint32_t number = atomic_load_explicit(&process->number, memory_order_acquire);
    uint32_t activity = atomic_load_explicit(&process->activity, memory_order_relaxed);

    if (process_phase(process) != PHASE_LIVE || number == 0 ||
        atomic_load_explicit(&process->pid, memory_order_relaxed) == 0)
        return false;
    if (known->number != number)
        *known = (struct limits_process){.number = number};
    else if (now_ns - known->looked_ns <
             (activity != known->activity ? LIMITS_LOOK_NS : LIMITS_QUIET_NS))
        return false;
    known->activity = known->activity_asked = activity;
    known->looked_ns = known->asked_ns = now_ns;
    return true;
}

/* Whether it is to be asked for its own limits, between its turns. */
static bool is_to_ask(struct limits_process *known, const struct process *process, uint64_t now_ns)
{
    uint32_t activity = atomic_load_explicit(&process->activity, memory_order_relaxed);

    if (process_phase(process) != PHASE_LIVE || activity == known->activity_asked ||
        now_ns - known->asked_ns < LIMITS_ASK_NS ||
        known->number != atomic_load_explicit(&process->number, memory_order_acquire))
        return false;
    known->activity_asked = activity;
    known->asked_ns = now_ns;
    return true;
}

static void look_at_processes(struct limits *limits, struct session *session,
                              struct records *records, uint64_t now_ns)
{
    uint32_t limit = session_process_limit(session), looked = 0;

    for (uint32_t i = 0; i < limit && looked < MAX_AT_ONCE; i++) {
        uint32_t index = (limits->next + i) % limit;

        bool is_whole = is_due(&limits->processes[index], &session->processes[index], now_ns);

        if (!is_whole && !is_to_ask(&limits->processes[index], &session->processes[index], now_ns))
            continue;
        look_at_process(limits, session, records, index, now_ns, is_whole);
        if (++looked == MAX_AT_ONCE)
            limits->next = index + 1;
    }
}

/* What of a cgroup's memory is page cache, as far as has to be known. */
static void read_cache(struct limits *limits, struct limits_cgroup *cgroup, bool is_more)
{
    uint64_t now_ns = session_now_ns(), took_ns;
    uint64_t waited_ns = now_ns - cgroup->cache_ns;

    if (cgroup->cache_ns != 0 &&
        (waited_ns < cgroup->cache_period_ns || (!is_more && waited_ns < CACHE_NS)))
        return;
    if (!cgroup_cache(limits->mounts.v1.version != CGROUP_UNKNOWN ? &limits->mounts.v1
                                                                  : &limits->mounts.v2,
                      cgroup->path, strlen(cgroup->path), &cgroup->cache_bytes))
        cgroup->cache_bytes = 0;
    took_ns = session_now_ns() - now_ns;
    cgroup->cache_ns = now_ns;
    cgroup->cache_period_ns = took_ns * CACHE_SHARE;
}

static void look_at_cgroup(struct limits *limits, uint32_t index, struct session *session,
                           struct records *records, uint64_t now_ns)
{
    struct limits_cgroup *cgroup = &limits->cgroups[index];
    uint64_t before_bytes = cgroup->current_bytes, bytes;

    if (!cgroup->has_file || now_ns - cgroup->looked_ns < cgroup->period_ns ||
        now_ns - cgroup->in_force_ns > 2 * LIMITS_QUIET_NS)
        return;
    cgroup->looked_ns = now_ns;
    if (!cgroup_current(cgroup->file, &cgroup->current_bytes))
        return; /* it is gone */
    cgroup->period_ns = cgroup->current_bytes != before_bytes ? 0 : cgroup->period_ns * 2;
    if (cgroup->period_ns < LIMITS_CGROUP_NS)
        cgroup->period_ns = LIMITS_CGROUP_NS;
    if (cgroup->period_ns > LIMITS_CGROUP_QUIET_NS)
        cgroup->period_ns = LIMITS_CGROUP_QUIET_NS;
    read_cache(limits, cgroup, cgroup->current_bytes > cgroup->most_bytes);
    if (cgroup->current_bytes > cgroup->most_bytes)
        cgroup->most_bytes = cgroup->current_bytes;
    bytes = cgroup->current_bytes > cgroup->cache_bytes
                ? cgroup->current_bytes - cgroup->cache_bytes
                : 0;
    if (cgroup->is_written && bytes == cgroup->written_bytes)
        return;
    cgroup->is_written = true;
    cgroup->written_bytes = bytes;
    write_use(records, USE_CGROUP, index + 1, now_ns - session->start_ns, bytes);
}

void limits_look(struct limits *limits, struct session *session, struct records *records,
                 uint64_t now_ns)
{
    if (now_ns - limits->looked_ns < ROUND_NS)
        return;
    limits->looked_ns = now_ns;
    look_at_machine(limits, session, records, now_ns);
    look_at_processes(limits, session, records, now_ns);
    for (uint32_t i = 0; i < limits->cgroup_count; i++)
        look_at_cgroup(limits, i, session, records, now_ns);
}
