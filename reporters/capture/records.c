/*
 * The records made of fields: session, process, thread, summary; and which kind goes where.
 *
 * Runs in the tools. What holds: a field that this version does not know is passed over by its
 * length, and a later record of the same process or thread replaces the fields that it has and
 * leaves the others.
 */
#include "capture/load.h"

#include "memtrack/format.h"
#include "memtrack/protocol.h"

#include <string.h>

enum {
    /* Streams may be announced out of turn, but a number alone does not make room for millions. */
    STREAM_MAX_AHEAD = 1 << 16,
};

static const char cut_off[] = "record cut off";
static const char wrong_number[] = "number that does not fit its field";

const char *capture_load_text(struct capture *capture, const struct cursor *part)
{
    struct capture_memory *memory = capture->memory;

    if (part->left_bytes > 0 && memchr(part->bytes, '\0', part->left_bytes) != NULL)
        return NULL;
    return memory_pool_copy(&memory->pool, (const char *)part->bytes, part->left_bytes);
}

void capture_load_instant(struct capture *capture, uint64_t time_ns)
{
    if (time_ns > capture->ended_ns)
        capture->ended_ns = time_ns;
}

/* A field's number and content. Returns false at the end or when it is cut off. */
static bool next_field(struct cursor *body, uint64_t *ret_number, struct cursor *ret_part)
{
    return cursor_varint(body, ret_number) && cursor_part(body, ret_part);
}

static bool take_text(struct capture *capture, const struct cursor *part, const char **ret_text)
{
    const char *text = capture_load_text(capture, part);

    if (text == NULL)
        return false;
    *ret_text = text;
    return true;
}

static bool take_u64(struct cursor part, uint64_t *ret_value)
{
    return cursor_varint(&part, ret_value);
}

static bool take_u32(struct cursor part, uint32_t *ret_value)
{
    uint64_t value;

    if (!cursor_limited(&part, UINT32_MAX, &value))
        return false;
    *ret_value = (uint32_t)value;
    return true;
}

static bool take_u8(struct cursor part, uint8_t *ret_value)
{
    uint64_t value;

    if (!cursor_limited(&part, UINT8_MAX, &value))
        return false;
    *ret_value = (uint8_t)value;
    return true;
}

static bool take_bool(struct cursor part, bool *ret_value)
{
    uint64_t value;

    if (!cursor_varint(&part, &value))
        return false;
    *ret_value = value != 0;
    return true;
}

/* All fields of one number, as a list that ends with NULL. Returns NULL for a text with a NUL. */
static const char *const *take_arguments(struct capture *capture, struct cursor body,
                                         uint64_t wanted, uint32_t *ret_count)
{
    struct capture_memory *memory = capture->memory;
    struct cursor rest = body, part;
    uint32_t count = 0;
    uint64_t number;
    const char **list;

    while (next_field(&rest, &number, &part))
        count += number == wanted;
    list = memory_pool_allocate(&memory->pool, ((size_t)count + 1) * sizeof(*list));
    count = 0;
    while (next_field(&body, &number, &part))
        if (number == wanted && !take_text(capture, &part, &list[count++]))
            return NULL;
    *ret_count = count;
    return list;
}

static bool take_session_field(struct capture *capture, uint64_t number, struct cursor part)
{
    struct capture_session *session = &capture->session;

    switch (number) {
    case SESSION_VERSION:
        return take_text(capture, &part, &session->version);
    case SESSION_HOST:
        return take_text(capture, &part, &session->host);
    case SESSION_MACHINE:
        return take_text(capture, &part, &session->machine);
    case SESSION_DIRECTORY:
        return take_text(capture, &part, &session->directory);
    case SESSION_PAGE_BYTES:
        return take_u64(part, &session->page_bytes);
    case SESSION_TICK_PERIOD_US:
        return take_u64(part, &session->tick_period_us);
    case SESSION_REALTIME_NS:
        return take_u64(part, &session->realtime_ns);
    case SESSION_MONOTONIC_NS:
        return take_u64(part, &session->monotonic_ns);
    case SESSION_BOOTTIME_NS:
        return take_u64(part, &session->boottime_ns);
    case SESSION_OPTIONS:
        return take_u64(part, &session->options);
    case SESSION_MIN_SIZE:
        return take_u64(part, &session->min_size);
    case SESSION_SAMPLE_BYTES:
        return take_u64(part, &session->sample_bytes);
    case SESSION_MAX_FILE:
        return take_u64(part, &session->max_file_bytes);
    case SESSION_MAX_OVERHEAD:
        return take_u64(part, &session->max_overhead_ppm);
    default:
        return true;
    }
}

static record_fault load_session(struct capture *capture, struct cursor *body)
{
    struct capture_session *session = &capture->session;
    const struct cursor whole = *body;
    const char *const *arguments;
    struct cursor part;
    uint64_t number;
    uint32_t count;

    while (next_field(body, &number, &part))
        if (!take_session_field(capture, number, part))
            return wrong_number;
    if (body->left_bytes > 0)
        return cut_off;
    arguments = take_arguments(capture, whole, SESSION_ARGUMENT, &count);
    if (arguments == NULL)
        return "argument with a NUL in it";
    session->arguments = arguments;
    session->argument_count = count;
    return NULL;
}

static bool take_process_field(struct capture *capture, struct capture_process *process,
                               uint64_t number, struct cursor part)
{
    uint64_t code;

    if (number >= PROCESS_COUNTER && number < PROCESS_COUNTER + POOL_COUNTER_COUNT)
        return take_u64(part, &process->counters[number - PROCESS_COUNTER]);
    switch (number) {
    case PROCESS_PID:
        return take_u32(part, &process->pid);
    case PROCESS_INNER_PID:
        return take_u32(part, &process->inner_pid);
    case PROCESS_PARENT:
        return take_u32(part, &process->parent_number);
    case PROCESS_HOW:
        return take_u8(part, &process->how);
    case PROCESS_FIRST_SEGMENT:
        return take_u64(part, &process->first_segment);
    case PROCESS_STARTED_NS:
        return take_u64(part, &process->started_ns);
    case PROCESS_ENDED_NS:
        return take_u64(part, &process->ended_ns);
    case PROCESS_END:
        return take_u8(part, &process->end);
    case PROCESS_END_CODE:
        if (!take_u64(part, &code))
            return false;
        process->end_code = (int64_t)code;
        return true;
    case PROCESS_EXECUTABLE:
        return take_text(capture, &part, &process->executable);
    case PROCESS_PYTHON_VERSION:
        return take_text(capture, &part, &process->python_version);
    case PROCESS_FREE_THREADED:
        return take_bool(part, &process->is_free_threaded);
    case PROCESS_TRACKED:
        return take_bool(part, &process->is_tracked);
    case PROCESS_PYTHON_ALLOCATORS:
        return take_bool(part, &process->has_python_allocators);
    case PROCESS_PYTHON_ALLOCATOR:
        return take_text(capture, &part, &process->python_allocator);
    default:
        return true;
    }
}

/* The process of this number, made when it is new. */
static struct capture_process *process_of(struct capture *capture, uint32_t number)
{
    static const char *const no_arguments[] = {NULL};
    struct capture_memory *memory = capture->memory;
    uint32_t index = capture_process_index(capture, number);

    if (index != UINT32_MAX)
        return &capture->processes[index];
    capture->processes =
        memory_grow(capture->processes, &memory->process_capacity,
                    (size_t)capture->process_count + 1, sizeof(*capture->processes));
    capture->processes[capture->process_count] = (struct capture_process){
        .number = number,
        .is_tracked = true,
        .arguments = no_arguments,
        .executable = "",
        .python_version = "",
        .python_allocator = "",
    };
    return &capture->processes[capture->process_count++];
}

static record_fault load_process(struct capture *capture, struct cursor *body)
{
    struct capture_process *process;
    struct cursor part, whole;
    const char *const *arguments;
    uint64_t field;
    uint32_t number, count;

    if (!next_field(body, &field, &part))
        return cut_off;
    if (field != PROCESS_NUMBER || !take_u32(part, &number) || number == 0)
        return "process without a number";
    process = process_of(capture, number);
    whole = *body;
    while (next_field(body, &field, &part))
        if (!take_process_field(capture, process, field, part))
            return wrong_number;
    if (body->left_bytes > 0)
        return cut_off;
    arguments = take_arguments(capture, whole, PROCESS_ARGUMENT, &count);
    if (arguments == NULL)
        return "argument with a NUL in it";
    if (count > 0) {
        process->arguments = arguments;
        process->argument_count = count;
    }
    if (process->ended_ns != 0 && process->ended_ns <= process->skipped_ns &&
        !capture->is_read_once)
        return "end before memory that was left out";
    if (process->pid == 0) /* it was gone before the collector could look for it */
        process->pid = process->inner_pid;
    capture_load_instant(capture, process->started_ns);
    capture_load_instant(capture, process->ended_ns);
    return NULL;
}

/* The thread of this stream, and those before it that have not been announced. */
static struct capture_thread *thread_of(struct capture *capture, uint32_t stream)
{
    struct capture_memory *memory = capture->memory;

    while (capture->thread_count < stream) {
        capture->threads = memory_grow(capture->threads, &memory->thread_capacity, stream,
                                       sizeof(*capture->threads));
        capture->threads[capture->thread_count] =
            (struct capture_thread){.stream = capture->thread_count + 1, .name = ""};
        capture->thread_count++;
    }
    return &capture->threads[stream - 1];
}

static bool take_thread_field(struct capture *capture, struct capture_thread *thread,
                              uint64_t number, struct cursor part)
{
    switch (number) {
    case THREAD_TID:
        return take_u32(part, &thread->tid);
    case THREAD_NAME:
        return take_text(capture, &part, &thread->name);
    case THREAD_LOST:
        return take_u64(part, &thread->lost);
    case THREAD_REPAIRED:
        return take_u64(part, &thread->repaired);
    case THREAD_MAIN:
        return take_bool(part, &thread->is_main);
    default:
        return true;
    }
}

static record_fault load_thread(struct capture *capture, struct cursor *body)
{
    struct capture_thread *thread;
    struct cursor part;
    uint64_t field;
    uint32_t stream, number, index;

    if (!next_field(body, &field, &part))
        return cut_off;
    if (field != THREAD_STREAM || !take_u32(part, &stream) || stream == 0 ||
        stream > (uint64_t)capture->thread_count + STREAM_MAX_AHEAD)
        return "thread without a possible stream";
    if (capture->process_count == 0)
        return "thread of an unknown process";
    thread = thread_of(capture, stream);
    while (next_field(body, &field, &part)) {
        if (field != THREAD_PROCESS) {
            if (!take_thread_field(capture, thread, field, part))
                return wrong_number;
            continue;
        }
        if (!take_u32(part, &number))
            return wrong_number;
        index = capture_process_index(capture, number);
        if (index == UINT32_MAX)
            return "thread of an unknown process";
        thread->process_index = index;
    }
    return body->left_bytes > 0 ? cut_off : NULL;
}

static bool take_summary_field(struct capture *capture, uint64_t number, struct cursor part)
{
    struct capture_summary *summary = &capture->summary;

    switch (number) {
    case SUMMARY_CPU_NS:
        return take_u64(part, &summary->cpu_ns);
    case SUMMARY_ENDED_NS:
        return take_u64(part, &summary->ended_ns);
    case SUMMARY_EVENTS:
        return take_u64(part, &summary->events);
    case SUMMARY_SLOTS:
        return take_u64(part, &summary->slots);
    case SUMMARY_LOST:
        return take_u64(part, &summary->lost);
    case SUMMARY_HOLES:
        return take_u64(part, &summary->holes);
    case SUMMARY_FAULTS:
        return take_u64(part, &summary->faults);
    case SUMMARY_RAW_BYTES:
        return take_u64(part, &summary->raw_bytes);
    case SUMMARY_RSS_BYTES:
        return take_u64(part, &summary->rss_bytes);
    case SUMMARY_REASON:
        return take_text(capture, &part, &summary->reason);
    case SUMMARY_MODEL_CPU_NS:
        return take_u64(part, &summary->model_cpu_ns);
    case SUMMARY_IS_SNAPSHOT:
        return take_bool(part, &summary->is_snapshot);
    default:
        return true;
    }
}

static record_fault load_summary(struct capture *capture, struct cursor *body)
{
    struct capture_summary *summary = &capture->summary;
    struct cursor whole = *body, part;
    uint64_t number;

    while (next_field(body, &number, &part))
        if (!take_summary_field(capture, number, part))
            return wrong_number;
    if (body->left_bytes > 0)
        return cut_off;
    summary->failures = take_arguments(capture, whole, SUMMARY_FAILURE, &summary->failure_count);
    if (summary->failures == NULL)
        return "text with a NUL in it";
    summary->is_present = true;
    capture_load_instant(capture, summary->ended_ns);
    return NULL;
}

record_fault capture_load_record(struct capture *capture, uint64_t kind, struct cursor *body)
{
    if (capture->is_followed &&
        (kind == RECORD_CODE || kind == RECORD_NODES || kind == RECORD_MODULE ||
         kind == RECORD_NATIVE_NODES || kind == RECORD_SYMBOLS))
        return NULL; /* what it is read along for needs no frames */
    switch (kind) {
    case RECORD_SESSION:
        return load_session(capture, body);
    case RECORD_PROCESS:
        return load_process(capture, body);
    case RECORD_THREAD:
        return load_thread(capture, body);
    case RECORD_SUMMARY:
        return load_summary(capture, body);
    case RECORD_CODE:
        return capture_load_code(capture, body);
    case RECORD_NODES:
        return capture_load_nodes(capture, body);
    case RECORD_MODULE:
        return capture_load_module(capture, body);
    case RECORD_NATIVE_NODES:
        return capture_load_native_nodes(capture, body);
    case RECORD_SYMBOLS:
        return capture_load_symbols(capture, body);
    case RECORD_STACKS:
        return capture_load_stacks(capture, body);
    case RECORD_TICKS:
        return capture_load_ticks(capture, body);
    case RECORD_RSS:
        return capture_load_rss(capture, body);
    case RECORD_BOUND:
        return capture_load_bound(capture, body);
    case RECORD_NAME:
        return capture_load_name(capture, body);
    case RECORD_STATE:
        return capture_load_state(capture, body);
    case RECORD_MARK:
        return capture_load_mark(capture, body);
    case RECORD_LIMIT:
        return capture_load_limit(capture, body);
    case RECORD_USE:
        return capture_load_use(capture, body);
    case RECORD_CGROUP:
        return capture_load_cgroup(capture, body);
    case RECORD_SAMPLING:
        return capture_load_sampling(capture, body);
    default:
        return NULL;
    }
}
