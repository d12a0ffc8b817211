/*
 * The page: one HTML file with everything in it, for any view and any range of time.
 *
 * Runs in the tools. What holds: the file refers to nothing outside itself; its size is bounded as
 * page_fit.h says, whatever the capture's size; the same capture and options give the same bytes.
 */
#include "render/page_columns.h"
#include "render/page_error.h"
#include "render/page_fit.h"
#include "render/page_meta.h"
#include "render/page_pack.h"
#include "render/page_source.h"
#include "render/page_static.h"
#include "render/render.h"
#include "web/assets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The page and all that it is made of. */
struct parts {
    struct page page;
    struct page_fit fit;
    struct page_strings strings;
    struct page_sources sources;
};

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
            page_columns_frames(parts->fit.tree, parts->page.input->frames, &parts->sources,
                                &parts->strings, &content);
            break;
        case DATA_NODES:
            page_columns_nodes(parts->fit.tree, &content);
            break;
        case DATA_ROWS:
            page_columns_rows(parts->fit.tree, &content);
            break;
        case DATA_INTERVALS:
            page_columns_intervals(&parts->fit.time, &content);
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

    page_fit_make(input, &parts.fit);
    parts.page.threshold_ppm = parts.fit.threshold_ppm;
    parts.page.error = page_error_find(input->profile, &parts.fit);
    if (input->options->source != SOURCE_NONE)
        page_sources_init(&parts.sources, input->capture, input->frames, parts.fit.tree,
                          page_fit_context_bytes(input->options), &parts.strings);
    parts.page.tree = parts.fit.tree;
    parts.page.time = &parts.fit.time;
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
    page_fit_finish(&parts.fit);
    return is_written;
}
