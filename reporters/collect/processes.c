/*
 * Processes welcomed, identified, described, ended and freed. Main thread.
 *
 * The kernel is asked, not the processes: a pidfd says when one has ended, its peer's credentials or
 * its memory map say which one it is.
 */
#include "collect/processes.h"

#include "base/memory.h"
#include "collect/proc_files.h"
#include "collect/records.h"
#include "collect/starter.h"
#include "memtrack/format.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ARGUMENTS_MAX_BYTES = 64 << 10,
    LOOK_NS = 20000000,   /* between looks for a pid that is not known */
    LOOKS_IN_VAIN = 2,    /* and nothing recorded in between: it is gone */
    LOOKS_AFTER_EXEC = 5, /* then it was a child that shares the memory (vfork) */
};

void processes_init(struct session *session)
{
    session->processes = memory_allocate(POOL_PROCESS_COUNT, sizeof(*session->processes));
    for (uint32_t i = 0; i < POOL_PROCESS_COUNT; i++) {
        session->processes[i].slot = i;
        session->processes[i].pidfd = -1;
    }
}

static void forget(struct process *process)
{
    if (process->pidfd >= 0)
        close(process->pidfd);
    free(process->arguments);
    free(process->executable);
    process->pidfd = -1;
    process->arguments = process->executable = NULL;
    process->argument_bytes = 0;
    process->is_described = false;
    process->looks = process->execs_seen = 0;
    process->looked_ns = 0;
    process->number = process->parent_number = 0;
    process->ended_ns = 0;
    process->end = 0;
    process->end_code = 0;
    atomic_store_explicit(&process->pid, 0, memory_order_relaxed);
    atomic_store_explicit(&process->execs, 0, memory_order_relaxed);
}

void processes_finish(struct session *session)
{
    if (session->processes == NULL)
        return;
    for (uint32_t i = 0; i < POOL_PROCESS_COUNT; i++)
        forget(&session->processes[i]);
    free(session->processes);
    session->processes = NULL;
}

static bool is_alive(const struct process *process)
{
    enum process_phase phase = process_phase(process);

    return phase == PHASE_WELCOME || phase == PHASE_LIVE;
}

static struct process *find_pid(struct session *session, uint32_t pid)
{
    for (uint32_t i = 0; pid != 0 && i < session_process_limit(session); i++) {
        struct process *process = &session->processes[i];

        if (is_alive(process) && atomic_load_explicit(&process->pid, memory_order_relaxed) == pid)
            return process;
    }
    return NULL;
}

/* Read what it runs while it is there to be asked. */
static void read_description(struct process *process, uint32_t pid)
{
    char executable[PATH_MAX];
    char *arguments = memory_allocate(ARGUMENTS_MAX_BYTES, 1);
    ssize_t size_bytes = proc_read(pid, "cmdline", arguments, ARGUMENTS_MAX_BYTES);

    if (size_bytes > 0) {
        free(process->arguments);
        process->arguments = memory_allocate((size_t)size_bytes, 1);
        memcpy(process->arguments, arguments, (size_t)size_bytes);
        process->argument_bytes = (size_t)size_bytes;
    }
    free(arguments);
    if (proc_read_link(pid, "exe", executable, sizeof(executable))) {
        free(process->executable);
        process->executable = memory_copy_text(executable);
    }
}

static void set_pid(struct process *process, uint32_t pid)
{
    atomic_store_explicit(&process->pid, pid, memory_order_relaxed);
    if (pid != 0)
        process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
}

static void end_process_at(struct session *session, struct process *process, uint8_t end,
                           int64_t code, uint64_t ended_ns)
{
    process->end = end;
    process->end_code = code;
    process->ended_ns = ended_ns;
    process_set_phase(process, PHASE_ENDED);
    pool_ring_doorbell(&session->pool);
}

static void end_process(struct session *session, struct process *process, uint8_t end, int64_t code)
{
    end_process_at(session, process, end, code, session_now_ns());
}

/* The drain may not have seen yet that it said its number. */
static uint32_t number_of(const struct session *session, const struct process *process)
{
    return atomic_load_explicit(&session->pool.processes[process->slot].number,
                                memory_order_acquire);
}

/* Return the process of a number that its children know; NULL when it is not in the table any more. */
static struct process *find_number(const struct session *session, uint32_t number)
{
    for (uint32_t i = 0; number != 0 && i < POOL_PROCESS_COUNT; i++) {
        struct process *process = &session->processes[i];
        uint32_t known = atomic_load_explicit(&process->number, memory_order_relaxed);

        /* The drain has not copied the number of one that has just come. */
        if ((known != 0 ? known : number_of(session, process)) == number)
            return process;
    }
    return NULL;
}

/* Return the number of the process that forked this one; 0: it was not forked, or is not known. */
static uint32_t forked_by(const struct session *session, const struct process *process)
{
    const struct pool_process *slot = &session->pool.processes[process->slot];
    uint32_t number = number_of(session, process);

    if (atomic_load_explicit(&process->number, memory_order_relaxed) != 0)
        return process->how == PROCESS_BY_FORK ? process->parent_number : 0;
    /* As the drain will see it, which does not believe in parents that came later. */
    return slot->how == PROCESS_BY_FORK && slot->parent_number < number ? slot->parent_number : 0;
}

/*
 * A forked process that cannot be asked ran what its parent runs, who may be gone when this one is
 * described.
 */
static void inherit_description(const struct session *session, struct process *process)
{
    const struct process *parent = find_number(session, forked_by(session, process));

    /* A parent's number is less than the child's. */
    while (parent != NULL && parent->arguments == NULL)
        parent = find_number(session, forked_by(session, parent));
    if (process->arguments != NULL || parent == NULL || parent->arguments == NULL)
        return;
    process->arguments = memory_allocate(parent->argument_bytes, 1);
    memcpy(process->arguments, parent->arguments, parent->argument_bytes);
    process->argument_bytes = parent->argument_bytes;
    if (process->executable == NULL && parent->executable != NULL)
        process->executable = memory_copy_text(parent->executable);
}

/*
 * Is this the slot of a forked process that nobody has looked for yet, not even the drain? What it
 * says there is only compared.
 */
static bool is_new_fork(const struct session *session, const struct process *process)
{
    const struct pool_process *slot = &session->pool.processes[process->slot];
    enum process_phase phase = process_phase(process);

    /* Acquire: who sees LIVE sees what the slot says. */
    return (phase == PHASE_FREE || phase == PHASE_LIVE) &&
           atomic_load_explicit(&process->pid, memory_order_relaxed) == 0 &&
           atomic_load_explicit(&slot->state, memory_order_acquire) == PROCESS_LIVE &&
           slot->how == PROCESS_BY_FORK;
}

/*
 * Find the process that has this pid now, though it may have taken its slot a moment ago. Where it
 * sees itself as we do, it is the last one that said so; else there may be strangers who have the
 * same pid in namespaces of their own, and its parent has to be known.
 */
static struct process *find_process(struct session *session, uint32_t pid)
{
    struct process *found = find_pid(session, pid);
    uint32_t inner_pid, number = 0;

    if (found != NULL || pid == 0 || session->processes == NULL)
        return found;
    inner_pid = proc_inner_pid(pid);
    for (uint32_t i = 0; inner_pid != 0 && i < POOL_PROCESS_COUNT; i++) {
        struct process *process = &session->processes[i];
        const struct pool_process *slot = &session->pool.processes[i];
        const struct process *parent;

        if (!is_new_fork(session, process) || slot->pid != inner_pid ||
            number_of(session, process) < number)
            continue;
        parent = find_number(session, slot->parent_number);
        if (inner_pid != pid &&
            (parent == NULL ||
             atomic_load_explicit(&parent->pid, memory_order_relaxed) != proc_parent(pid)))
            continue;
        found = process;
        number = number_of(session, process);
    }
    return found;
}

/* The image before is gone: what it recorded is in its rings. */
static void end_image(struct session *session, struct process *process, uint32_t pid)
{
    struct pool_process *slot = &session->pool.processes[process->slot];

    if (atomic_load_explicit(&process->pid, memory_order_relaxed) == 0) {
        set_pid(process, pid);
        inherit_description(session, process);
        slot->outer_pid = pid;
        session_use_slot(session, process->slot);
    }
    end_process(session, process, END_EXEC, 0);
}

int processes_welcome(struct session *session, uint32_t pid, uint32_t how)
{
    struct process *before = find_process(session, pid);
    struct process *parent = before != NULL ? before : find_process(session, proc_parent(pid));

    for (uint32_t i = 0; i < POOL_PROCESS_COUNT; i++) {
        struct pool_process *slot = &session->pool.processes[i];
        struct process *process = &session->processes[i];
        uint32_t is_free = PROCESS_FREE;

        if (process_phase(process) != PHASE_FREE ||
            !atomic_compare_exchange_strong(&slot->state, &is_free, PROCESS_CLAIMED))
            continue;
        if (before != NULL)
            end_image(session, before, pid);
        slot->outer_pid = pid;
        if (how == PROCESS_BY_EXEC && parent != NULL)
            process->parent_number = number_of(session, parent);
        set_pid(process, pid);
        if (pid != 0)
            read_description(process, pid);
        process_set_phase(process, PHASE_WELCOME);
        session_use_slot(session, i);
        return (int)i;
    }
    return PROCESSES_NO_SLOT;
}

static uint64_t pool_inode(const struct session *session)
{
    struct stat status;

    return fstat(session->pool.fd, &status) == 0 ? status.st_ino : 0;
}

static bool is_not_in_table(void *session, uint32_t pid)
{
    return find_pid(session, pid) == NULL;
}

/* Return the parent's pid when it sees itself as we do, 0 when not or not known. */
static uint32_t find_parent_pid(const struct session *session, const struct process *process)
{
    const struct process *parent = find_number(session, process->parent_number);
    uint32_t pid = parent != NULL ? atomic_load_explicit(&parent->pid, memory_order_relaxed) : 0;

    return pid != 0 && pid == parent->inner_pid ? pid : 0;
}

/*
 * Which process is it that took a slot by itself, after a fork? In most cases it is in our
 * namespace, and there is no need to look at all others.
 * ret_is_image: whether it runs what it ran when it took the slot.
 */
static uint32_t search_pid(struct session *session, const struct process *process,
                           bool *ret_is_image)
{
    uint32_t inner_pid = process->inner_pid, seen_pid = proc_inner_pid(inner_pid);
    uint32_t parent_pid = find_parent_pid(session, process);
    uint64_t inode = pool_inode(session);

    *ret_is_image = false;
    if (seen_pid == inner_pid && is_not_in_table(session, inner_pid)) {
        if (proc_maps_inode(inner_pid, inode) == PROC_YES) {
            *ret_is_image = true;
            return inner_pid;
        }
        /*
         * It has ended, or executes another program by now, or its memory is not ours to look at
         * (setuid). Who its parent is tells it from a stranger who has its pid in our namespace.
         */
        if (parent_pid != 0 && proc_parent(inner_pid) == parent_pid)
            return inner_pid;
    }
    /* Nobody has that pid: the child of a parent in our namespace has ended and was waited for. */
    if (seen_pid == 0 && parent_pid != 0)
        return 0;
    *ret_is_image = true;
    return proc_find(inode, inner_pid, is_not_in_table, session);
}

/* Returns true when another look is due. */
static bool identify(struct session *session, struct process *process)
{
    uint32_t activity = atomic_load_explicit(&process->activity, memory_order_relaxed);
    uint64_t now_ns = session_now_ns();
    uint32_t pid;
    bool is_image;

    if (process->looks > 0 && now_ns - process->looked_ns < LOOK_NS)
        return true;
    process->looked_ns = now_ns;
    pid = search_pid(session, process, &is_image);
    if (pid != 0) {
        set_pid(process, pid);
        if (is_image)
            read_description(process, pid);
        inherit_description(session, process);
        session->pool.processes[process->slot].outer_pid = pid;
        process->looks = 0;
        return false;
    }
    if (activity != process->activity_seen)
        process->looks = 0;
    process->activity_seen = activity;
    if (process->looks == 0) {
        process->missed_ns = now_ns;
        inherit_description(session, process);
    }
    if (++process->looks <= LOOKS_IN_VAIN)
        return true;
    end_process_at(session, process, END_UNKNOWN, 0, process->missed_ns);
    return false;
}

static void describe(struct session *session, struct process *process)
{
    struct records records = {0};
    const char *at = process->arguments, *end = at + process->argument_bytes;

    records_begin(&records, RECORD_PROCESS);
    records_field_number(&records, PROCESS_NUMBER, process->number);
    records_field_number(&records, PROCESS_PID,
                         atomic_load_explicit(&process->pid, memory_order_relaxed));
    while (at != NULL && at < end) {
        size_t length = strnlen(at, (size_t)(end - at));

        records_field_text(&records, PROCESS_ARGUMENT, at, length);
        at += length + 1;
    }
    if (process->executable != NULL)
        records_field_text(&records, PROCESS_EXECUTABLE, process->executable,
                           strlen(process->executable));
    records_end(&records);
    pack_put_records(session->pack, records.bytes, records.size_bytes, records.count);
    records_finish(&records);
    process->is_described = true;
}

static bool has_ended(const struct process *process)
{
    struct pollfd end = {.fd = process->pidfd, .events = POLLIN};
    uint32_t pid = atomic_load_explicit(&process->pid, memory_order_relaxed);

    /* Without a pidfd (too many files) its end is seen once it has been waited for. */
    if (process->pidfd < 0)
        return pid != 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
    return poll(&end, 1, 0) > 0 && (end.revents & POLLIN) != 0;
}

/*
 * It ran, as we see by its pidfd; how it ended is known while it is a zombie, or to new kernels. Who
 * has waited for the program is about to say it.
 */
static void note_end(struct session *session, struct process *process)
{
    uint32_t pid = atomic_load_explicit(&process->pid, memory_order_relaxed);
    const struct starter *starter = session->starter;
    bool is_program = starter != NULL && starter->program == pid;
    int status;

    if (!proc_exit_status(pid, process->pidfd, &status)) {
        if (is_program && !starter->has_ended)
            return;
        if (!is_program || !starter->has_status) {
            end_process(session, process, END_UNKNOWN, 0);
            return;
        }
        status = starter->status;
    }
    if (WIFSIGNALED(status))
        end_process(session, process, END_SIGNAL, WTERMSIG(status));
    else
        end_process(session, process, END_CODE, WEXITSTATUS(status));
}

/*
 * It said that it would exec: if its memory is another now, and the new image has not come to us,
 * it is untracked from now on. Returns true when another look is due.
 */
static bool look_after_exec(struct session *session, struct process *process)
{
    uint32_t execs = atomic_load_explicit(&process->execs, memory_order_relaxed);
    uint32_t pid = atomic_load_explicit(&process->pid, memory_order_relaxed);
    uint64_t now_ns = session_now_ns();

    if (execs == process->execs_seen || pid == 0)
        return false;
    if (now_ns - process->looked_ns < LOOK_NS)
        return true;
    process->looked_ns = now_ns;
    if (proc_maps_inode(pid, pool_inode(session)) == PROC_NO && !has_ended(process)) {
        end_process(session, process, END_EXEC, 0);
        return false;
    }
    if (++process->looks < LOOKS_AFTER_EXEC)
        return true;
    process->looks = 0;
    process->execs_seen = execs;
    return false;
}

static void free_process(struct session *session, struct process *process)
{
    struct pool_process *slot = &session->pool.processes[process->slot];

    if (!process->is_described && process->number != 0)
        describe(session, process);
    forget(process);
    slot->pid = slot->outer_pid = slot->parent_number = 0;
    slot->how = slot->flags = 0;
    slot->first_segment = slot->started_ns = 0;
    for (uint32_t i = 0; i < POOL_COUNTER_COUNT; i++)
        atomic_store_explicit(&slot->counters[i], 0, memory_order_relaxed);
    atomic_store_explicit(&slot->number, 0, memory_order_relaxed);
    process_set_phase(process, PHASE_FREE);
    /* Release: the next claimer finds it empty. The epoch goes on. */
    atomic_store_explicit(&slot->state, PROCESS_FREE, memory_order_release);
}

static bool look_at(struct session *session, struct process *process)
{
    enum process_phase phase = process_phase(process);
    bool is_under_way = false;

    if (phase == PHASE_LIVE && atomic_load_explicit(&process->pid, memory_order_relaxed) == 0)
        is_under_way = identify(session, process);
    if (phase == PHASE_LIVE && !process->is_described && !is_under_way)
        describe(session, process);
    if (is_alive(process) && has_ended(process))
        note_end(session, process);
    if (phase == PHASE_LIVE && is_alive(process))
        is_under_way |= look_after_exec(session, process);
    return is_under_way;
}

bool processes_look(struct session *session)
{
    bool is_under_way = false;
    uint32_t limit = session_process_limit(session);

    for (uint32_t i = 0; i < limit; i++)
        session->processes[i].is_to_free = process_phase(&session->processes[i]) == PHASE_DRAINED;
    for (uint32_t i = 0; i < session_process_limit(session); i++)
        if (process_phase(&session->processes[i]) != PHASE_FREE)
            is_under_way |= look_at(session, &session->processes[i]);
    /* The children of those, which the drain has found before, have been looked at meanwhile. */
    for (uint32_t i = 0; i < limit; i++)
        if (session->processes[i].is_to_free)
            free_process(session, &session->processes[i]);
    return is_under_way;
}

uint32_t processes_alive(struct session *session)
{
    uint32_t count = 0;

    /* One that is looked for still may be gone: it does not count yet. */
    for (uint32_t i = 0; i < session_process_limit(session); i++) {
        const struct process *process = &session->processes[i];

        count +=
            is_alive(process) && atomic_load_explicit(&process->pid, memory_order_relaxed) != 0;
    }
    return count;
}

uint32_t processes_left(struct session *session)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < session_process_limit(session); i++)
        count += process_phase(&session->processes[i]) != PHASE_FREE;
    return count;
}

uint32_t processes_find_silent(struct session *session)
{
    return proc_find(pool_inode(session), 0, is_not_in_table, session);
}

bool processes_is_tracked(struct session *session, uint32_t pid)
{
    return pid != 0 && (find_process(session, pid) != NULL ||
                        proc_maps_inode(pid, pool_inode(session)) == PROC_YES);
}

uint32_t processes_number(struct session *session, uint32_t pid)
{
    const struct process *process = find_process(session, pid);

    return process != NULL ? number_of(session, process) : 0;
}
