/*
 * The script-less part of the page. Runs in the tools.
 *
 * The picture is the same icicle that the script draws, of the view that was asked for: boxes under
 * so many pixels are left out, and the least size grows until the picture is small enough.
 */
#include "render/page_static.h"

#include "base/memory.h"
#include "print/units.h"
#include "render/page_frame.h"
#include "render/parts.h"
#include "report/labels.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH_PIXELS = 1200,
    ROW_PIXELS = 18,
    MAX_DEPTH = 24,
    MAX_BOXES = 200,
    MIN_BOX_PIXELS = 3,
    CHARACTER_PIXELS = 7, /* of a 12 pixel font, on average */
    TABLE_ROWS = 20,
};

/* By node of the tree, of the view that is shown. */
struct layout {
    const struct page *page;
    struct memory_pool pool; /* of places */
    uint32_t *shown;         /* the node itself, or the one above that stands for it */
    uint32_t *depth;
    uint64_t *total_bytes;
    uint64_t *own_bytes;
    uint64_t *own_allocations;
    uint64_t *left_bytes; /* where the box begins: bytes to the left of it */
};

static struct frame frame_of(const struct page *page, uint32_t node)
{
    if (node == 0)
        return (struct frame){.function = "all", .file = ""};
    return page_frame_get(page->input->frames, page->tree, page->tree->nodes[node].frame);
}

/* Find which nodes are shown: the runtime's frames only when that was asked for. */
static void choose_nodes(struct layout *layout)
{
    const struct page *page = layout->page;

    for (uint32_t i = 1; i < page->tree->node_count; i++) {
        uint32_t above = layout->shown[page->tree->nodes[i].parent];
        bool is_shown = page->input->options->shows_runtime || !frame_of(page, i).is_runtime;

        layout->shown[i] = is_shown ? i : above;
        layout->depth[i] = layout->depth[above] + is_shown;
    }
}

static void count_costs(struct layout *layout)
{
    const struct page_tree *tree = layout->page->tree;
    enum profile_view view = layout->page->input->options->view;

    for (uint32_t i = 0; i < tree->row_count; i++) {
        uint32_t node = layout->shown[tree->rows[i].node];

        layout->own_bytes[node] += tree->rows[i].costs[view].bytes;
        layout->own_allocations[node] += tree->rows[i].costs[view].allocations;
    }
    for (uint32_t i = tree->node_count; i-- > 0;) {
        if (layout->shown[i] != i)
            continue;
        layout->total_bytes[i] += layout->own_bytes[i];
        if (i > 0)
            layout->total_bytes[layout->shown[tree->nodes[i].parent]] += layout->total_bytes[i];
    }
}

static void layout_init(struct layout *layout, const struct page *page)
{
    const struct page_tree *tree = page->tree;
    uint64_t *used_bytes = memory_allocate(tree->node_count, sizeof(uint64_t));

    *layout = (struct layout){.page = page};
    layout->shown = memory_allocate(tree->node_count, sizeof(uint32_t));
    layout->depth = memory_allocate(tree->node_count, sizeof(uint32_t));
    layout->total_bytes = memory_allocate(tree->node_count, sizeof(uint64_t));
    layout->own_bytes = memory_allocate(tree->node_count, sizeof(uint64_t));
    layout->own_allocations = memory_allocate(tree->node_count, sizeof(uint64_t));
    layout->left_bytes = memory_allocate(tree->node_count, sizeof(uint64_t));
    choose_nodes(layout);
    count_costs(layout);
    for (uint32_t i = 1; i < tree->node_count; i++) {
        uint32_t parent = layout->shown[tree->nodes[i].parent];

        if (layout->shown[i] != i)
            continue;
        layout->left_bytes[i] = layout->left_bytes[parent] + used_bytes[parent];
        used_bytes[parent] += layout->total_bytes[i];
    }
    free(used_bytes);
}

static void layout_finish(struct layout *layout)
{
    memory_pool_finish(&layout->pool);
    free(layout->left_bytes);
    free(layout->own_allocations);
    free(layout->own_bytes);
    free(layout->total_bytes);
    free(layout->depth);
    free(layout->shown);
}

static double pixels(const struct layout *layout, uint64_t bytes)
{
    return (double)bytes / (double)layout->total_bytes[0] * WIDTH_PIXELS;
}

static bool is_drawn(const struct layout *layout, uint32_t node, double min_pixels)
{
    return layout->shown[node] == node && layout->depth[node] <= MAX_DEPTH &&
           pixels(layout, layout->total_bytes[node]) >= min_pixels;
}

/* The function, or of a module's own code the file: modules have all one name. */
static const char *title_of(const struct frame *frame)
{
    const char *folder = frame->file, *name = frame->file;

    if (strcmp(frame->function, "<module>") != 0 || frame->file[0] == '\0')
        return frame->function;
    for (const char *p = frame->file; *p != '\0'; p++) {
        if (*p == '/') {
            folder = name;
            name = p + 1;
        }
    }
    return folder; /* and what follows: "numpy/__init__.py" */
}

/* Write as much of a text as fits, by characters, never through one. */
static void write_label(FILE *out, const char *text, size_t max_characters)
{
    char label[WIDTH_PIXELS / CHARACTER_PIXELS * 4 + 8];
    size_t bytes = 0, characters = 0;

    while (text[bytes] != '\0' && bytes + 4 < sizeof(label) - 4) {
        if (((unsigned char)text[bytes] & 0xc0) != 0x80 && ++characters > max_characters)
            break;
        bytes++;
    }
    memcpy(label, text, bytes);
    label[bytes] = '\0';
    page_write_text(out, label);
    if (text[bytes] != '\0')
        fputs("\xe2\x80\xa6", out);
}

/* Pale colours, the same for the same file, so that what belongs together is seen. */
static const char *fill_of(const struct frame *frame)
{
    static const char *const fills[] = {"#f6d8ae", "#cfe3f7", "#d5ecd4", "#e6dcf5",
                                        "#f8d5d0", "#d3eceb", "#efe9c2", "#e3e3ea"};
    uint32_t hash = 0;

    for (const char *p = frame->file; *p != '\0'; p++)
        hash = hash * 31 + (unsigned char)*p;
    return frame->file[0] == '\0' ? "#dfe3ea" : fills[hash % 8];
}

static void write_place(FILE *out, struct layout *layout, const struct frame *frame)
{
    page_write_text(out,
                    label_place(&layout->pool, layout->page->input->capture, frame, frame->line));
}

static void write_box(FILE *out, struct layout *layout, uint32_t node)
{
    struct frame frame = frame_of(layout->page, node);
    double x = pixels(layout, layout->left_bytes[node]);
    double width = pixels(layout, layout->total_bytes[node]);
    double y = (double)layout->depth[node] * ROW_PIXELS;
    size_t max_characters = width > 8 ? (size_t)((width - 8) / CHARACTER_PIXELS) : 0;

    fputs("<g><title>", out);
    page_write_text(out, frame.function);
    if (frame.file[0] != '\0') {
        fputs(" ", out);
        write_place(out, layout, &frame);
    }
    fprintf(out, " %s</title>", units_format_size(layout->total_bytes[node], 0).text);
    fprintf(out, "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>", x, y,
            width > 2 ? width - 1 : width, ROW_PIXELS - 1, fill_of(&frame));
    if (max_characters >= 3) {
        fprintf(out, "<text x=\"%.1f\" y=\"%.0f\" fill=\"#15181d\">", x + 4, y + 13);
        write_label(out, title_of(&frame), max_characters);
        fputs("</text>", out);
    }
    fputs("</g>\n", out);
}

static void write_picture(FILE *out, struct layout *layout)
{
    const struct page_tree *tree = layout->page->tree;
    double min_pixels = MIN_BOX_PIXELS;
    uint32_t max_depth = 0, box_count;

    for (;; min_pixels *= 1.5) {
        max_depth = box_count = 0;
        for (uint32_t i = 0; i < tree->node_count; i++) {
            if (!is_drawn(layout, i, min_pixels))
                continue;
            box_count++;
            if (layout->depth[i] > max_depth)
                max_depth = layout->depth[i];
        }
        if (box_count <= MAX_BOXES || min_pixels > WIDTH_PIXELS)
            break;
    }
    fprintf(out,
            "<svg role=\"img\" aria-label=\"flame graph\" xmlns=\"http://www.w3.org/2000/svg\" "
            "width=\"%d\" height=\"%" PRIu32 "\" viewBox=\"0 0 %d %" PRIu32
            "\" font-family=\"sans-serif\" font-size=\"12\">\n",
            WIDTH_PIXELS, (max_depth + 1) * ROW_PIXELS, WIDTH_PIXELS, (max_depth + 1) * ROW_PIXELS);
    for (uint32_t i = 0; i < tree->node_count; i++) {
        if (is_drawn(layout, i, min_pixels))
            write_box(out, layout, i);
    }
    fputs("</svg>\n", out);
}

struct location {
    uint32_t frame;
    uint64_t bytes, allocations;
};

static int compare_locations(const void *a, const void *b)
{
    const struct location *left = a, *right = b;

    if (left->bytes != right->bytes)
        return left->bytes > right->bytes ? -1 : 1;
    return left->frame < right->frame ? -1 : left->frame > right->frame;
}

static void write_location(FILE *out, struct layout *layout, const struct location *location)
{
    const struct page *page = layout->page;
    struct frame frame = page_frame_get(page->input->frames, page->tree, location->frame);

    fprintf(out,
            "<tr><td align=\"right\">%s</td><td align=\"right\">%.1f%%</td>"
            "<td align=\"right\">%" PRIu64 "</td><td>",
            units_format_size(location->bytes, 0).text,
            100 * (double)location->bytes / (double)layout->total_bytes[0], location->allocations);
    page_write_text(out, frame.function);
    fputs("</td><td>", out);
    write_place(out, layout, &frame);
    fputs("</td></tr>\n", out);
}

static void write_table(FILE *out, struct layout *layout)
{
    const struct page_tree *tree = layout->page->tree;
    struct location *locations = memory_allocate(tree->frame_count, sizeof(locations[0]));

    for (uint32_t i = 0; i < tree->frame_count; i++)
        locations[i].frame = i;
    for (uint32_t i = 1; i < tree->node_count; i++) {
        locations[tree->nodes[i].frame].bytes += layout->own_bytes[i];
        locations[tree->nodes[i].frame].allocations += layout->own_allocations[i];
    }
    qsort(locations, tree->frame_count, sizeof(locations[0]), compare_locations);
    fputs("<table><caption>Where most bytes were allocated</caption>\n<tr><th scope=\"col\">Own"
          "</th><th scope=\"col\">Share</th><th scope=\"col\">Blocks</th><th scope=\"col\">Function"
          "</th><th scope=\"col\">Location</th></tr>\n",
          out);
    for (uint32_t i = 0; i < tree->frame_count && i < TABLE_ROWS && locations[i].bytes > 0; i++)
        write_location(out, layout, &locations[i]);
    fputs("</table>\n", out);
    free(locations);
}

void page_static_write(FILE *out, const struct page *page)
{
    static const char *const views[VIEW_WHOLE_COUNT] = {
        [VIEW_PEAK] = "live at the peak of the heap",
        [VIEW_LEAKS] = "not released at the end",
        [VIEW_ALLOCATED] = "allocated in the whole run",
        [VIEW_TEMPORARY] = "allocated and soon released",
    };
    enum profile_view view = page->input->options->view;
    char *name = page_program_name(page->input->capture);
    struct memory_pool pool = {.newest = NULL};
    struct layout layout;

    layout_init(&layout, page);
    fputs("<h1>Memory of ", out);
    page_write_text(out, name);
    fprintf(out,
            "</h1>\n<p>%s %s. Hover a box for its place; with scripts allowed this page is "
            "interactive.</p>\n",
            units_format_size(layout.total_bytes[0], 0).text,
            view == VIEW_WINDOW ? parts_window_text(&pool, page->input->profile) : views[view]);
    memory_pool_finish(&pool);
    if (layout.total_bytes[0] > 0) {
        write_picture(out, &layout);
        write_table(out, &layout);
    }
    layout_finish(&layout);
    free(name);
}
