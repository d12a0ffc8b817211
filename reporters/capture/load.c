/*
 * Sections into tables: what reading a whole capture and reading one along have in common. Runs in the
 * tools.
 */
#include "capture/load.h"

#include "base/memory.h"
#include "memtrack/format.h"

void capture_load_begin(struct capture *capture)
{
    static const char *const no_arguments[] = {NULL};
    struct capture_memory *memory = capture->memory;
    struct capture_session *session = &capture->session;

    session->version = session->host = session->machine = session->directory = "";
    session->arguments = no_arguments;
    capture->summary.reason = "";
    capture->codes = memory_grow(NULL, &memory->code_capacity, 1, sizeof(*capture->codes));
    capture->codes[0] = (struct capture_code){{"", 0}, {"", 0}, (const uint8_t *)"", 0, 0, 0, 0};
    capture->nodes = memory_grow(NULL, &memory->node_capacity, 1, sizeof(*capture->nodes));
    capture->nodes[0] = (struct capture_node){0};
    capture->modules = memory_grow(NULL, &memory->module_capacity, 1, sizeof(*capture->modules));
    capture->modules[0] = (struct capture_module){.path = "", .process_index = UINT32_MAX};
    capture->native_nodes =
        memory_grow(NULL, &memory->native_node_capacity, 1, sizeof(*capture->native_nodes));
    capture->native_nodes[0] = (struct capture_native_node){0};
    capture->stacks = memory_grow(NULL, &memory->stack_capacity, 1, sizeof(*capture->stacks));
    capture->stacks[0] = (struct capture_stack){0};
    capture->mark_names =
        memory_grow(NULL, &memory->mark_name_capacity, 1, sizeof(*capture->mark_names));
    capture->mark_names[0] = "";
    capture->code_count = capture->node_count = capture->stack_count = 1;
    capture->module_count = capture->native_node_count = 1;
    capture->mark_name_count = 1;
}

record_fault capture_load_payload(struct capture *capture, const uint8_t *bytes, size_t size_bytes,
                                  size_t *ret_wrong)
{
    struct capture_memory *memory = capture->memory;
    struct cursor cursor = {bytes, size_bytes};

    while (cursor.left_bytes > 0) {
        struct cursor body;
        record_fault fault = "record cut off";
        uint64_t kind;

        *ret_wrong = size_bytes - cursor.left_bytes;
        if (cursor_varint(&cursor, &kind) && cursor_part(&cursor, &body))
            fault = capture_load_record(capture, kind, &body);
        if (fault != NULL)
            return fault;
        memory->record_count++;
    }
    return NULL;
}

static bool refuse(struct events_fault *ret_fault, const char *what)
{
    *ret_fault = (struct events_fault){what, capture_remedy_damaged, 0};
    return false;
}

bool capture_load_events(struct capture *capture, const struct section *section,
                         struct events_fault *ret_fault)
{
    struct capture_memory *memory = capture->memory;
    const struct capture_thread *thread;
    struct events_payload events;

    if (!events_payload_of(section, &events, ret_fault))
        return false;
    if (section->stream == 0 || section->stream > capture->thread_count)
        return refuse(ret_fault, "events of an unknown thread");
    thread = &capture->threads[section->stream - 1];
    if (capture->processes[thread->process_index].number != section->process)
        return refuse(ret_fault, "events of another process than their thread's");
    capture->sections = memory_grow(capture->sections, &memory->section_capacity,
                                    (size_t)capture->section_count + 1, sizeof(*capture->sections));
    capture->sections[capture->section_count++] = (struct capture_section_entry){
        .events = events,
        .offset = section->payload_offset,
        .first_segment = section->first_segment,
        .stream = section->stream - 1,
    };
    capture->event_payload_bytes += section->payload_bytes;
    capture->event_record_count += section->record_count;
    return true;
}
