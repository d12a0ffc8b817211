/*
 * The page: one HTML file with everything in it, for any view and any range of time.
 *
 * Runs in the tools. What holds: the file refers to nothing outside itself; its size is bounded by
 * the limits below, whatever the capture's size; the same capture and options give the same bytes.
 */
#include "render/page_columns.h"
#include "render/page_meta.h"
#include "render/page_pack.h"
#include "render/page_source.h"
#include "render/page_static.h"
#include "render/page_time.h"
#include "render/page_tree.h"
#include "render/render.h"
#include "web/assets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * What is folded, and the size of the data up to which that is enough: tried in this order. A page
 * has some 100 KB besides.
 */
static const struct fit {
    uint64_t threshold_ppm;
    size_t max_bytes;
    bool may_merge; /* intervals, when it is they that are too large */
} fits[] = {
    {0, 700000, false},    {10, 2000000, false},   {100, 1700000, true},
    {1000, 2000000, true}, {10000, 1700000, true},
};

enum {
    FIT_COUNT = sizeof(fits) / sizeof(fits[0]),
    MAX_MERGES = 4,
};

/* The page and all that it is made of. */
struct parts {
    struct page page;
    struct page_tree *tree;
    struct page_time time;
    struct page_strings strings;
    struct page_sources sources;
};

static size_t tree_bytes(const struct page_tree *tree)
{
    struct page_bytes columns = {.bytes = NULL};
    size_t bytes;

    page_columns_nodes(tree, &columns);
    page_columns_rows(tree, &columns);
    bytes = page_section_bytes(&columns);
    page_bytes_finish(&columns);
    return bytes;
}

static size_t time_bytes(const struct page_time *time)
{
    struct page_bytes columns = {.bytes = NULL};
    size_t bytes;

    page_columns_intervals(time, &columns);
    bytes = page_section_bytes(&columns);
    page_bytes_finish(&columns);
    return bytes;
}

/* Merge intervals until they take so many bytes. Sizes fall slower than numbers: it takes turns. */
static void merge_intervals(struct page_time *time, size_t max_bytes)
{
    for (unsigned i = 0; i < MAX_MERGES; i++) {
        double share = (double)max_bytes / (double)(time_bytes(time) + 1);

        if (share >= 1)
            return;
        page_time_merge(time, (size_t)((double)time->interval_count * share * 0.95));
    }
}

/* Fold as little as makes the page small enough. */
static void fit_tree(struct parts *parts)
{
    const struct render_input *input = parts->page.input;

    for (const struct fit *fit = fits;; fit++) {
        bool is_last = fit == &fits[FIT_COUNT - 1];
        size_t bytes;

        parts->tree = page_tree_build(input->profile, input->frames, input->options->hides_native,
                                      fit->threshold_ppm);
        page_time_init(&parts->time, input->profile, parts->tree);
        parts->page.threshold_ppm = fit->threshold_ppm;
        bytes = tree_bytes(parts->tree);
        if (is_last || (fit->may_merge && bytes <= fit->max_bytes / 2))
            merge_intervals(&parts->time, fit->max_bytes - fit->max_bytes / 2);
        if (is_last || bytes + time_bytes(&parts->time) <= fit->max_bytes)
            return;
        page_time_finish(&parts->time);
        page_tree_destroy(parts->tree);
    }
}

enum data_section {
    DATA_FRAMES,
    DATA_NODES,
    DATA_ROWS,
    DATA_INTERVALS,
    DATA_SAMPLES,
    DATA_SOURCES,
    DATA_STRINGS, /* last: the others add to them */
    DATA_COUNT,
};

static bool write_data(struct parts *parts, FILE *out, struct error *err)
{
    static const char *const names[] = {
        [DATA_FRAMES] = "frames",       [DATA_NODES] = "nodes",     [DATA_ROWS] = "rows",
        [DATA_INTERVALS] = "intervals", [DATA_SAMPLES] = "samples", [DATA_SOURCES] = "sources",
        [DATA_STRINGS] = "strings",
    };
    const struct profile *profile = parts->page.input->profile;
    bool is_written = true;

    for (unsigned i = 0; i < DATA_COUNT && is_written; i++) {
        struct page_bytes content = {.bytes = NULL};

        switch ((enum data_section)i) {
        case DATA_FRAMES:
            page_columns_frames(parts->tree, parts->page.input->frames, &parts->sources,
                                &parts->strings, &content);
            break;
        case DATA_NODES:
            page_columns_nodes(parts->tree, &content);
            break;
        case DATA_ROWS:
            page_columns_rows(parts->tree, &content);
            break;
        case DATA_INTERVALS:
            page_columns_intervals(&parts->time, &content);
            break;
        case DATA_SAMPLES:
            page_columns_samples(profile, &content);
            break;
        case DATA_SOURCES:
            page_sources_pack(&parts->sources, &content);
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
    if (input->options->source != SOURCE_NONE)
        page_sources_init(&parts.sources, input->capture, input->frames, parts.tree,
                          input->options->source == SOURCE_CONTEXT, &parts.strings);
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
