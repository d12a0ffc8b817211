/*
 * Storing an aggregated capture. One thread at a time.
 *
 * What holds: the tables are whole sections in memory, to which is only added; what has the name is a
 * file that was written to its end before it got it, and whose lock we hold as long as it may be
 * replaced. What others have done with the name is left alone.
 */
#include "collect/aggregate_file.h"

#include "base/memory.h"
#include "capture/cursor.h"
#include "capture/model_bytes.h"
#include "capture/writer.h"
#include "collect/capture_name.h"
#include "collect/snapshot_file.h"
#include "memtrack/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TABLES_SECTION_BYTES = 1 << 20,
};

struct aggregate_file {
    char *path;                    /* of the file itself: a link stays a link */
    struct capture_writer *first;  /* the file that was made at the start; NULL: it was replaced */
    int fd;                        /* of the file that has the name, whose lock it holds */
    struct capture_writer *tables; /* in memory: superblock and RECORDS sections */
    uint8_t *kept;                 /* records that are in no section yet */
    size_t kept_bytes, kept_capacity;
    uint32_t kept_count;
};

struct aggregate_file *aggregate_file_open(const char *path, bool may_overwrite,
                                           const uint8_t uuid[16], uint64_t realtime_ns,
                                           struct error *err)
{
    struct capture_writer *tables = capture_writer_open_memory(path, uuid, realtime_ns, err);
    struct aggregate_file *file;

    if (tables == NULL)
        return NULL;
    file = memory_allocate(1, sizeof(*file));
    file->tables = tables;
    file->fd = -1;
    file->first = capture_writer_open_aggregated(path, may_overwrite, uuid, realtime_ns, err);
    if (file->first != NULL) {
        file->fd = capture_writer_fd(file->first);
        file->path = realpath(path, NULL);
        if (file->path != NULL)
            return file;
        error_set(err, "%s: cannot be found again: %s", path, strerror(errno));
    }
    aggregate_file_close(file);
    return NULL;
}

/* Bounds are of events. Ticks and samples are many; what is left of them is written with each model. */
static bool is_kept(uint64_t kind)
{
    return kind != RECORD_TICKS && kind != RECORD_BOUND && kind != RECORD_RSS && kind != RECORD_USE;
}

static bool put_tables(struct aggregate_file *file, struct error *err)
{
    struct writer_section section = {
        .type = SECTION_RECORDS,
        .record_count = file->kept_count,
        .payload = file->kept,
        .payload_bytes = (uint32_t)file->kept_bytes,
    };

    if (file->kept_count == 0)
        return true;
    file->kept_bytes = 0;
    file->kept_count = 0;
    return capture_writer_section(file->tables, &section, err);
}

void aggregate_file_take(struct aggregate_file *file, const uint8_t *payload, size_t size_bytes)
{
    struct cursor cursor = {payload, size_bytes};

    while (cursor.left_bytes > 0) {
        const uint8_t *begin = cursor.bytes;
        struct cursor body;
        uint64_t kind;
        size_t record_bytes;

        if (!cursor_varint(&cursor, &kind) || !cursor_part(&cursor, &body))
            return; /* whoever has read it before has found it right */
        record_bytes = (size_t)(cursor.bytes - begin);
        if (!is_kept(kind))
            continue;
        if (file->kept_bytes + record_bytes > TABLES_SECTION_BYTES)
            (void)put_tables(file,
                             NULL); /* the writer keeps a failure, and says it when it is asked */
        file->kept =
            memory_grow(file->kept, &file->kept_capacity, file->kept_bytes + record_bytes, 1);
        memcpy(file->kept + file->kept_bytes, begin, record_bytes);
        file->kept_bytes += record_bytes;
        file->kept_count++;
    }
}

static void put_last_tick(struct records *records, const struct capture *capture)
{
    const struct capture_tick *last;

    if (capture->tick_count == 0)
        return;
    last = &capture->ticks[capture->tick_count - 1];
    records_begin(records, RECORD_TICKS);
    records_number(records, last->tick);
    records_number(records, 1);
    records_number(records, last->time_ns);
    records_end(records);
}

static void put_samples(struct records *records, const struct capture *capture)
{
    for (uint32_t i = 0; i < capture->rss_count; i++) {
        const struct capture_rss *rss = &capture->rss[i];

        records_begin(records, RECORD_RSS);
        records_number(records, capture->processes[rss->process_index].number);
        records_number(records, rss->time_ns);
        records_number(records, rss->resident_bytes);
        records_number(records, rss->huge_bytes);
        records_end(records);
    }
    for (uint32_t i = 0; i < capture->use_count; i++) {
        const struct capture_use *use = &capture->uses[i];

        records_begin(records, RECORD_USE);
        records_number(records, use->kind);
        records_number(records, use->kind == USE_CGROUP ? use->owner + UINT64_C(1)
                                                        : capture->processes[use->owner].number);
        records_number(records, use->time_ns);
        records_number(records, use->bytes);
        records_end(records);
    }
}

static bool put_records(struct capture_writer *writer, const struct records *records,
                        struct error *err)
{
    struct writer_section section = {
        .type = SECTION_RECORDS,
        .record_count = records->count,
        .payload = records->bytes,
        .payload_bytes = (uint32_t)records->size_bytes,
    };

    return records->count == 0 || capture_writer_section(writer, &section, err);
}

/* What stands behind the tables. */
static bool put_content(struct capture_writer *writer, const struct aggregate_content *content,
                        struct error *err)
{
    struct records samples = {0};
    bool is_written;

    put_last_tick(&samples, content->capture);
    put_samples(&samples, content->capture);
    is_written =
        put_records(writer, &samples, err) &&
        (content->end == NULL || put_records(writer, content->end, err)) &&
        capture_model_write(writer, content->model->bytes, content->model->size_bytes, err);
    records_finish(&samples);
    return is_written;
}

/* Fill a file, which stays open, and stands at its end. */
static bool fill(struct aggregate_file *file, struct snapshot_file *output, const char *path,
                 const struct aggregate_content *content, struct error *err)
{
    struct capture_writer_point *point;
    struct capture_writer *writer;
    bool is_written;

    if (!put_tables(file, err))
        return false;
    point = capture_writer_point(file->tables, err);
    if (point == NULL)
        return false;
    is_written = snapshot_file_copy(output, capture_writer_point_fd(point),
                                    capture_writer_point_bytes(point), path, err);
    if (is_written) {
        writer = capture_writer_resume(output->fd, path, point);
        is_written = put_content(writer, content, err);
        if (is_written && content->end != NULL)
            is_written = capture_writer_close(writer, err);
        else
            capture_writer_abandon(writer);
    }
    capture_writer_point_free(point);
    return is_written;
}

static bool take_name(struct aggregate_file *file, struct snapshot_file *output, struct error *err)
{
    int fd;

    if (!capture_name_take(file->path, file->fd, output, &fd, err))
        return false;
    if (file->first != NULL)
        capture_writer_abandon(file->first);
    else
        close(file->fd);
    file->first = NULL;
    file->fd = fd;
    return true;
}

bool aggregate_file_store(struct aggregate_file *file, const struct aggregate_content *content,
                          struct error *err)
{
    struct snapshot_file output;
    bool is_stored;

    if (!snapshot_file_open(file->path, &output, err))
        return false;
    is_stored = fill(file, &output, file->path, content, err) && take_name(file, &output, err);
    snapshot_file_close(&output);
    return is_stored;
}

bool aggregate_file_write(struct aggregate_file *file, int fd, const char *path,
                          const struct aggregate_content *content, struct error *err)
{
    struct snapshot_file output = {.fd = fd};

    return fill(file, &output, path, content, err);
}

void aggregate_file_close(struct aggregate_file *file)
{
    if (file == NULL)
        return;
    if (file->first != NULL)
        capture_writer_abandon(file->first);
    else if (file->fd >= 0)
        close(file->fd);
    if (file->tables != NULL)
        capture_writer_abandon(file->tables);
    free(file->kept);
    free(file->path);
    free(file);
}
