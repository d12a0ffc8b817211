/*
 * Limits and what counts against them, put together in the order of time. Runs in the tools.
 *
 * What holds: a subject (a process's limit, a cgroup's, the machine's) is looked at behind each instant
 * at which the limit or what counts has changed, and then both are as they stood at that instant.
 */
#include "report/nearness.h"

#include "memtrack/format.h"
#include "report/limits.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    NEAR_PART = 4, /* a limit is near when one in so many bytes of it is used */
};

#define NO_LIMIT UINT64_MAX

enum instant_type {
    INSTANT_LIMIT = 0,
    INSTANT_USE = 1,
    INSTANT_RSS = 2,
    INSTANT_END = 3,
};

struct instant {
    uint64_t time_ns;
    uint32_t index; /* in the table of its type */
    uint8_t type;   /* enum instant_type; of equal times in this order */
};

/* A limit, and what counts now. */
struct subject {
    struct nearness nearest; /* step_count 0: there never was one */
    size_t step_capacity;
    uint64_t limit_bytes; /* NO_LIMIT: there is none now */
    uint64_t resident_bytes, used_bytes;
    uint32_t member_count; /* processes that have it */
    bool is_wanted, has_use, was_seen, is_changed;
    struct subject *next_changed;
};

struct process_state {
    uint64_t resident_bytes, swapped_bytes;
    uint32_t cgroups[LIMIT_KIND_COUNT]; /* subject by kind of limit, + 1; 0: none */
};

struct finding {
    const struct capture *capture;
    uint32_t process_number;
    struct subject machine[2]; /* memory, swap */
    struct subject *own;       /* two of each process: address space, data */
    struct subject *cgroups;   /* three of each cgroup, by kind */
    struct process_state *processes;
    struct subject *changed; /* in this instant */
    uint64_t now_ns;
};

/* Is least left now? */
static void look(struct finding *finding, struct subject *subject)
{
    struct nearness *nearest = &subject->nearest;
    uint64_t used = subject->has_use ? subject->used_bytes : subject->resident_bytes;
    uint64_t left = used < subject->limit_bytes ? subject->limit_bytes - used : 0;

    if (subject->limit_bytes == NO_LIMIT)
        return;
    if (!subject->has_use && (nearest->measure != NEARNESS_RSS || used == 0))
        return; /* what counts is not known yet */
    if (subject->was_seen && left >= nearest->left_bytes)
        return;
    subject->was_seen = true;
    nearest->bytes = subject->limit_bytes;
    nearest->used_bytes = used;
    nearest->left_bytes = left;
    nearest->time_ns = finding->now_ns;
}

/* A subject has changed: it is looked at when all that is of this instant is known. */
static void change(struct finding *finding, struct subject *subject)
{
    if (subject->is_changed)
        return;
    subject->is_changed = true;
    subject->next_changed = finding->changed;
    finding->changed = subject;
}

static void look_at_changed(struct finding *finding)
{
    for (struct subject *subject; (subject = finding->changed) != NULL;) {
        look(finding, subject);
        subject->is_changed = false;
        finding->changed = subject->next_changed;
    }
}

static void set_limit(struct finding *finding, struct subject *subject, uint64_t bytes)
{
    struct nearness *nearest = &subject->nearest;

    if (subject->limit_bytes == bytes)
        return;
    subject->limit_bytes = bytes;
    nearest->steps = memory_grow(nearest->steps, &subject->step_capacity, nearest->step_count + 1,
                                 sizeof(*nearest->steps));
    nearest->steps[nearest->step_count++] = (struct nearness_step){finding->now_ns, bytes};
    change(finding, subject);
}

static struct subject *own_subject(struct finding *finding, uint32_t process_index, bool is_data)
{
    return &finding->own[2 * (size_t)process_index + is_data];
}

/* A process has it no more. */
static void leave_cgroup(struct finding *finding, uint32_t process_index, uint8_t kind)
{
    struct process_state *process = &finding->processes[process_index];
    struct subject *subject;

    if (process->cgroups[kind] == 0)
        return;
    subject = &finding->cgroups[process->cgroups[kind] - 1];
    process->cgroups[kind] = 0;
    subject->resident_bytes -= process->resident_bytes;
    if (--subject->member_count == 0)
        set_limit(finding, subject, NO_LIMIT);
}

static void take_cgroup_limit(struct finding *finding, const struct capture_limit *limit)
{
    struct process_state *process = &finding->processes[limit->process_index];
    struct subject *subject;
    uint32_t number;

    if (!limit->is_set || limit->cgroup == UINT32_MAX) {
        leave_cgroup(finding, limit->process_index, limit->kind);
        return;
    }
    number = 3 * limit->cgroup + limit->kind - LIMIT_CGROUP_MAX;
    subject = &finding->cgroups[number];
    if (process->cgroups[limit->kind] != number + 1) {
        leave_cgroup(finding, limit->process_index, limit->kind);
        process->cgroups[limit->kind] = number + 1;
        subject->member_count++;
        subject->resident_bytes += process->resident_bytes;
    }
    subject->is_wanted |=
        finding->process_number == 0 ||
        finding->capture->processes[limit->process_index].number == finding->process_number;
    set_limit(finding, subject, limit->bytes);
}

static void take_limit(struct finding *finding, const struct capture_limit *limit)
{
    uint64_t bytes = limit->is_set ? limit->bytes : NO_LIMIT;
    struct subject *subject;

    if (limit->process_index == UINT32_MAX) {
        if (limit->kind == LIMIT_MACHINE || limit->kind == LIMIT_SWAP)
            set_limit(finding, &finding->machine[limit->kind == LIMIT_SWAP], bytes);
        return;
    }
    if (limit->kind <= LIMIT_CGROUP_V1) {
        take_cgroup_limit(finding, limit);
        return;
    }
    if (limit->kind != LIMIT_ADDRESS_SPACE && limit->kind != LIMIT_DATA)
        return;
    subject = own_subject(finding, limit->process_index, limit->kind == LIMIT_DATA);
    set_limit(finding, subject, bytes);
    if (bytes == NO_LIMIT)
        subject->has_use = false; /* it is not recorded any more */
}

static void set_use(struct finding *finding, struct subject *subject, uint64_t bytes)
{
    subject->has_use = true;
    subject->used_bytes = bytes;
    change(finding, subject);
}

static void set_swapped(struct finding *finding, uint32_t process_index, uint64_t bytes)
{
    struct process_state *process = &finding->processes[process_index];
    struct subject *swap = &finding->machine[1];

    set_use(finding, swap, swap->used_bytes + bytes - process->swapped_bytes);
    process->swapped_bytes = bytes;
}

/* What the cgroup holds is known: what its processes have was only a stand-in for it. */
static void set_cgroup_use(struct finding *finding, struct subject *subject, uint64_t bytes)
{
    if (!subject->has_use)
        subject->was_seen = false;
    subject->nearest.measure = NEARNESS_CGROUP;
    set_use(finding, subject, bytes);
}

static void take_use(struct finding *finding, const struct capture_use *use)
{
    switch (use->kind) {
    case USE_CGROUP:
        for (unsigned i = 0; i < 3; i++)
            set_cgroup_use(finding, &finding->cgroups[3 * (size_t)use->owner + i], use->bytes);
        break;
    case USE_ADDRESS_SPACE:
    case USE_DATA:
        set_use(finding, own_subject(finding, use->owner, use->kind == USE_DATA), use->bytes);
        break;
    case USE_SWAP:
        set_swapped(finding, use->owner, use->bytes);
        break;
    default:
        break;
    }
}

static void set_resident(struct finding *finding, uint32_t process_index, uint64_t bytes)
{
    struct process_state *process = &finding->processes[process_index];
    uint64_t before = process->resident_bytes;

    process->resident_bytes = bytes;
    finding->machine[0].resident_bytes += bytes - before;
    change(finding, &finding->machine[0]);
    for (unsigned kind = LIMIT_CGROUP_MAX; kind <= LIMIT_CGROUP_V1; kind++) {
        struct subject *subject;

        if (process->cgroups[kind] == 0)
            continue;
        subject = &finding->cgroups[process->cgroups[kind] - 1];
        subject->resident_bytes += bytes - before;
        change(finding, subject);
    }
}

static void end_process(struct finding *finding, uint32_t process_index)
{
    set_resident(finding, process_index, 0);
    if (finding->processes[process_index].swapped_bytes > 0)
        set_swapped(finding, process_index, 0);
    for (unsigned kind = LIMIT_CGROUP_MAX; kind <= LIMIT_CGROUP_V1; kind++)
        leave_cgroup(finding, process_index, (uint8_t)kind);
    set_limit(finding, own_subject(finding, process_index, false), NO_LIMIT);
    set_limit(finding, own_subject(finding, process_index, true), NO_LIMIT);
}

static void take(struct finding *finding, const struct instant *instant)
{
    const struct capture *capture = finding->capture;

    /* What a process has when it ends it still has at that instant. */
    if (instant->time_ns != finding->now_ns || instant->type == INSTANT_END)
        look_at_changed(finding);
    finding->now_ns = instant->time_ns;
    switch (instant->type) {
    case INSTANT_LIMIT:
        take_limit(finding, &capture->limits[instant->index]);
        break;
    case INSTANT_USE:
        take_use(finding, &capture->uses[instant->index]);
        break;
    case INSTANT_RSS:
        set_resident(finding, capture->rss[instant->index].process_index,
                     capture->rss[instant->index].resident_bytes);
        break;
    default:
        end_process(finding, instant->index);
        break;
    }
}

static int compare_instants(const void *left, const void *right)
{
    const struct instant *a = left, *b = right;

    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static struct instant *list_instants(const struct capture *capture, size_t *ret_count)
{
    struct instant *instants = memory_allocate((size_t)capture->limit_count + capture->use_count +
                                                   capture->rss_count + capture->process_count,
                                               sizeof(*instants));
    size_t count = 0;

    for (uint32_t i = 0; i < capture->limit_count; i++)
        instants[count++] = (struct instant){capture->limits[i].time_ns, i, INSTANT_LIMIT};
    for (uint32_t i = 0; i < capture->use_count; i++)
        instants[count++] = (struct instant){capture->uses[i].time_ns, i, INSTANT_USE};
    for (uint32_t i = 0; i < capture->rss_count; i++)
        instants[count++] = (struct instant){capture->rss[i].time_ns, i, INSTANT_RSS};
    for (uint32_t i = 0; i < capture->process_count; i++)
        if (capture->processes[i].ended_ns > 0)
            instants[count++] = (struct instant){capture->processes[i].ended_ns, i, INSTANT_END};
    if (count > 0)
        qsort(instants, count, sizeof(*instants), compare_instants);
    *ret_count = count;
    return instants;
}

static struct subject new_subject(uint8_t kind, enum nearness_measure measure,
                                  uint32_t process_index, uint32_t cgroup, bool is_wanted)
{
    return (struct subject){.nearest = {.kind = kind,
                                        .measure = (uint8_t)measure,
                                        .process_index = process_index,
                                        .cgroup = cgroup},
                            .limit_bytes = NO_LIMIT,
                            .is_wanted = is_wanted};
}

static void init(struct finding *finding)
{
    const struct capture *capture = finding->capture;

    finding->machine[0] = new_subject(LIMIT_MACHINE, NEARNESS_RSS, UINT32_MAX, UINT32_MAX, true);
    finding->machine[1] = new_subject(LIMIT_SWAP, NEARNESS_SWAP, UINT32_MAX, UINT32_MAX, true);
    finding->processes = memory_allocate(capture->process_count, sizeof(*finding->processes));
    finding->own = memory_allocate(2 * (size_t)capture->process_count, sizeof(*finding->own));
    finding->cgroups =
        memory_allocate(3 * (size_t)capture->cgroup_count, sizeof(*finding->cgroups));
    for (uint32_t i = 0; i < capture->process_count; i++) {
        bool is_wanted =
            finding->process_number == 0 || capture->processes[i].number == finding->process_number;

        *own_subject(finding, i, false) =
            new_subject(LIMIT_ADDRESS_SPACE, NEARNESS_ADDRESS_SPACE, i, UINT32_MAX, is_wanted);
        *own_subject(finding, i, true) =
            new_subject(LIMIT_DATA, NEARNESS_DATA, i, UINT32_MAX, is_wanted);
    }
    for (uint32_t i = 0; i < capture->cgroup_count; i++)
        for (uint8_t j = 0; j < 3; j++)
            finding->cgroups[3 * (size_t)i + j] =
                new_subject((uint8_t)(LIMIT_CGROUP_MAX + j), NEARNESS_RSS, UINT32_MAX, i, false);
}

/* What was found of a subject goes to the list, or is given back. */
static void give(struct nearnesses *nearnesses, struct subject *subjects, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (subjects[i].is_wanted && subjects[i].was_seen)
            nearnesses->items[nearnesses->count++] = subjects[i].nearest;
        else
            free(subjects[i].nearest.steps);
    }
}

static int compare_nearness(const void *left, const void *right)
{
    const struct nearness *a = left, *b = right;

    if (a->left_bytes != b->left_bytes)
        return a->left_bytes < b->left_bytes ? -1 : 1;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->process_index != b->process_index)
        return a->process_index < b->process_index ? -1 : 1;
    return (a->cgroup > b->cgroup) - (a->cgroup < b->cgroup);
}

struct nearnesses nearness_find(const struct capture *capture, uint32_t process_number)
{
    struct finding finding = {.capture = capture, .process_number = process_number};
    size_t own_count = 2 * (size_t)capture->process_count;
    size_t cgroup_count = 3 * (size_t)capture->cgroup_count, count;
    struct instant *instants = list_instants(capture, &count);
    struct nearnesses found = {
        .items = memory_allocate(2 + own_count + cgroup_count, sizeof(*found.items))};

    init(&finding);
    for (size_t i = 0; i < count; i++)
        take(&finding, &instants[i]);
    look_at_changed(&finding);
    give(&found, finding.machine, 2);
    give(&found, finding.own, own_count);
    give(&found, finding.cgroups, cgroup_count);
    qsort(found.items, found.count, sizeof(*found.items), compare_nearness);
    free(instants);
    free(finding.processes);
    free(finding.own);
    free(finding.cgroups);
    return found;
}

bool nearness_is_near(const struct nearness *nearness)
{
    return nearness->used_bytes >= nearness->bytes / NEAR_PART;
}

const struct nearness *nearness_nearest(const struct nearnesses *nearnesses)
{
    for (size_t i = 0; i < nearnesses->count; i++) {
        const struct nearness *nearness = &nearnesses->items[i];

        if ((nearness->kind != LIMIT_MACHINE && nearness->kind != LIMIT_SWAP) ||
            nearness_is_near(nearness))
            return nearness;
    }
    return NULL;
}

const char *nearness_name(struct memory_pool *pool, const struct capture *capture,
                          const struct nearness *nearness)
{
    char text[64];
    int length;

    if (nearness->kind == LIMIT_MACHINE)
        return "memory of the machine";
    if (nearness->kind == LIMIT_SWAP)
        return "swap of the machine";
    if (nearness->process_index >= capture->process_count)
        length = snprintf(text, sizeof(text), "%s of the cgroup", limit_name(nearness->kind));
    else if (capture->process_count > 1)
        length = snprintf(text, sizeof(text), "%s of process %u", limit_name(nearness->kind),
                          capture->processes[nearness->process_index].pid);
    else
        return limit_name(nearness->kind);
    return memory_pool_copy(pool, text, (size_t)length);
}

const char *nearness_measure_name(uint8_t measure)
{
    static const char *const names[] = {
        [NEARNESS_RSS] = "rss",
        [NEARNESS_CGROUP] = "cgroup",
        [NEARNESS_ADDRESS_SPACE] = "address_space",
        [NEARNESS_DATA] = "data",
        [NEARNESS_SWAP] = "swap",
    };

    return measure < sizeof(names) / sizeof(names[0]) ? names[measure] : "unknown";
}

void nearness_finish(struct nearnesses *nearnesses)
{
    for (size_t i = 0; i < nearnesses->count; i++)
        free(nearnesses->items[i].steps);
    free(nearnesses->items);
    *nearnesses = (struct nearnesses){.items = NULL};
}
