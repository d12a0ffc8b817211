/*
 * Inside the folder: what open.c, the records and the decoder share while a capture is opened.
 */
#ifndef CAPTURE_LOAD_H
#define CAPTURE_LOAD_H

#include "base/memory.h"
#include "capture/capture.h"
#include "capture/cursor.h"
#include "capture/events.h"
#include "capture/follow.h"
#include "capture/section.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What users can do about damage, at the end of a message. */
extern const char capture_remedy_damaged[];
extern const char capture_remedy_newer[];
extern const char capture_remedy_cut[];

/* An EVENTS section: checked against the threads that were known when it was met. */
struct capture_section_entry {
    struct events_payload events; /* bytes: the mapping's */
    uint64_t offset;              /* of the payload in the file, for messages */
    uint64_t first_segment;
    uint32_t stream; /* index in capture.threads */
};

/* Behind capture.memory: what the tables have room for, and the texts. */
struct capture_memory {
    struct memory_pool pool;
    size_t process_capacity, thread_capacity, code_capacity, node_capacity, stack_capacity;
    size_t module_capacity, native_node_capacity;
    size_t tick_capacity, rss_capacity, section_capacity, mark_name_capacity;
    size_t state_capacity, sampling_capacity, mark_capacity, limit_capacity, use_capacity,
        cgroup_capacity;
    size_t model_capacity, symbol_capacity, place_capacity;
    uint64_t record_count;
    uint8_t *payload; /* room for one, when it is read along */
    size_t payload_capacity;
    capture_follow_records *take_records; /* likewise; NULL: nobody wants them */
    void *records_user;
};

/* What is there in every capture, so that nobody meets NULL; entry 0 of the tables. Context: tool. */
void capture_load_begin(struct capture *capture);

/* Why a record is refused: a few words, static; NULL when it is not. */
typedef const char *record_fault;

/*
 * Take one record into the capture's tables. kind: enum record_kind, or one of a later version.
 * body: the record's; the cursor is moved. What of a refused record was right before the wrong place
 * may stay: whole table entries and whole fields. Context: tool.
 */
record_fault capture_load_record(struct capture *capture, uint64_t kind, struct cursor *body);

/* Take the records of a payload. ret_wrong: where the wrong one begins. Context: tool. */
record_fault capture_load_payload(struct capture *capture, const uint8_t *bytes, size_t size_bytes,
                                  size_t *ret_wrong);

/*
 * Take a section of events. ret_fault: why it is refused, when this returns false. Context: tool.
 */
bool capture_load_events(struct capture *capture, const struct section *section,
                         struct events_fault *ret_fault);

/*
 * Read bytes of a capture that is read along. Returns false when they are not there. Context: tool.
 */
bool capture_read_at(const struct capture *capture, uint64_t offset, uint8_t *ret_bytes,
                     size_t size_bytes);

/* The kinds that fill tables: code, nodes, modules, stacks, ticks, samples, names. Context: tool. */
record_fault capture_load_code(struct capture *capture, struct cursor *body);
record_fault capture_load_nodes(struct capture *capture, struct cursor *body);
record_fault capture_load_module(struct capture *capture, struct cursor *body);
record_fault capture_load_native_nodes(struct capture *capture, struct cursor *body);
record_fault capture_load_symbols(struct capture *capture, struct cursor *body);
record_fault capture_load_stacks(struct capture *capture, struct cursor *body);
record_fault capture_load_ticks(struct capture *capture, struct cursor *body);
record_fault capture_load_rss(struct capture *capture, struct cursor *body);
record_fault capture_load_bound(struct capture *capture, struct cursor *body);
record_fault capture_load_name(struct capture *capture, struct cursor *body);
record_fault capture_load_state(struct capture *capture, struct cursor *body);
record_fault capture_load_sampling(struct capture *capture, struct cursor *body);
record_fault capture_load_mark(struct capture *capture, struct cursor *body);
record_fault capture_load_limit(struct capture *capture, struct cursor *body);
record_fault capture_load_use(struct capture *capture, struct cursor *body);
record_fault capture_load_cgroup(struct capture *capture, struct cursor *body);

/*
 * Copy a text into the capture. Returns NULL when it has a NUL in it. Context: tool.
 */
const char *capture_load_text(struct capture *capture, const struct cursor *part);

/* Say that the capture goes on so far. Context: tool. */
void capture_load_instant(struct capture *capture, uint64_t time_ns);

/*
 * Unpack a payload.
 * ret_bytes: the caller's, section->raw_bytes bytes.
 * Returns false when it does not unpack to exactly so many. Context: tool.
 */
bool capture_unpack(const uint8_t *payload, uint32_t payload_bytes, bool is_packed,
                    uint32_t raw_bytes, uint8_t *ret_bytes);

/* Fill in where the first wrong byte is, unless an earlier one is known. Context: tool. */
void capture_damage_set(struct capture_damage *damage, const char *file, uint64_t offset,
                        const char *what, const char *remedy);

#endif
