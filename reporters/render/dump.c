/*
 * `memtrack dump`: one line a record, in the true order. Runs in the tools.
 *
 * It streams: besides names, stacks and the sizes of live blocks nothing is kept.
 */
#include "capture/merge.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "print/progress.h"
#include "render/dump_events.h"
#include "render/parts.h"
#include "render/stack_json.h"
#include "report/labels.h"
#include "report/paths.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROGRESS_EVENTS = 1 << 12, /* between two looks at the clock */
};

/* A record as it is shown. */
struct record {
    const char *op;
    const struct event *event;
    const struct event *release; /* of a realloc or remap, else NULL */
    uint64_t bytes, old_bytes;
    uint8_t allocator; /* ALLOCATOR_NONE: none */
    uint8_t map_class; /* CLASS_COUNT: none */
    bool has_address, has_bytes, has_old_bytes, has_value;
    const char *name; /* of a mark or a phase; NULL: none */
    uint32_t path;    /* 0: no stack */
};

struct dump {
    const struct render_input *input;
    struct frames *frames; /* our own: an event has its column */
    struct paths *paths;
    FILE *out;
    struct json_writer json;
    struct stack_json *stacks;
    uint64_t number; /* of the record, those left out included */
    uint64_t shown_count;
    /* Text of each frame, made when first used; the pool's. */
    struct memory_pool pool;
    const char *pool_texts[CAPTURE_POOLS];
    const char **frame_texts;
    size_t frame_capacity, frame_count;
};

static uint32_t process_pid(const struct dump *dump, const struct event *event)
{
    return dump->input->capture->processes[event->process_index].pid;
}

static const struct capture_thread *thread_of(const struct dump *dump, const struct event *event)
{
    return &dump->input->capture->threads[event->stream];
}

static bool is_wanted(const struct dump *dump, const struct event *event)
{
    const struct render_options *options = dump->input->options;
    const struct capture *capture = dump->input->capture;

    if (options->process_number > 0 &&
        capture->processes[event->process_index].number != options->process_number)
        return false;
    return options->tid == 0 || thread_of(dump, event)->tid == options->tid;
}

/* The path of a stack; 0: it is not known. */
static uint32_t path_of(struct dump *dump, uint32_t stack_id)
{
    const struct capture_stack *stack = &dump->input->capture->stacks[stack_id];
    bool has_native = stack->native_node != 0 && !dump->input->options->hides_native;

    return stack->python_node != 0 || has_native ? paths_of_stack(dump->paths, stack_id) : 0;
}

/* Describe an event that allocates: its stack says by what. */
static void describe_stack(struct dump *dump, const struct event *event, struct record *record)
{
    const struct capture_stack *stack = &dump->input->capture->stacks[event->stack];

    record->allocator = stack->allocator;
    record->has_bytes = true;
    record->path = path_of(dump, event->stack);
    if (event->op == EVENT_MAP)
        record->map_class = stack->map_class;
}

/* What the program says itself. Returns false for what is not shown. */
static bool describe_mark(struct dump *dump, const struct event *event, struct record *record)
{
    const struct capture *capture = dump->input->capture;

    record->has_value = event->mark != MARK_INSTANT;
    if (event->mark != MARK_PHASE_END)
        record->name = capture_mark_name(capture, event->address);
    record->path = path_of(dump, event->stack);
    switch (event->mark) {
    case MARK_INSTANT:
        record->op = "mark";
        return true;
    case MARK_PHASE_BEGIN:
        record->op = "phase";
        return true;
    case MARK_PHASE_END:
        record->op = "phase_end";
        return true;
    default: /* of a later version */
        return false;
    }
}

/* Returns false for what is not shown. */
static bool describe_note(struct dump *dump, const struct event *event, struct record *record)
{
    record->has_address = false;
    if (event->note == NOTE_MARK)
        return describe_mark(dump, event, record);
    record->has_value = event->note == NOTE_LOST || event->life == LIFE_EXIT;
    if (event->note == NOTE_LOST) {
        record->op = "lost";
        return true;
    }
    if (event->note != NOTE_LIFE)
        return false;
    switch (event->life) {
    case LIFE_EXEC:
        record->op = "exec";
        return true;
    case LIFE_EXEC_FAILED:
        record->op = "exec_failed";
        return true;
    case LIFE_EXIT:
        record->op = "exit";
        return true;
    case LIFE_FORK:
        record->op = "fork";
        return true;
    default: /* of a later version */
        return false;
    }
}

/* Returns false for what is not shown. */
static bool describe(struct dump *dump, const struct dump_step *step, struct record *ret_record)
{
    const struct event *event = step->event, *release = step->release;
    struct record record = {
        .event = event,
        .release = release,
        .bytes = event->bytes,
        .old_bytes = step->old_bytes,
        .has_old_bytes = release != NULL && step->has_old_bytes,
        .allocator = event->allocator,
        .map_class = CLASS_COUNT,
        .has_address = true,
    };

    switch (event->op) {
    case EVENT_ALLOC:
        record.op = release != NULL ? "realloc" : "alloc";
        describe_stack(dump, event, &record);
        break;
    case EVENT_MAP:
        record.op = release != NULL ? "remap" : "map";
        describe_stack(dump, event, &record);
        break;
    case EVENT_FAIL:
        record.op = "fail";
        record.has_address = false;
        describe_stack(dump, event, &record);
        break;
    case EVENT_FREE:
        record.op = "free";
        record.has_bytes = step->has_old_bytes;
        record.bytes = step->old_bytes;
        break;
    case EVENT_UNMAP:
        record.op = "unmap";
        record.has_bytes = true;
        break;
    case EVENT_PROTECT:
        record.op = "protect";
        record.has_bytes = true;
        record.allocator = ALLOCATOR_MPROTECT;
        record.map_class = event->map_class;
        break;
    case EVENT_UNDO:
        record.op = "undo";
        break;
    default:
        if (event->op != EVENT_NOTE || !describe_note(dump, event, &record))
            return false;
    }
    *ret_record = record;
    return true;
}

static const char *frame_text(struct dump *dump, uint32_t id)
{
    const struct frame *frame = frames_get(dump->frames, id);
    const char *place, *function;
    size_t room_bytes;
    char *text;

    dump->frame_texts = memory_grow(dump->frame_texts, &dump->frame_capacity, (size_t)id + 1,
                                    sizeof(dump->frame_texts[0]));
    while (dump->frame_count <= id)
        dump->frame_texts[dump->frame_count++] = NULL;
    if (dump->frame_texts[id] != NULL)
        return dump->frame_texts[id];
    place =
        text_clean(&dump->pool, label_place(&dump->pool, dump->input->capture, frame, frame->line),
                   dump->input->options->is_ascii);
    function = text_clean(&dump->pool, frame->function, dump->input->options->is_ascii);
    room_bytes = strlen(place) + strlen(function) + 4;
    text = memory_pool_allocate(&dump->pool, room_bytes);
    if (place[0] != '\0')
        snprintf(text, room_bytes, "%s (%s)", function, place);
    else
        snprintf(text, room_bytes, "%s", function);
    dump->frame_texts[id] = text;
    return text;
}

/* Names of pools are the program's, and may hold anything. */
static const char *allocator_text(struct dump *dump, uint8_t allocator)
{
    const char *name = label_allocator(dump->input->capture, allocator);

    if (allocator < ALLOCATOR_POOL)
        return name;
    if (dump->pool_texts[allocator] == NULL)
        dump->pool_texts[allocator] = text_clean(&dump->pool, name, dump->input->options->is_ascii);
    return dump->pool_texts[allocator];
}

static void write_text(struct dump *dump, const struct record *record, uint64_t time_ns)
{
    const struct event *event = record->event;
    FILE *out = dump->out;
    uint32_t path_count, path = record->path;

    fprintf(out, "%8" PRIu64 " %5" PRIu64 ".%03" PRIu64 " %7" PRIu32 "/%-7" PRIu32 " %-7s",
            dump->number, time_ns / 1000000000, time_ns / 1000000 % 1000, process_pid(dump, event),
            thread_of(dump, event)->tid, record->op);
    if (record->allocator != ALLOCATOR_NONE)
        fprintf(out, " %s", allocator_text(dump, record->allocator));
    if (record->name != NULL)
        fprintf(out, " %s", text_clean(&dump->pool, record->name, dump->input->options->is_ascii));
    if (record->map_class < CLASS_COUNT)
        fprintf(out, " [%s]", label_map_class(record->map_class));
    if (record->release != NULL)
        fprintf(out, " 0x%" PRIx64 " ->", record->release->address);
    if (record->has_address)
        fprintf(out, " 0x%" PRIx64, event->address);
    if (record->has_bytes)
        fprintf(out, " %" PRIu64 " bytes", record->bytes);
    if (record->has_value)
        fprintf(out, " %" PRIu64, event->bytes);
    for (const char *separator = "  "; path != 0; separator = " < ") {
        const struct path *all = paths_all(dump->paths, &path_count);

        fputs(separator, out);
        fputs(frame_text(dump, all[path].frame), out);
        path = all[path].parent;
    }
    fputc('\n', out);
}

static void write_optional(struct json_writer *json, const char *key, bool has_value,
                           uint64_t value)
{
    if (has_value)
        json_write_number(json, key, value);
    else
        json_write_null(json, key);
}

static void write_json(struct dump *dump, const struct record *record, uint64_t time_ns)
{
    const struct event *event = record->event;
    struct json_writer *json = &dump->json;
    bool has_allocator = record->allocator != ALLOCATOR_NONE;

    json_write_open_object(json, NULL);
    json_write_number(json, "n", dump->number);
    json_write_number(json, "time_ns", time_ns);
    json_write_number(json, "pid", process_pid(dump, event));
    json_write_number(json, "tid", thread_of(dump, event)->tid);
    json_write_text(json, "op", record->op);
    json_write_name(json, "allocator",
                    has_allocator ? label_allocator(dump->input->capture, record->allocator)
                                  : NULL);
    write_optional(json, "address", record->has_address, event->address);
    write_optional(json, "bytes", record->has_bytes, record->bytes);
    write_optional(json, "old_address", record->release != NULL,
                   record->release != NULL ? record->release->address : 0);
    write_optional(json, "old_bytes", record->has_old_bytes, record->old_bytes);
    json_write_name(json, "class",
                    record->map_class < CLASS_COUNT ? label_map_class(record->map_class) : NULL);
    write_optional(json, "value", record->has_value, event->bytes);
    stack_json_write(dump->stacks, json, "stack", record->path);
    json_write_name(json, "name", record->name);
    json_write_close(json);
    json_write_next_line(json);
}

/* Show a step. Returns false when enough has been shown. */
static bool show(struct dump *dump, const struct dump_step *step)
{
    uint32_t limit = dump->input->options->rows;
    struct record record;
    uint64_t time_ns;

    if (!describe(dump, step, &record))
        return true;
    dump->number++;
    if (!is_wanted(dump, step->event))
        return true;
    time_ns = capture_tick_time_ns(dump->input->capture, step->event->tick);
    if (dump->input->options->is_json)
        write_json(dump, &record, time_ns);
    else
        write_text(dump, &record, time_ns);
    dump->shown_count++;
    return (limit == 0 || dump->shown_count < limit) && !ferror(dump->out);
}

static void show_all(struct dump *dump, struct capture_damage *ret_damage)
{
    const struct capture *capture = dump->input->capture;
    uint64_t events_all =
        capture->summary.events > 0 ? capture->summary.events : capture->event_record_count;
    struct dump_events *events = dump_events_open(capture);
    struct progress progress;
    struct dump_step step;
    uint64_t events_done = 0;

    progress_begin(&progress, "memtrack: writing the records", dump->input->progress);
    while (dump_events_next(events, &step, ret_damage) && show(dump, &step)) {
        if (events_done % PROGRESS_EVENTS == 0)
            progress_step(&progress, events_done, events_all);
        events_done++;
    }
    progress_end(&progress);
    dump_events_close(events);
}

bool render_dump(const struct render_input *input, FILE *out, struct error *err)
{
    struct capture_damage damage = {.is_damaged = false};
    struct dump dump = {.input = input, .out = out};
    struct render_input own;

    dump.frames = frames_create(input->capture);
    frames_part_columns(dump.frames);
    own = *input;
    own.frames = dump.frames;
    dump.paths = parts_paths(&own);
    dump.stacks = stack_json_create(dump.paths);
    json_write_init(&dump.json, out);
    show_all(&dump, &damage);
    json_write_finish(&dump.json);
    stack_json_destroy(dump.stacks);
    paths_destroy(dump.paths);
    frames_destroy(dump.frames);
    memory_pool_finish(&dump.pool);
    free(dump.frame_texts);
    if (input->ret_damage != NULL)
        *input->ret_damage = damage;
    return parts_end(out, err);
}
