/*
 * Writing a capture again. Runs in the tools.
 *
 * Events are kept back by stream until a section is full, tables are written before them. What holds:
 * a bound is written behind all events that stood before it, at a checkpoint, when nothing is kept
 * back; so what is left of a cut archive can be read as what is left of any capture. Memory: the
 * events between two checkpoints.
 */
#include "capture/archive.h"

#include "base/memory.h"
#include "capture/compact.h"
#include "capture/cut_tables.h"
#include "capture/events.h"
#include "capture/load.h"
#include "capture/section.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "memtrack/varint.h"

#include <stdlib.h>
#include <string.h>

enum {
    SUPERBLOCK_AT_MINOR = 10,
    SUPERBLOCK_AT_BYTES = 12,
    SECTION_RECORDS_MOST = 16384, /* of events: longer ones are hardly smaller, or even larger */
    CHECKPOINT_RECORDS = 1 << 20,
    TABLES_MOST_BYTES = 1 << 20,
    AT_W1 = 8,
    WHY_SHIFT = 32,
};

/* Events of one stream that are kept back. */
struct archive_stream {
    uint8_t *records; /* SECTION_RECORDS_MOST; NULL: none yet */
    uint32_t count;
    uint32_t process; /* its number */
    bool has_wide;    /* the last one is WIDE, which is not parted from what it belongs to */
    uint32_t tick;
    uint64_t segment, first_segment; /* in force, and of the section */
};

struct archive {
    const struct capture *capture;
    const struct archive_cut *cut; /* NULL: nothing is left out */
    struct capture_writer *writer;
    struct archive_stream *streams; /* as capture.threads */
    uint64_t kept_count;
    uint64_t *bounds; /* as capture.processes; 0: none since the last checkpoint */
    uint8_t *tables;  /* records that are not written yet */
    size_t tables_bytes, tables_capacity;
    uint32_t tables_count;
    struct compact_encoder *encoder;
    struct events_unpacker unpacker;
    uint8_t *coded, *records, *payload;
    size_t records_capacity, payload_capacity;
    enum archive_result result; /* of what failed first */
    struct error *err;
};

bool archive_is_whole(const struct capture *capture, struct error *err)
{
    if (capture->damage.is_damaged) {
        *err = capture->damage.error;
        return false;
    }
    if (capture->state != CAPTURE_CLEAN) {
        error_set(err, "%s: is still being written: wait for its end", capture->file);
        return false;
    }
    if (le_load_u16(capture->bytes + SUPERBLOCK_AT_MINOR) > FORMAT_MINOR) {
        error_set(err, "%s: capture of a later version at offset %d: use a newer memtrack",
                  capture->file, SUPERBLOCK_AT_MINOR);
        return false;
    }
    return true;
}

bool archive_is_possible(const struct capture *capture, struct error *err)
{
    if (!capture->damage.is_damaged && capture->is_aggregated) {
        error_set(err, "%s: is aggregated: it has no events that could be written smaller",
                  capture->file);
        return false;
    }
    return archive_is_whole(capture, err);
}

static bool fail_input(struct archive *archive, uint64_t offset, const char *what)
{
    archive->result = ARCHIVE_INPUT;
    error_set(archive->err, "%s: %s at offset %llu: nothing was written", archive->capture->file,
              what, (unsigned long long)offset);
    return false;
}

static bool put_section(struct archive *archive, const struct writer_section *section)
{
    if (capture_writer_section(archive->writer, section, archive->err))
        return true;
    archive->result = ARCHIVE_OUTPUT;
    return false;
}

static bool put_tables(struct archive *archive)
{
    struct writer_section section = {
        .type = SECTION_RECORDS,
        .record_count = archive->tables_count,
        .payload = archive->tables,
        .payload_bytes = (uint32_t)archive->tables_bytes,
    };

    archive->tables_count = 0;
    archive->tables_bytes = 0;
    return section.record_count == 0 || put_section(archive, &section);
}

/* Keep a record of the tables, as it stands in its section. */
static bool keep_table(struct archive *archive, const uint8_t *bytes, size_t size_bytes)
{
    if (archive->tables_bytes + size_bytes > TABLES_MOST_BYTES && !put_tables(archive))
        return false;
    archive->tables = memory_grow(archive->tables, &archive->tables_capacity,
                                  archive->tables_bytes + size_bytes, 1);
    memcpy(archive->tables + archive->tables_bytes, bytes, size_bytes);
    archive->tables_bytes += size_bytes;
    archive->tables_count++;
    return true;
}

static bool put_stream(struct archive *archive, uint32_t index)
{
    struct archive_stream *stream = &archive->streams[index];
    struct writer_section section = {
        .type = SECTION_EVENTS,
        .coder = CODER_COMPACT,
        .process = stream->process,
        .stream = index + 1,
        .record_count = stream->count,
        .first_segment = stream->first_segment,
        .payload = archive->coded,
    };

    if (stream->count == 0)
        return true;
    section.payload_bytes =
        (uint32_t)compact_encode(archive->encoder, stream->records, stream->count, archive->coded);
    archive->kept_count -= stream->count;
    stream->count = 0;
    return put_tables(archive) && put_section(archive, &section);
}

/* Write all that is kept back. */
static bool put_streams(struct archive *archive)
{
    for (uint32_t i = 0; i < archive->capture->thread_count; i++) {
        if (!put_stream(archive, i))
            return false;
        free(archive->streams[i].records); /* most threads may have ended long ago */
        archive->streams[i].records = NULL;
    }
    return true;
}

/* Write all that is kept back, and the bounds, which hold then. */
static bool put_checkpoint(struct archive *archive)
{
    const struct capture *capture = archive->capture;

    if (!put_streams(archive))
        return false;
    for (uint32_t i = 0; i < capture->process_count; i++) {
        uint8_t body[2 * VARINT_MAX_BYTES], record[4 * VARINT_MAX_BYTES];
        size_t body_bytes, size_bytes;

        if (archive->bounds[i] == 0)
            continue;
        body_bytes = varint_encode(capture->processes[i].number, body);
        body_bytes += varint_encode(archive->bounds[i], body + body_bytes);
        size_bytes = varint_encode(RECORD_BOUND, record);
        size_bytes += varint_encode(body_bytes, record + size_bytes);
        memcpy(record + size_bytes, body, body_bytes);
        if (!keep_table(archive, record, size_bytes + body_bytes))
            return false;
        archive->bounds[i] = 0;
    }
    return put_tables(archive);
}

static void append(struct archive *archive, struct archive_stream *stream, uint64_t w0, uint64_t w1)
{
    uint8_t *record = stream->records + (size_t)stream->count * EVENT_BYTES;

    le_store_u64(w0, record);
    le_store_u64(w1, record + AT_W1);
    stream->has_wide = w0 >> EVENT_OP_SHIFT == EVENT_WIDE;
    stream->count++;
    archive->kept_count++;
}

/* Keep an event back. A section begins with SYNC; one that only repeats what is in force is left out. */
static bool keep_event(struct archive *archive, uint32_t index, uint64_t w0, uint64_t w1)
{
    struct archive_stream *stream = &archive->streams[index];
    bool is_sync = w0 >> EVENT_OP_SHIFT == EVENT_SYNC;

    if (stream->count >= SECTION_RECORDS_MOST - 1 && !stream->has_wide &&
        !put_stream(archive, index))
        return false;
    if (is_sync) {
        uint64_t segment = w0 & EVENT_ADDRESS_MASK;
        bool is_repeated = stream->count > 0 && segment == stream->segment &&
                           (uint32_t)w1 == stream->tick && w1 >> WHY_SHIFT == SYNC_SECTION;

        stream->segment = segment;
        stream->tick = (uint32_t)w1;
        if (is_repeated)
            return true;
    }
    if (stream->count == 0) {
        stream->first_segment = stream->segment;
        if (!is_sync)
            append(archive, stream, stream->segment | (uint64_t)EVENT_SYNC << EVENT_OP_SHIFT,
                   stream->tick | (uint64_t)SYNC_SECTION << WHY_SHIFT);
    }
    append(archive, stream, w0, w1);
    return true;
}

/* A section's events; of a capture that is cut those behind the cut. */
static bool keep_events(struct archive *archive, const struct section *section, uint32_t count)
{
    uint32_t process = capture_process_index(archive->capture, section->process);
    uint64_t left_out = archive->cut != NULL ? archive->cut->segments[process] : 0;
    uint64_t segment = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *record = archive->records + (size_t)i * EVENT_BYTES;
        uint64_t w0 = le_load_u64(record);

        if (w0 >> EVENT_OP_SHIFT == EVENT_SYNC)
            segment = w0 & EVENT_ADDRESS_MASK;
        if ((archive->cut == NULL || segment > left_out) &&
            !keep_event(archive, section->stream - 1, w0, le_load_u64(record + AT_W1)))
            return false;
    }
    return true;
}

/* Is all of a section behind the cut, and to be copied as it stands? Segments of a stream only rise. */
static bool is_copied(const struct archive *archive, const struct section *section)
{
    uint32_t process = capture_process_index(archive->capture, section->process);

    return archive->cut != NULL && archive->cut->is_quick &&
           section->first_segment > archive->cut->segments[process];
}

/* Behind what is kept back of its stream. */
static bool copy_events(struct archive *archive, const struct section *section, size_t offset)
{
    if (!put_stream(archive, section->stream - 1))
        return false;
    if (capture_writer_copy_section(archive->writer, section, archive->capture->bytes + offset,
                                    archive->err))
        return true;
    archive->result = ARCHIVE_OUTPUT;
    return false;
}

static bool take_events(struct archive *archive, const struct section *section, size_t offset)
{
    uint32_t index = section->stream - 1; /* checked when the capture was opened */
    struct archive_stream *stream = &archive->streams[index];
    struct events_payload payload;
    struct events_fault fault;

    stream->process = section->process;
    if (is_copied(archive, section))
        return copy_events(archive, section, offset);
    if (!events_payload_of(section, &payload, &fault))
        return fail_input(archive, section->payload_offset, fault.what);
    archive->records = memory_grow(archive->records, &archive->records_capacity,
                                   (size_t)payload.record_count * EVENT_BYTES, 1);
    if (!events_unpack(&archive->unpacker, &payload, archive->records, &fault))
        return fail_input(archive, section->payload_offset + fault.inside_bytes, fault.what);
    if (le_load_u64(archive->records) !=
        (section->first_segment | (uint64_t)EVENT_SYNC << EVENT_OP_SHIFT))
        return fail_input(archive, section->payload_offset,
                          "events that do not begin with their segment");
    if (stream->records == NULL)
        stream->records = memory_allocate(SECTION_RECORDS_MOST, EVENT_BYTES);
    if (!keep_events(archive, section, payload.record_count))
        return false;
    if (archive->kept_count < CHECKPOINT_RECORDS)
        return true;
    /* Of a cut one all bounds are known before any event is written: they hold at its end. */
    return archive->cut != NULL ? put_streams(archive) : put_checkpoint(archive);
}

/* Remember a bound until it holds. The record was read when the capture was opened. */
static void take_bound(struct archive *archive, struct cursor *body)
{
    uint64_t number, segment;

    if (cursor_varint(body, &number) && cursor_varint(body, &segment)) {
        uint32_t index = capture_process_index(archive->capture, (uint32_t)number);

        if (index != UINT32_MAX && segment > archive->bounds[index])
            archive->bounds[index] = segment;
    }
}

static bool take_tables(struct archive *archive, const struct section *section)
{
    struct cursor cursor;

    archive->payload =
        memory_grow(archive->payload, &archive->payload_capacity, section->raw_bytes, 1);
    if (!capture_unpack(section->payload, section->payload_bytes, section->flags & SECTION_LZ4,
                        section->raw_bytes, archive->payload))
        return fail_input(archive, section->payload_offset, "payload that does not unpack");
    cursor = (struct cursor){archive->payload, section->raw_bytes};
    while (cursor.left_bytes > 0) {
        const uint8_t *begin = cursor.bytes;
        struct cursor body;
        uint64_t kind;

        if (!cursor_varint(&cursor, &kind) || !cursor_part(&cursor, &body))
            return fail_input(archive, section->payload_offset, "record cut off");
        if (kind == RECORD_BOUND)
            take_bound(archive, &body);
        else if (archive->cut != NULL && cut_tables_has(kind, body, archive->cut->time_ns))
            continue;
        else if (!keep_table(archive, begin, (size_t)(cursor.bytes - begin)))
            return false;
    }
    return true;
}

/* What the events come to is what it was. */
static bool take_model(struct archive *archive, const struct section *section)
{
    struct writer_section copy = {
        .type = section->type,
        .record_count = section->record_count,
        .payload_bytes = section->raw_bytes,
    };

    archive->payload =
        memory_grow(archive->payload, &archive->payload_capacity, section->raw_bytes, 1);
    if (!capture_unpack(section->payload, section->payload_bytes, section->flags & SECTION_LZ4,
                        section->raw_bytes, archive->payload))
        return fail_input(archive, section->payload_offset, "payload that does not unpack");
    copy.payload = archive->payload;
    return put_section(archive, &copy);
}

/* Of a capture that is cut all tables come first, then what is live, then events. */
static bool take_cut_section(struct archive *archive, const struct section *section, size_t offset,
                             bool is_tables)
{
    if (section->type == SECTION_RECORDS && is_tables)
        return take_tables(archive, section);
    return section->type != SECTION_EVENTS || is_tables || take_events(archive, section, offset);
}

static bool take_section(struct archive *archive, const struct section *section, size_t offset)
{
    switch (section->type) {
    case SECTION_EVENTS:
        return take_events(archive, section, offset);
    case SECTION_RECORDS:
        return take_tables(archive, section);
    case SECTION_MODEL: /* behind all that it is of */
        return put_checkpoint(archive) && take_model(archive, section);
    case SECTION_DIRECTORY: /* the writer makes its own */
        return true;
    default:
        return fail_input(archive, offset, "section of an unknown type");
    }
}

/* Which sections are gone through. */
enum pass {
    PASS_ALL,
    PASS_TABLES, /* of a capture that is cut */
    PASS_EVENTS, /* likewise */
};

static bool take_sections(struct archive *archive, enum pass pass, capture_progress *progress,
                          void *user)
{
    const struct capture *capture = archive->capture;
    size_t end_bytes = capture->state == CAPTURE_CLEAN ? TRAILER_BYTES : 0;
    struct capture_bytes bytes = {capture->file, capture->bytes,
                                  (size_t)capture->file_bytes - end_bytes};
    size_t offset = le_load_u32(capture->bytes + SUPERBLOCK_AT_BYTES);
    struct section section;

    for (; offset < bytes.size_bytes; offset = section.next_offset) {
        if (!section_read(&bytes, offset, &section, archive->err)) {
            archive->result = ARCHIVE_INPUT;
            return false;
        }
        if (pass == PASS_ALL ? !take_section(archive, &section, offset)
                             : !take_cut_section(archive, &section, offset, pass == PASS_TABLES))
            return false;
        if (progress != NULL && !progress(user, offset, bytes.size_bytes))
            return fail_input(archive, offset, "reading was given up");
    }
    return true;
}

static bool put_table(void *user, const uint8_t *bytes, size_t size_bytes)
{
    return keep_table(user, bytes, size_bytes);
}

bool archive_tell(struct archive *archive, uint32_t stream, uint64_t w0, uint64_t w1)
{
    const struct capture_thread *thread = &archive->capture->threads[stream];
    struct archive_stream *to = &archive->streams[stream];

    to->process = archive->capture->processes[thread->process_index].number;
    if (to->records == NULL)
        to->records = memory_allocate(SECTION_RECORDS_MOST, EVENT_BYTES);
    return keep_event(archive, stream, w0, w1);
}

static bool take_all(struct archive *archive, capture_progress *progress, void *user)
{
    const struct archive_cut *cut = archive->cut;

    if (cut == NULL)
        return take_sections(archive, PASS_ALL, progress, user) && put_checkpoint(archive);
    return take_sections(archive, PASS_TABLES, NULL, NULL) &&
           cut_tables_put(archive->capture, cut->time_ns, put_table, archive) &&
           put_tables(archive) && cut->tell(cut->user, archive) &&
           take_sections(archive, PASS_EVENTS, progress, user) && put_checkpoint(archive);
}

enum archive_result archive_write(const struct capture *capture, struct capture_writer *writer,
                                  const struct archive_cut *cut, capture_progress *progress,
                                  void *user, struct error *err)
{
    struct archive archive = {
        .capture = capture,
        .cut = cut,
        .writer = writer,
        .streams = memory_allocate(capture->thread_count, sizeof(*archive.streams)),
        .bounds = memory_allocate(capture->process_count, sizeof(*archive.bounds)),
        .encoder = compact_encoder_create(),
        .coded = memory_allocate(SECTION_RECORDS_MOST, COMPACT_RECORD_MAX_BYTES),
        .err = err,
    };

    take_all(&archive, progress, user);
    for (uint32_t i = 0; i < capture->thread_count; i++)
        free(archive.streams[i].records);
    free(archive.streams);
    free(archive.bounds);
    free(archive.tables);
    compact_encoder_destroy(archive.encoder);
    events_unpacker_finish(&archive.unpacker);
    free(archive.coded);
    free(archive.records);
    free(archive.payload);
    return archive.result;
}
