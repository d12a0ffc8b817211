/*
 * The state of the recording. Main thread.
 */
#include "collect/control.h"

#include "collect/processes.h"
#include "collect/records.h"
#include "collect/snapshot.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS_NS UINT64_C(1000000)

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
        /* Of a recording that is to begin later too. */
        control->begin_ns = 0;
        control_set(control, POOL_PAUSED, CAUSE_CONTROL);
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

bool control_take_answer(struct control *control, uint64_t *ret_ticket,
                         struct control_answer *ret_answer)
{
    struct snapshot_result result;

    if (!snapshots_take_result(control->session->snapshots, &result))
        return false;
    *ret_ticket = result.ticket;
    *ret_answer = make_answer(result.is_done ? CONTROL_DONE : CONTROL_FAILED,
                              result.is_done ? result.path : result.error.text);
    free(result.path);
    return true;
}
