/*
 * The page: one HTML file with everything in it, for any view and any range of time.
 *
 * Runs in the tools. What holds: the file refers to nothing outside itself; its size is bounded by
 * the limits below, whatever the capture's size; the same capture and options give the same bytes.
 *
 * Data sections, all columns of varints (docs/page.md is their specification; src/model.js reads
 * them): strings, frames, nodes, rows, intervals, samples.
 */
#include "render/page_frame.h"
#include "render/page_meta.h"
#include "render/page_pack.h"
#include "render/page_static.h"
#include "render/page_time.h"
#include "render/page_tree.h"
#include "render/render.h"
#include "web/assets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is folded, and up to which size: tried in this order, the last is taken as it is. */
static const struct fit {
    uint64_t threshold_ppm;
    size_t max_nodes, max_intervals;
} fits[] = {
    {0, 20000, 100000},
    {10, 100000, 400000},
    {100, 100000, 400000},
    {1000, 100000, 400000},
};

enum {
    FIT_COUNT = sizeof(fits) / sizeof(fits[0]),
    FRAME_RUNTIME = 1 << 2, /* in the column of kinds */
};

/* The page and all that it is made of. */
struct parts {
    struct page page;
    struct page_tree *tree;
    struct page_time time;
    struct page_strings strings;
    struct page_sources sources;
};

/* Fold as little as makes the page small enough. */
static void fit_tree(struct parts *parts)
{
    const struct render_input *input = parts->page.input;
    const struct fit *fit = fits;

    for (;; fit++) {
        parts->tree = page_tree_build(input->profile, input->frames, fit->threshold_ppm);
        page_time_init(&parts->time, input->profile, parts->tree);
        if (fit == &fits[FIT_COUNT - 1] || (parts->tree->node_count <= fit->max_nodes &&
                                            parts->time.interval_count <= fit->max_intervals))
            break;
        page_time_finish(&parts->time);
        page_tree_destroy(parts->tree);
    }
    page_time_merge(&parts->time, fit->max_intervals);
    parts->page.threshold_ppm = fit->threshold_ppm;
}

/* Columns: function, file, line, kind and runtime, module + 1, source line + 1. */
static void pack_frames(struct parts *parts, struct page_bytes *to)
{
    const struct page_tree *tree = parts->tree;
    struct page_bytes columns[6] = {{.bytes = NULL}};

    for (uint32_t i = 0; i < tree->frame_count; i++) {
        struct frame frame = page_frame_get(parts->page.input->frames, tree->frame_ids[i]);

        page_bytes_add_varint(&columns[0], page_strings_intern(&parts->strings, frame.function));
        page_bytes_add_varint(&columns[1], page_strings_intern(&parts->strings, frame.file));
        page_bytes_add_varint(&columns[2], frame.line);
        page_bytes_add_varint(&columns[3], frame.kind | (frame.is_runtime ? FRAME_RUNTIME : 0u));
        page_bytes_add_varint(
            &columns[4],
            frame.module == NULL ? 0 : 1 + page_strings_intern(&parts->strings, frame.module));
        page_bytes_add_varint(&columns[5],
                              parts->sources.strings == NULL ? 0 : parts->sources.strings[i]);
    }
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        page_bytes_add(to, columns[i].bytes, columns[i].size_bytes);
        page_bytes_finish(&columns[i]);
    }
}

/* Columns, without the root: depths up from the node before; frame, 0 the next new one, else + 1. */
static void pack_nodes(const struct page_tree *tree, struct page_bytes *to)
{
    uint32_t new_frame = 0;

    for (uint32_t i = 1; i < tree->node_count; i++)
        page_bytes_add_varint(to, tree->nodes[i - 1].depth + 1 - tree->nodes[i].depth);
    for (uint32_t i = 1; i < tree->node_count; i++) {
        uint32_t frame = tree->nodes[i].frame;

        page_bytes_add_varint(to, frame == new_frame ? 0 : frame + 1);
        new_frame += frame == new_frame;
    }
}

/* Columns: node, from the row before; thread; allocator; bytes and allocations of each view. */
static void pack_rows(const struct page_tree *tree, struct page_bytes *to)
{
    uint32_t node = 0;

    for (uint32_t i = 0; i < tree->row_count; i++) {
        page_bytes_add_varint(to, tree->rows[i].node - node);
        node = tree->rows[i].node;
    }
    for (uint32_t i = 0; i < tree->row_count; i++)
        page_bytes_add_varint(to, tree->rows[i].stream);
    for (uint32_t i = 0; i < tree->row_count; i++)
        page_bytes_add_varint(to, tree->rows[i].allocator);
    for (unsigned view = 0; view < VIEW_COUNT; view++) {
        for (uint32_t i = 0; i < tree->row_count; i++)
            page_bytes_add_varint(to, tree->rows[i].costs[view].bytes);
        for (uint32_t i = 0; i < tree->row_count; i++)
            page_bytes_add_varint(to, tree->rows[i].costs[view].allocations);
    }
}

/*
 * Columns: row, from the interval before; first bucket, from the interval before of the same row;
 * buckets lived, 0 for ever; bytes; allocations.
 */
static void pack_intervals(const struct page_time *time, struct page_bytes *to)
{
    const struct page_interval *intervals = time->intervals;

    for (size_t i = 0; i < time->interval_count; i++)
        page_bytes_add_varint(to, intervals[i].row - (i > 0 ? intervals[i - 1].row : 0));
    for (size_t i = 0; i < time->interval_count; i++) {
        bool is_first = i == 0 || intervals[i - 1].row != intervals[i].row;

        page_bytes_add_varint(to, intervals[i].from_bucket -
                                      (is_first ? 0u : intervals[i - 1].from_bucket));
    }
    for (size_t i = 0; i < time->interval_count; i++)
        page_bytes_add_varint(to,
                              intervals[i].to_bucket == PAGE_NEVER_BUCKET
                                  ? 0u
                                  : (uint32_t)intervals[i].to_bucket - intervals[i].from_bucket);
    for (size_t i = 0; i < time->interval_count; i++)
        page_bytes_add_varint(to, intervals[i].bytes);
    for (size_t i = 0; i < time->interval_count; i++)
        page_bytes_add_varint(to, intervals[i].allocations);
}

/* Columns, each folded from the sample before: time, heap bytes, heap blocks, RSS. */
static void pack_samples(const struct profile *profile, struct page_bytes *to)
{
    static const struct profile_sample zero;
    const struct profile_sample *samples = profile->samples;

    for (uint32_t i = 0; i < profile->sample_count; i++)
        page_bytes_add_folded(
            to, (int64_t)(samples[i].time_ns - (i > 0 ? &samples[i - 1] : &zero)->time_ns));
    for (uint32_t i = 0; i < profile->sample_count; i++)
        page_bytes_add_folded(
            to, (int64_t)(samples[i].heap_bytes - (i > 0 ? &samples[i - 1] : &zero)->heap_bytes));
    for (uint32_t i = 0; i < profile->sample_count; i++)
        page_bytes_add_folded(
            to, (int64_t)(samples[i].heap_blocks - (i > 0 ? &samples[i - 1] : &zero)->heap_blocks));
    for (uint32_t i = 0; i < profile->sample_count; i++)
        page_bytes_add_folded(
            to, (int64_t)(samples[i].rss_bytes - (i > 0 ? &samples[i - 1] : &zero)->rss_bytes));
}

enum data_section {
    DATA_FRAMES,
    DATA_NODES,
    DATA_ROWS,
    DATA_INTERVALS,
    DATA_SAMPLES,
    DATA_STRINGS, /* last: the others add to them */
    DATA_COUNT,
};

static bool write_data(struct parts *parts, FILE *out, struct error *err)
{
    static const char *const names[] = {
        [DATA_FRAMES] = "frames",       [DATA_NODES] = "nodes",     [DATA_ROWS] = "rows",
        [DATA_INTERVALS] = "intervals", [DATA_SAMPLES] = "samples", [DATA_STRINGS] = "strings",
    };
    const struct profile *profile = parts->page.input->profile;
    bool is_written = true;

    for (unsigned i = 0; i < DATA_COUNT && is_written; i++) {
        struct page_bytes content = {.bytes = NULL};

        switch ((enum data_section)i) {
        case DATA_FRAMES:
            pack_frames(parts, &content);
            break;
        case DATA_NODES:
            pack_nodes(parts->tree, &content);
            break;
        case DATA_ROWS:
            pack_rows(parts->tree, &content);
            break;
        case DATA_INTERVALS:
            pack_intervals(&parts->time, &content);
            break;
        case DATA_SAMPLES:
            pack_samples(profile, &content);
            break;
        case DATA_STRINGS:
            page_strings_pack(&parts->strings, &content);
            break;
        case DATA_COUNT:
            break;
        }
        is_written = page_write_section(out, names[i], &content, err);
        page_bytes_finish(&content);
    }
    return is_written && page_meta_write(out, &parts->page, err);
}

static void write_part(FILE *out, enum web_part part)
{
    fwrite(web_parts[part].bytes, 1, web_parts[part].size_bytes, out);
}

static void write_title(FILE *out, const struct capture *capture)
{
    char *name = page_program_name(capture);

    page_write_text(out, name);
    fputs(" \xc2\xb7 memtrack", out);
    free(name);
}

bool render_flamegraph(const struct render_input *input, FILE *out, struct error *err)
{
    struct parts parts = {.page = {.input = input}};
    bool is_written;

    fit_tree(&parts);
    if (input->options->has_source)
        page_sources_init(&parts.sources, input->capture, input->frames, parts.tree,
                          &parts.strings);
    parts.page.tree = parts.tree;
    parts.page.time = &parts.time;
    parts.page.strings = &parts.strings;
    parts.page.sources = &parts.sources;

    write_part(out, WEB_UP_TO_TITLE);
    write_title(out, input->capture);
    write_part(out, WEB_UP_TO_STATIC);
    page_static_write(out, &parts.page);
    write_part(out, WEB_UP_TO_DATA);
    is_written = write_data(&parts, out, err);
    write_part(out, WEB_UP_TO_END);
    if (is_written && (fflush(out) != 0 || ferror(out))) {
        error_set(err, "the page: cannot write: %s: free some space or choose another -o",
                  strerror(errno));
        is_written = false;
    }

    page_sources_finish(&parts.sources);
    page_strings_finish(&parts.strings);
    page_time_finish(&parts.time);
    page_tree_destroy(parts.tree);
    return is_written;
}
