/*
 * `memtrack info`: the header of a capture, its sections and tables, its health. Runs in the tools.
 */
#include "capture/merge.h"
#include "capture/section.h"
#include "memtrack/format.h"
#include "memtrack/protocol.h"
#include "memtrack/varint.h"
#include "print/numbers.h"
#include "print/progress.h"
#include "print/table.h"
#include "render/native_parts.h"
#include "render/parts.h"
#include "report/labels.h"
#include "report/limits.h"

#include <string.h>
#include <time.h>

/* Sections of one type; those of events by their coder. */
struct section_sum {
    const char *name, *coder; /* NULL: has none */
    uint8_t type, coder_number;
    uint64_t count, records, raw_bytes, file_bytes;
};

enum {
    SUM_COUNT = 7, /* the last: types of a later version */
};

struct section_sums {
    struct section_sum sums[SUM_COUNT];
};

static struct section_sum *find_sum(struct section_sums *sums, const struct section *section)
{
    struct section_sum *sum = sums->sums;

    while (sum->type != 0 && (sum->type != section->type ||
                              (sum->coder != NULL && sum->coder_number != section->coder)))
        sum++;
    return sum;
}

static struct section_sums sum_sections(const struct capture *capture)
{
    struct section_sums sums = {
        .sums = {{"events", "fixed", SECTION_EVENTS, CODER_FIXED, 0, 0, 0, 0},
                 {"events", "planes", SECTION_EVENTS, CODER_PLANES, 0, 0, 0, 0},
                 {"events", "compact", SECTION_EVENTS, CODER_COMPACT, 0, 0, 0, 0},
                 {"records", NULL, SECTION_RECORDS, 0, 0, 0, 0, 0},
                 {"model", NULL, SECTION_MODEL, 0, 0, 0, 0, 0},
                 {"directory", NULL, SECTION_DIRECTORY, 0, 0, 0, 0, 0},
                 {"other", NULL, 0, 0, 0, 0, 0, 0}}};
    struct capture_bytes bytes = {capture->file, capture->bytes, capture->file_bytes};
    struct section section;
    size_t offset;

    if (capture->bytes == NULL || capture->file_bytes < SUPERBLOCK_BYTES)
        return sums;
    /* Ends at the trailer or at the damage: neither is a section. */
    for (offset = le_load_u32(capture->bytes + 12);
         offset < bytes.size_bytes && section_read(&bytes, offset, &section, NULL);
         offset = section.next_offset) {
        struct section_sum *sum = find_sum(&sums, &section);

        sum->count++;
        sum->records += section.record_count;
        sum->raw_bytes += section.raw_bytes;
        sum->file_bytes += section.payload_bytes;
    }
    return sums;
}

/* Entry 0 of a table stands for "none". */
static uint64_t count_used(uint32_t table_count)
{
    return table_count > 0 ? table_count - 1 : 0;
}

/* Numbers of a capture that have one name in text and JSON. */
struct fact {
    const char *name;
    uint64_t value;
};

enum {
    NAME_COLUMNS = 15,
    FACT_COUNT = 14,
};

static void collect_facts(const struct capture *capture, struct fact ret_facts[FACT_COUNT])
{
    const struct capture_summary *summary = &capture->summary;
    const struct fact facts[FACT_COUNT] = {
        {"processes", capture->process_count},
        {"threads", capture->thread_count},
        {"functions", count_used(capture->code_count)},
        {"frames", count_used(capture->node_count)},
        {"stacks", count_used(capture->stack_count)},
        {"ticks", capture->tick_count},
        {"event_records", capture->event_record_count},
        {"events", summary->events},
        {"slots", summary->slots},
        {"lost_events", summary->lost},
        {"holes", summary->holes},
        {"damaged_slots", summary->faults},
        {"modules", count_used(capture->module_count)},
        {"native_frames", count_used(capture->native_node_count)},
    };

    memcpy(ret_facts, facts, sizeof(facts));
}

/* Every event of a capture, read when the user asks for it; opening it looks at checksums alone. */
struct verification {
    bool is_done;
    uint64_t events; /* up to the first that is not right */
    struct capture_damage damage;
};

enum {
    BATCH_EVENTS = 256,
};

static struct verification verify(const struct capture *capture, FILE *out)
{
    struct verification verification = {.is_done = true};
    struct capture_merge *merge = capture_merge_open(capture);
    struct event events[BATCH_EVENTS];
    struct progress progress;
    uint32_t count;

    progress_begin(&progress, "memtrack: reading the events", out);
    while ((count = capture_merge_next(merge, events, BATCH_EVENTS, &verification.damage)) > 0) {
        verification.events += count;
        progress_step(&progress, verification.events, capture->event_record_count);
    }
    progress_end(&progress);
    capture_merge_close(merge);
    return verification;
}

static void write_line(FILE *out, const char *name, const char *value)
{
    if (value != NULL && value[0] != '\0')
        fprintf(out, "%-14s %s\n", name, value);
}

/* UTC: the same capture gives the same bytes everywhere. */
static const char *time_text(struct memory_pool *pool, uint64_t realtime_ns)
{
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    char text[64];
    struct tm parts;
    size_t length;

    if (realtime_ns == 0 || gmtime_r(&seconds, &parts) == NULL)
        return "";
    length = strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts);
    return memory_pool_copy(pool, text, length);
}

/* Its version, and where its small objects come from. */
static void write_python(const struct capture_process *python, struct memory_pool *pool,
                         bool is_ascii, FILE *out)
{
    const char *allocator = python->python_allocator;
    bool is_known = allocator != NULL && allocator[0] != '\0';

    fprintf(out, "%-14s %s%s%s\n", "Python", text_clean(pool, python->python_version, is_ascii),
            is_known ? ", with " : "", is_known ? text_clean(pool, allocator, is_ascii) : "");
}

static void write_session(const struct render_input *input, struct memory_pool *pool, FILE *out)
{
    const struct capture *capture = input->capture;
    const struct capture_session *session = &capture->session;
    const struct capture_process *python = label_python_process(capture);
    bool is_ascii = input->options->is_ascii;
    char text[2 * sizeof(session->uuid) + 1];

    for (size_t i = 0; i < sizeof(session->uuid); i++)
        snprintf(text + 2 * i, 3, "%02x", session->uuid[i]);
    write_line(out, "state",
               capture->summary.is_snapshot ? "a snapshot: the recording went on"
                                            : label_state(capture->state));
    if (capture->is_aggregated)
        write_line(out, "aggregated", "it holds what the events come to, not the events");
    for (uint32_t i = 0; i < capture->summary.failure_count; i++)
        write_line(out, "failed", text_clean(pool, capture->summary.failures[i], is_ascii));
    write_line(out, "size", units_format_size(capture->file_bytes, 0).text);
    write_line(out, "session", text);
    write_line(out, "started", time_text(pool, session->realtime_ns));
    write_line(out, "host", text_clean(pool, session->host != NULL ? session->host : "", is_ascii));
    write_line(out, "machine", text_clean(pool, session->machine, is_ascii));
    write_line(out, "memtrack", text_clean(pool, session->version, is_ascii));
    write_line(out, "directory",
               text_clean(pool, session->directory != NULL ? session->directory : "", is_ascii));
    if (python != NULL)
        write_python(python, pool, is_ascii, out);
    fprintf(out, "%-14s Python stacks %s, native stacks %s, Python allocators %s\n", "options",
            session->options & POOL_OPTION_PYTHON ? "on" : "off",
            session->options & POOL_OPTION_NATIVE ? "on" : "off",
            label_has_python_allocators(capture) ? "on" : "off");
}

static void write_sections(const struct render_input *input, FILE *out)
{
    static const struct table_column columns[] = {
        {.title = "SECTIONS", .kind = TABLE_WORD},  {.title = "COUNT", .kind = TABLE_NUMBER},
        {.title = "RECORDS", .kind = TABLE_NUMBER}, {.title = "BYTES", .kind = TABLE_NUMBER},
        {.title = "IN FILE", .kind = TABLE_NUMBER},
    };
    struct section_sums sums = sum_sections(input->capture);
    struct text_style style = parts_style(input->options);
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]), &style);

    for (unsigned i = 0; i < SUM_COUNT; i++) {
        const struct section_sum *sum = &sums.sums[i];
        char name[32];

        if (sum->count == 0)
            continue;
        snprintf(name, sizeof(name), sum->coder != NULL ? "%s, %s" : "%s", sum->name, sum->coder);
        table_add(table, name);
        table_add(table, numbers_format_count(sum->count).text);
        table_add(table, numbers_format_count(sum->records).text);
        table_add(table, units_format_size(sum->raw_bytes, 0).text);
        table_add(table, units_format_size(sum->file_bytes, 0).text);
    }
    fputc('\n', out);
    table_finish(table, true, out);
    fputc('\n', out);
}

static const char *cgroup_of(const struct capture *capture, const struct limit_row *row)
{
    return row->cgroup < capture->cgroup_count ? capture->cgroups[row->cgroup] : "";
}

static void write_limits(const struct render_input *input, FILE *out)
{
    static const struct table_column columns[] = {
        {.title = "LIMIT", .kind = TABLE_WORD},     {.title = "BYTES", .kind = TABLE_NUMBER},
        {.title = "FROM", .kind = TABLE_NUMBER},    {.title = "PROCESSES", .kind = TABLE_NUMBER},
        {.title = "OF CGROUP", .kind = TABLE_PATH},
    };
    struct limit_rows rows = limit_rows_collect(input->capture);
    struct text_style style = parts_style(input->options);
    struct table *table;

    if (rows.count == 0) {
        limit_rows_finish(&rows);
        return;
    }
    table = table_create(columns, sizeof(columns) / sizeof(columns[0]), &style);
    for (size_t i = 0; i < rows.count; i++) {
        const struct limit_row *row = &rows.rows[i];

        table_add(table, limit_name(row->kind));
        table_add(table, row->is_set ? units_format_size(row->bytes, 0).text : "none");
        table_add(table, units_format_time(row->from_ns, 0).text);
        table_add(table,
                  row->process_count > 0 ? numbers_format_count(row->process_count).text : "all");
        table_add(table, cgroup_of(input->capture, row));
    }
    table_finish(table, true, out);
    fputc('\n', out);
    limit_rows_finish(&rows);
}

static void write_limits_json(struct json_writer *json, const struct capture *capture)
{
    struct limit_rows rows = limit_rows_collect(capture);

    json_write_open_rows(json, "limits");
    for (size_t i = 0; i < rows.count; i++) {
        const struct limit_row *row = &rows.rows[i];

        json_write_open_object(json, NULL);
        json_write_text(json, "limit", limit_name(row->kind));
        if (row->is_set)
            json_write_number(json, "bytes", row->bytes);
        else
            json_write_null(json, "bytes");
        json_write_number(json, "from_ns", row->from_ns);
        json_write_number_or_null(json, "processes", row->process_count);
        if (row->cgroup < capture->cgroup_count)
            json_write_text(json, "cgroup", capture->cgroups[row->cgroup]);
        else
            json_write_null(json, "cgroup");
        json_write_close(json);
    }
    json_write_close(json);
    limit_rows_finish(&rows);
}

static void write_verification(const struct capture *capture,
                               const struct verification *verification, FILE *out)
{
    bool is_whole = !capture->damage.is_damaged && !verification->damage.is_damaged;

    fprintf(out, "%-14s every checksum and %s events%s\n", "verified",
            numbers_format_count(verification->events).text, is_whole ? "" : ", up to the damage");
}

static void write_text(const struct render_input *input, const struct verification *verification,
                       FILE *out)
{
    struct memory_pool pool = {.newest = NULL};
    struct fact facts[FACT_COUNT];

    parts_write_header(input, out);
    write_session(input, &pool, out);
    write_sections(input, out);
    write_limits(input, out);
    collect_facts(input->capture, facts);
    for (unsigned i = 0; i < FACT_COUNT; i++)
        write_line(out, facts[i].name, numbers_format_count(facts[i].value).text);
    native_parts_write(input, NAME_COLUMNS, out);
    if (verification->is_done)
        write_verification(input->capture, verification, out);
    memory_pool_finish(&pool);
}

static void write_json(const struct render_input *input, const struct verification *verification,
                       FILE *out)
{
    struct section_sums sums = sum_sections(input->capture);
    struct fact facts[FACT_COUNT];
    struct json_writer json;

    json_write_init(&json, out);
    parts_open_json(&json, input, "info");
    json_write_number(&json, "file_bytes", input->capture->file_bytes);
    json_write_bool(&json, "snapshot", input->capture->summary.is_snapshot);
    json_write_open_array(&json, "failures");
    for (uint32_t i = 0; i < input->capture->summary.failure_count; i++)
        json_write_text(&json, NULL, input->capture->summary.failures[i]);
    json_write_close(&json);
    json_write_open_rows(&json, "sections");
    for (unsigned i = 0; i < SUM_COUNT; i++) {
        const struct section_sum *sum = &sums.sums[i];

        if (sum->count == 0)
            continue;
        json_write_open_object(&json, NULL);
        json_write_text(&json, "type", sum->name);
        json_write_number(&json, "count", sum->count);
        json_write_number(&json, "records", sum->records);
        json_write_number(&json, "raw_bytes", sum->raw_bytes);
        json_write_number(&json, "file_bytes", sum->file_bytes);
        if (sum->coder != NULL)
            json_write_text(&json, "coder", sum->coder);
        else
            json_write_null(&json, "coder");
        json_write_close(&json);
    }
    json_write_close(&json);
    collect_facts(input->capture, facts);
    json_write_open_object(&json, "counts");
    for (unsigned i = 0; i < FACT_COUNT; i++)
        json_write_number(&json, facts[i].name, facts[i].value);
    json_write_close(&json);
    if (verification->is_done)
        json_write_number(&json, "verified_events", verification->events);
    else
        json_write_null(&json, "verified_events");
    write_limits_json(&json, input->capture);
    native_parts_write_json(&json, input);
    json_write_close(&json);
    json_write_finish(&json);
}

bool render_info(const struct render_input *input, FILE *out, struct error *err)
{
    struct verification verification = {.is_done = false};

    if (input->options->is_verifying)
        verification = verify(input->capture, input->progress);
    if (input->options->is_json)
        write_json(input, &verification, out);
    else
        write_text(input, &verification, out);
    if (input->ret_damage != NULL)
        *input->ret_damage = verification.damage;
    return parts_end(out, err);
}
