/*
 * Opening a capture: superblock, every section with its checksum, the records into the tables.
 *
 * Runs in the tools. What holds: sections are taken in the file's order until the first byte that is
 * not right; all that stands before it is in the capture, nothing behind it is looked at. The
 * directory only repeats what the headers say: it is compared, not needed.
 */
#include "capture/capture.h"

#include "base/memory.h"
#include "capture/load.h"
#include "capture/mapping.h"
#include "capture/section.h"
#include "memtrack/format.h"
#include "memtrack/varint.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>

const char capture_remedy_damaged[] = "what stands before it is reported";
const char capture_remedy_newer[] = "read it with the memtrack that recorded it, or a newer one";
const char capture_remedy_cut[] =
    "the recording was cut off there; what stands before it is reported";

enum {
    PROGRESS_STEP_BYTES = 16 << 20,
    /* A directory entry: offset, type, 3 zero bytes, stream, first segment. */
    DIRECTORY_AT_TYPE = 8,
    DIRECTORY_AT_STREAM = 12,
    DIRECTORY_AT_SEGMENT = 16,
};

/* A capture being opened. */
struct opening {
    struct capture *capture;
    struct capture_bytes content; /* up to the trailer, when there is one */
    size_t offset;                /* of the section looked at */
    uint64_t section_count;       /* of all types, so far */
    uint64_t directory_offset;    /* as the trailer says */
    uint64_t listed_count;        /* of the sections before it, as many as its parts have told */
    size_t listed_offset;         /* of the next that it is to tell */
    bool is_listing;              /* its first part has been seen: nothing else may follow */
    uint8_t *unpacked;            /* room for a payload */
    size_t unpacked_capacity;
    capture_progress *progress;
    void *user;
    size_t reported_offset;
};

void capture_damage_set(struct capture_damage *damage, const char *file, uint64_t offset,
                        const char *what, const char *remedy)
{
    if (damage->is_damaged)
        return;
    damage->is_damaged = true;
    damage->offset = offset;
    error_set(&damage->error, "%s: %s at offset %llu: %s", file, what, (unsigned long long)offset,
              remedy);
}

static bool spoil(struct opening *opening, uint64_t offset, const char *what, const char *remedy)
{
    capture_damage_set(&opening->capture->damage, opening->content.file, offset, what, remedy);
    return false;
}

bool capture_unpack(const uint8_t *payload, uint32_t payload_bytes, bool is_packed,
                    uint32_t raw_bytes, uint8_t *ret_bytes)
{
    if (!is_packed) {
        memcpy(ret_bytes, payload, raw_bytes);
        return true;
    }
    return LZ4_decompress_safe((const char *)payload, (char *)ret_bytes, (int)payload_bytes,
                               (int)raw_bytes) == (int)raw_bytes;
}

static bool take_records(struct opening *opening, const struct section *section)
{
    bool is_packed = section->flags & SECTION_LZ4;
    const uint8_t *bytes = section->payload;
    size_t wrong = 0;
    record_fault fault;

    if (is_packed) {
        opening->unpacked = memory_grow(opening->unpacked, &opening->unpacked_capacity,
                                        section->raw_bytes, sizeof(*opening->unpacked));
        if (!capture_unpack(section->payload, section->payload_bytes, is_packed, section->raw_bytes,
                            opening->unpacked))
            return spoil(opening, section->payload_offset, "payload that does not unpack",
                         capture_remedy_damaged);
        bytes = opening->unpacked;
    }
    fault = capture_load_payload(opening->capture, bytes, section->raw_bytes, &wrong);
    if (fault == NULL)
        return true;
    /* Inside a packed payload there are no places: it is wrong where it begins. */
    return spoil(opening, section->payload_offset + (is_packed ? 0 : wrong), fault,
                 capture_remedy_damaged);
}

static bool take_events(struct opening *opening, const struct section *section)
{
    struct events_fault fault;

    if (opening->capture->is_aggregated)
        return spoil(opening, opening->offset, "events in an aggregated capture",
                     capture_remedy_damaged);
    return capture_load_events(opening->capture, section, &fault) ||
           spoil(opening, opening->offset, fault.what, fault.remedy);
}

/* The model is of all that stands before it: one with something else behind it is of no use. */
static void take_model(struct opening *opening, const struct section *section)
{
    struct capture *capture = opening->capture;
    struct capture_memory *memory = capture->memory;

    capture->models = memory_grow(capture->models, &memory->model_capacity,
                                  (size_t)capture->model_count + 1, sizeof(*capture->models));
    capture->models[capture->model_count++] = (struct capture_model_part){
        .bytes = section->payload,
        .offset = section->payload_offset,
        .payload_bytes = section->payload_bytes,
        .raw_bytes = section->raw_bytes,
        .left_count = section->record_count,
        .is_packed = section->flags & SECTION_LZ4,
    };
}

/* Compare entries of the directory with the sections' own headers, walking over them again. */
static bool fits_sections(struct opening *opening, const uint8_t *entries, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *entry = entries + i * DIRECTORY_ENTRY_BYTES;
        struct section section;

        if (!section_read(&opening->content, opening->listed_offset, &section, NULL) ||
            le_load_u64(entry) != opening->listed_offset ||
            entry[DIRECTORY_AT_TYPE] != section.type ||
            le_load_u32(entry + DIRECTORY_AT_STREAM) != section.stream ||
            le_load_u64(entry + DIRECTORY_AT_SEGMENT) != section.first_segment)
            return false;
        opening->listed_offset = section.next_offset;
    }
    opening->listed_count += count;
    return true;
}

/* Take a part of the directory: one section of it, or of the several that it needs when it is long. */
static bool check_directory(struct opening *opening, const struct section *part)
{
    uint64_t count = part->raw_bytes / DIRECTORY_ENTRY_BYTES;
    bool is_last = part->next_offset == opening->content.size_bytes, is_right;
    uint8_t *entries;

    if (opening->capture->state != CAPTURE_CLEAN)
        return true; /* its trailer is missing: what is wrong is behind it */
    if (!opening->is_listing && opening->offset != opening->directory_offset)
        return spoil(opening, opening->offset, "directory in the midst of a capture",
                     capture_remedy_damaged);
    opening->is_listing = true;
    /* The sections that it is to tell are those before its first part: section_count stays. */
    is_right = part->raw_bytes % DIRECTORY_ENTRY_BYTES == 0 &&
               (is_last ? count == opening->section_count - opening->listed_count
                        : count <= opening->section_count - opening->listed_count);
    entries = memory_allocate(part->raw_bytes, 1);
    is_right = is_right &&
               capture_unpack(part->payload, part->payload_bytes, part->flags & SECTION_LZ4,
                              part->raw_bytes, entries) &&
               fits_sections(opening, entries, count);
    free(entries);
    return is_right || spoil(opening, part->payload_offset,
                             "directory that does not fit the sections", capture_remedy_damaged);
}

/* In a running capture the last section may be on its way into the file. */
static bool is_being_written(const struct opening *opening)
{
    size_t left_bytes = opening->content.size_bytes - opening->offset;
    const uint8_t *header = opening->content.bytes + opening->offset;

    if (opening->capture->state != CAPTURE_RUNNING)
        return false;
    if (left_bytes < SECTION_HEADER_BYTES)
        return true;
    return section_size(le_load_u32(header + 32)) > left_bytes; /* its payload bytes */
}

/* Take one section. Returns false when there is nothing more to take. */
static bool take_section(struct opening *opening)
{
    struct capture *capture = opening->capture;
    struct section section;
    struct error err;
    bool is_taken = true;

    if (is_being_written(opening))
        return false;
    if (!section_read(&opening->content, opening->offset, &section, &err)) {
        capture->damage = (struct capture_damage){true, opening->offset, err};
        return false;
    }
    if (!section_check_payload(&opening->content, &section, &err)) {
        capture->damage = (struct capture_damage){true, section.payload_offset, err};
        return false;
    }
    if (opening->is_listing && section.type != SECTION_DIRECTORY)
        return spoil(opening, opening->directory_offset, "directory in the midst of a capture",
                     capture_remedy_damaged);
    if (section.type == SECTION_RECORDS || section.type == SECTION_EVENTS)
        capture->model_count = 0;
    if (section.type == SECTION_MODEL)
        take_model(opening, &section);
    else if (section.type == SECTION_RECORDS)
        is_taken = take_records(opening, &section);
    else if (section.type == SECTION_EVENTS)
        is_taken = take_events(opening, &section);
    else if (section.type == SECTION_DIRECTORY)
        is_taken = check_directory(opening, &section);
    opening->section_count += !opening->is_listing;
    opening->offset = section.next_offset;
    return is_taken;
}

static bool goes_on(struct opening *opening)
{
    if (opening->progress == NULL ||
        opening->offset - opening->reported_offset < PROGRESS_STEP_BYTES)
        return true;
    opening->reported_offset = opening->offset;
    return opening->progress(opening->user, opening->offset, opening->content.size_bytes);
}

/* Returns false when the user gave up. */
static bool take_all(struct opening *opening, size_t sections_offset)
{
    struct capture *capture = opening->capture;

    opening->offset = opening->listed_offset = sections_offset;
    while (opening->offset < opening->content.size_bytes && take_section(opening))
        if (!goes_on(opening))
            return false;
    if (capture->state == CAPTURE_TRUNCATED)
        spoil(opening, opening->content.size_bytes, "capture without an end", capture_remedy_cut);
    return true;
}

/*
 * Only a capture that is clean and right to its end has all events of all its processes. Of any
 * other, and of a snapshot, what is beyond a process's bound may lack its other half in a thread not
 * yet written.
 */
static void set_bounds(struct capture *capture)
{
    bool is_whole = capture->state == CAPTURE_CLEAN && !capture->damage.is_damaged &&
                    !capture->summary.is_snapshot;

    for (uint32_t i = 0; i < capture->process_count && is_whole; i++)
        capture->processes[i].bound_segment = UINT64_MAX;
}

static struct capture *create(const struct capture_mapping *mapping,
                              const struct capture_superblock *superblock)
{
    struct capture *capture = memory_allocate(1, sizeof(*capture));

    capture->memory = memory_allocate(1, sizeof(struct capture_memory));
    capture->file = memory_copy_text(mapping->content.file);
    capture->bytes = mapping->content.bytes;
    capture->file_bytes = mapping->content.size_bytes;
    memcpy(capture->session.uuid, superblock->uuid, sizeof(superblock->uuid));
    capture->session.realtime_ns = superblock->realtime_ns;
    capture->is_aggregated = superblock->features & FEATURE_AGGREGATED;
    capture_load_begin(capture);
    return capture;
}

/* Returns false with err when nothing of use was read. */
static bool load(struct capture *capture, const struct capture_mapping *mapping,
                 const struct capture_superblock *superblock, capture_progress *progress,
                 void *user, struct error *err)
{
    struct opening opening = {
        .capture = capture, .content = mapping->content, .progress = progress, .user = user};
    const struct capture_memory *memory = capture->memory;
    bool is_done;

    opening.content.file = capture->file;
    if (capture_trailer_read(&mapping->content, &opening.directory_offset)) {
        capture->state = CAPTURE_CLEAN;
        opening.content.size_bytes -= TRAILER_BYTES;
    } else {
        capture->state = mapping->is_locked ? CAPTURE_RUNNING : CAPTURE_TRUNCATED;
    }
    is_done = take_all(&opening, superblock->sections_offset);
    free(opening.unpacked);
    if (!is_done) {
        error_set(err, "%s: reading was given up", capture->file);
        return false;
    }
    if (capture->damage.is_damaged && memory->record_count == 0) {
        if (err != NULL)
            *err = capture->damage.error;
        return false;
    }
    set_bounds(capture);
    return true;
}

/* Returns NULL with err; the mapping is the capture's, or gone. */
static struct capture *open_mapped(struct capture_mapping *mapping, capture_progress *progress,
                                   void *user, struct error *err)
{
    struct capture_superblock superblock;
    struct capture *capture;

    if (!capture_superblock_read(&mapping->content, &superblock, err)) {
        capture_mapping_close(mapping);
        return NULL;
    }
    capture = create(mapping, &superblock);
    if (!load(capture, mapping, &superblock, progress, user, err)) {
        capture_close(capture);
        return NULL;
    }
    return capture;
}

struct capture *capture_open(const char *path, capture_progress *progress, void *user,
                             struct error *err)
{
    struct capture_mapping mapping;

    if (!capture_mapping_open(path, &mapping, err))
        return NULL;
    return open_mapped(&mapping, progress, user, err);
}

struct capture *capture_open_part(int fd, const char *name, uint64_t size_bytes, struct error *err)
{
    struct capture_mapping mapping;

    if (!capture_mapping_part(fd, name, (size_t)size_bytes, &mapping, err))
        return NULL;
    return open_mapped(&mapping, NULL, NULL, err);
}

void capture_close(struct capture *capture)
{
    struct capture_memory *memory;
    struct capture_mapping mapping;

    if (capture == NULL)
        return;
    memory = capture->memory;
    mapping =
        (struct capture_mapping){{capture->file, capture->bytes, (size_t)capture->file_bytes}, 0};
    capture_mapping_close(&mapping);
    free(memory->payload);
    memory_pool_finish(&memory->pool);
    free(memory);
    free(capture->processes);
    free(capture->threads);
    free(capture->codes);
    free(capture->nodes);
    free(capture->modules);
    free(capture->native_nodes);
    free(capture->symbols);
    free(capture->places);
    free(capture->stacks);
    free(capture->mark_names);
    free(capture->states);
    free(capture->samplings);
    free(capture->marks);
    free(capture->limits);
    free(capture->uses);
    free(capture->cgroups);
    free(capture->ticks);
    free(capture->rss);
    free(capture->sections);
    free(capture->models);
    free((char *)(uintptr_t)capture->file);
    free(capture);
}

uint32_t capture_ticks_until(const struct capture *capture, uint32_t tick)
{
    uint32_t low = 0, high = capture->tick_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (capture->ticks[middle].tick <= tick)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t capture_tick_time_ns(const struct capture *capture, uint32_t tick)
{
    uint32_t count = capture_ticks_until(capture, tick);

    return count > 0 ? capture->ticks[count - 1].time_ns : 0;
}

uint32_t capture_process_index(const struct capture *capture, uint32_t number)
{
    /* Numbers mostly are 1, 2, ... in the file's order. */
    if (number > 0 && number <= capture->process_count &&
        capture->processes[number - 1].number == number)
        return number - 1;
    for (uint32_t i = 0; i < capture->process_count; i++)
        if (capture->processes[i].number == number)
            return i;
    return UINT32_MAX;
}
