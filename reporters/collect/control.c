/*
 * The state of the recording. Main thread.
 */
#include "collect/control.h"

#include "base/memory.h"
#include "collect/processes.h"
#include "collect/records.h"
#include "collect/snapshot.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS_NS      UINT64_C(1000000)
#define CLAIMED_NS UINT64_C(1000000000)

void control_init(struct control *control, struct session *session, const char *capture_path,
                  uint64_t delay_ns, uint64_t duration_ns)
{
    *control = (struct control){
        .session = session, .capture_path = capture_path, .duration_ns = duration_ns};
    if (delay_ns > 0)
        control->begin_ns = session->start_ns + delay_ns;
}

static void write_state(const struct control *control, enum state_cause cause, uint64_t now_ns)
{
    struct records records = {0};

    records_begin(&records, RECORD_STATE);
    records_number(&records, now_ns - control->session->start_ns);
    records_number(&records, control->state);
    records_number(&records, cause);
    records_end(&records);
    pack_put_records(control->session->pack, records.bytes, records.size_bytes, records.count);
    records_finish(&records);
}

/* The duration counts from the first instant of recording. */
static void note_state(struct control *control, uint64_t now_ns)
{
    if (control->state != POOL_RECORDING)
        control->session->was_silent = true;
    else if (control->duration_ns > 0 && control->end_ns == 0)
        control->end_ns = now_ns + control->duration_ns;
}

void control_begin(struct control *control)
{
    const struct pool_header *header = control->session->pool.header;

    control->state = (enum pool_state)atomic_load_explicit(&header->state, memory_order_relaxed);
    note_state(control, control->session->start_ns);
    if (control->state != POOL_RECORDING)
        write_state(control, CAUSE_START, control->session->start_ns);
}

void control_set(struct control *control, enum pool_state state, enum state_cause cause)
{
    uint64_t now_ns = session_now_ns();

    if (control->state == state || control->state == POOL_ENDED)
        return;
    /* What never began cannot be paused. */
    if (control->state == POOL_DORMANT && state == POOL_PAUSED)
        return;
    if (state == POOL_RECORDING)
        control->begin_ns = 0;
    control->state = state;
    pool_set_state(&control->session->pool, state);
    note_state(control, now_ns);
    write_state(control, cause, now_ns);
}

void control_pause(struct control *control, enum state_cause cause)
{
    control->begin_ns = 0;
    control_set(control, POOL_PAUSED, cause);
}

bool control_is_over(struct control *control)
{
    uint64_t now_ns = session_now_ns();

    if (control->begin_ns != 0 && now_ns >= control->begin_ns)
        control_set(control, POOL_RECORDING, CAUSE_DELAY);
    if (control->end_ns != 0 && now_ns >= control->end_ns)
        control_set(control, POOL_ENDED, CAUSE_DURATION);
    return control->state == POOL_ENDED;
}

int control_wait_ms(const struct control *control, int most_ms)
{
    uint64_t due_ns = control->begin_ns != 0 ? control->begin_ns : control->end_ns;
    uint64_t now_ns = session_now_ns(), left_ms;

    if (due_ns == 0)
        return most_ms;
    if (due_ns <= now_ns)
        return 0;
    left_ms = (due_ns - now_ns + MS_NS - 1) / MS_NS;
    return left_ms < (uint64_t)most_ms ? (int)left_ms : most_ms;
}

static void write_mark(const struct control *control, uint32_t process_number, const char *name,
                       size_t length_bytes)
{
    struct records records = {0};

    records_begin(&records, RECORD_MARK);
    records_number(&records, session_now_ns() - control->session->start_ns);
    records_number(&records, process_number);
    records_text(&records, name, length_bytes);
    records_end(&records);
    pack_put_records(control->session->pack, records.bytes, records.size_bytes, records.count);
    records_finish(&records);
}

void control_mark(struct control *control, const char *name)
{
    write_mark(control, 0, name, strlen(name));
}

/* Returns CONTROL_UNDER_WAY with *ret_ticket, or CONTROL_FAILED with err. */
static enum control_status begin_snapshot(struct control *control,
                                          const struct control_request *request,
                                          uint64_t *ret_ticket, struct error *err)
{
    char path[POOL_PATH_BYTES] = "";
    struct snapshot_request wanted = {
        .may_overwrite = (request->flags & CONTROL_MAY_OVERWRITE) != 0,
        .ticket = control->last_ticket + 1,
    };

    memcpy(path, request->name,
           request->name_bytes < sizeof(path) ? request->name_bytes : sizeof(path) - 1);
    if (path[0] != '\0')
        wanted.path = path;
    if (path[0] != '\0' && path[0] != '/') {
        error_set(err, "%s: is not an absolute path", path);
        return CONTROL_FAILED;
    }
    if (!snapshots_ask(control->session->snapshots, &wanted, err))
        return CONTROL_FAILED;
    *ret_ticket = ++control->last_ticket;
    return CONTROL_UNDER_WAY;
}

static void mark(struct control *control, const struct control_request *request)
{
    size_t length_bytes = request->name_bytes;

    if (length_bytes > CONTROL_NAME_BYTES)
        length_bytes = CONTROL_NAME_BYTES;
    write_mark(control, processes_number(control->session, request->pid), request->name,
               length_bytes);
}

static enum control_status carry_out(struct control *control, const struct control_request *request,
                                     uint64_t *ret_ticket, struct error *err)
{
    switch (request->command) {
    case CONTROL_STATUS:
        return CONTROL_DONE;
    case CONTROL_START:
        control_set(control, POOL_RECORDING, CAUSE_CONTROL);
        return CONTROL_DONE;
    case CONTROL_STOP:
        control_pause(control, CAUSE_CONTROL);
        return CONTROL_DONE;
    case CONTROL_MARK:
        mark(control, request);
        return CONTROL_DONE;
    case CONTROL_SNAPSHOT:
        return begin_snapshot(control, request, ret_ticket, err);
    default:
        return CONTROL_INCOMPATIBLE;
    }
}

/* Returns CONTROL_DONE when it may be carried out. */
static enum control_status judge(struct control *control, const struct control_request *request,
                                 size_t request_bytes, const struct ucred *peer)
{
    if (peer->uid != geteuid() && peer->uid != 0)
        return CONTROL_REFUSED;
    if (request_bytes < sizeof(*request) || request->major != PROTOCOL_MAJOR)
        return CONTROL_INCOMPATIBLE;
    if (!processes_is_tracked(control->session, request->pid))
        return CONTROL_NOT_TRACKED;
    return CONTROL_DONE;
}

static struct control_answer make_answer(enum control_status status, const char *text)
{
    struct control_answer answer = {
        .magic = CONTROL_MAGIC,
        .major = PROTOCOL_MAJOR,
        .minor = PROTOCOL_MINOR,
        .status = status,
    };

    memcpy(answer.text, text, strnlen(text, sizeof(answer.text) - 1));
    return answer;
}

uint64_t control_serve(struct control *control, const struct control_request *request,
                       size_t request_bytes, const struct ucred *peer,
                       struct control_answer *ret_answer)
{
    const struct session *session = control->session;
    enum control_status status = judge(control, request, request_bytes, peer);
    uint64_t ticket = SNAPSHOT_NO_TICKET;
    struct error err = {""};

    if (status == CONTROL_DONE)
        status = carry_out(control, request, &ticket, &err);
    *ret_answer = make_answer(status, status == CONTROL_DONE ? control->capture_path : err.text);
    if (status != CONTROL_DONE)
        return ticket;
    ret_answer->state = control->state;
    ret_answer->since_ns = session_now_ns() - session->start_ns;
    ret_answer->processes = processes_alive(control->session);
    ret_answer->collector_pid = (uint32_t)getpid();
    return ticket;
}

void control_snapshot(struct control *control, const char *name)
{
    struct snapshot_request wanted = {.name = name, .ticket = SNAPSHOT_NO_TICKET};
    struct error err;

    if (!snapshots_ask(control->session->snapshots, &wanted, &err))
        control_note_failure(control, err.text);
}

/* Make a part of a file's name of what a program says. Returns its length. */
static size_t clean_name(char *name, size_t length)
{
    length = strnlen(name, length);
    if (length > SNAPSHOT_NAME_BYTES)
        length = SNAPSHOT_NAME_BYTES;
    /* Not in the midst of a character. */
    while (length > 0 && length == SNAPSHOT_NAME_BYTES && ((uint8_t)name[length] & 0xc0) == 0x80)
        length--;
    for (size_t i = 0; i < length; i++)
        if ((uint8_t)name[i] < ' ' || name[i] == '/' || name[i] == '\x7f')
            name[i] = '-';
    name[length] = '\0';
    return length;
}

static void obey_program(struct control *control, const struct pool_request *request)
{
    char name[REQUEST_NAME_BYTES + 1] = "";

    switch (request->command) {
    case REQUEST_START:
        control_set(control, POOL_RECORDING, CAUSE_PROGRAM);
        break;
    case REQUEST_STOP:
        control_pause(control, CAUSE_PROGRAM);
        break;
    case REQUEST_SNAPSHOT:
        memcpy(name, request->name, REQUEST_NAME_BYTES);
        control_snapshot(control, clean_name(name, request->name_bytes < REQUEST_NAME_BYTES
                                                       ? request->name_bytes
                                                       : REQUEST_NAME_BYTES) > 0
                                      ? name
                                      : NULL);
        break;
    default:
        break; /* nothing that a target writes */
    }
}

/* A thread that has died, or was killed, while it wrote leaves its request to others. */
static void look_at_claimed(struct control *control, unsigned index)
{
    struct pool_request *request = &control->session->pool.header->request[index];
    uint32_t claimed = REQUEST_CLAIMED;
    uint64_t now_ns = session_now_ns();

    if (control->claimed_ns[index] == 0) {
        control->claimed_ns[index] = now_ns;
    } else if (now_ns - control->claimed_ns[index] > CLAIMED_NS) {
        atomic_compare_exchange_strong(&request->state, &claimed, REQUEST_FREE);
        control->claimed_ns[index] = 0;
    }
}

/* Return the request that was made first of those that are READY; NULL: there is none. */
static struct pool_request *first_ready(struct control *control)
{
    struct pool_request *first = NULL;

    for (unsigned i = 0; i < POOL_REQUEST_COUNT; i++) {
        struct pool_request *request = &control->session->pool.header->request[i];
        /* Acquire: what stands in it, and what its thread has recorded. */
        uint32_t state = atomic_load_explicit(&request->state, memory_order_acquire);

        if (state == REQUEST_CLAIMED)
            look_at_claimed(control, i);
        else
            control->claimed_ns[i] = 0;
        /* Numbers may begin anew: what is far behind is ahead. */
        if (state == REQUEST_READY &&
            (first == NULL || (int32_t)(request->number - first->number) < 0))
            first = request;
    }
    return first;
}

void control_hear_programs(struct control *control)
{
    struct pool_request *request;

    /* Those who ask faster than they are heard have their turn when others have had theirs. */
    for (unsigned i = 0; i < POOL_REQUEST_COUNT && (request = first_ready(control)) != NULL; i++) {
        struct pool_request taken = {.command = request->command,
                                     .name_bytes = request->name_bytes};

        memcpy(taken.name, request->name, sizeof(taken.name));
        obey_program(control, &taken);
        /*
         * Release, both: who waits sees the state, who takes it what we have taken. In this order: the
         * next to take it is not to see himself served.
         */
        atomic_fetch_add_explicit(&request->served, 1, memory_order_release);
        atomic_store_explicit(&request->state, REQUEST_FREE, memory_order_release);
        pool_wake(&request->served, INT_MAX);
    }
}

void control_note_failure(struct control *control, const char *text)
{
    if (control->failure_count < CONTROL_MOST_FAILURES)
        control->failures[control->failure_count++] = memory_copy_text(text);
}

void control_finish(struct control *control)
{
    for (uint32_t i = 0; i < control->failure_count; i++)
        free(control->failures[i]);
    control->failure_count = 0;
}

bool control_take_answer(struct control *control, uint64_t *ret_ticket,
                         struct control_answer *ret_answer)
{
    struct snapshot_result result;

    if (!snapshots_take_result(control->session->snapshots, &result))
        return false;
    if (result.ticket == SNAPSHOT_NO_TICKET && !result.is_done)
        control_note_failure(control, result.error.text);
    *ret_ticket = result.ticket;
    *ret_answer = make_answer(result.is_done ? CONTROL_DONE : CONTROL_FAILED,
                              result.is_done ? result.path : result.error.text);
    free(result.path);
    return true;
}
