/*
 * Source text of the page. Runs in the tools.
 */
#include "render/page_source.h"

#include "base/memory.h"
#include "render/page_frame.h"
#include "symbol/source.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_LINE_BYTES = 160, /* more is no help and makes the page larger */
    CONTEXT_LINES = 4,    /* above and below a frame's line */
};

/* Return the number of a line's text, or of its first bytes. */
static uint32_t intern_line(const char *text, struct page_strings *strings)
{
    char line[MAX_LINE_BYTES + 1];
    size_t length = strlen(text);

    if (length > MAX_LINE_BYTES) {
        length = MAX_LINE_BYTES;
        /* Not through a character. */
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
    }
    memcpy(line, text, length);
    line[length] = '\0';
    return page_strings_intern(strings, line);
}

/* Add the lines around a frame's. */
static void add_context(struct page_sources *sources, struct source *source,
                        const struct frame *frame, struct page_strings *strings)
{
    uint32_t first = frame->line > CONTEXT_LINES ? frame->line - CONTEXT_LINES : 1;
    uint32_t file = page_strings_intern(strings, frame->file);

    for (uint32_t line = first; line <= frame->line + CONTEXT_LINES; line++) {
        const char *text = source_indented_line(source, frame->file, line);

        if (text == NULL)
            break;
        sources->lines = memory_grow(sources->lines, &sources->capacity, sources->context_count + 1,
                                     sizeof(sources->lines[0]));
        sources->lines[sources->context_count++] =
            (struct page_source_line){file, line, intern_line(text, strings)};
    }
}

static int compare_lines(const void *a, const void *b)
{
    const struct page_source_line *left = a, *right = b;

    if (left->file != right->file)
        return left->file < right->file ? -1 : 1;
    return left->line < right->line ? -1 : left->line > right->line;
}

/* Sort them, and keep one of those that are alike. */
static void settle_lines(struct page_sources *sources)
{
    size_t kept = 0;

    if (sources->context_count == 0)
        return;
    qsort(sources->lines, sources->context_count, sizeof(sources->lines[0]), compare_lines);
    for (size_t i = 0; i < sources->context_count; i++) {
        if (kept == 0 || compare_lines(&sources->lines[kept - 1], &sources->lines[i]) != 0)
            sources->lines[kept++] = sources->lines[i];
    }
    sources->context_count = kept;
}

void page_sources_init(struct page_sources *sources, const struct capture *capture,
                       const struct frames *frames, const struct page_tree *tree,
                       size_t max_context_bytes, struct page_strings *strings)
{
    struct source *source = source_create(capture->session.directory, capture->session.realtime_ns);
    size_t first_bytes = strings->text.size_bytes;

    *sources = (struct page_sources){.line_count = 0};
    sources->strings = memory_allocate(tree->frame_count, sizeof(sources->strings[0]));
    for (uint32_t i = 0; i < tree->frame_count; i++) {
        struct frame frame = page_frame_get(frames, tree, i);
        const char *line = NULL;

        if (frame.kind != FRAME_SPECIAL && frame.line > 0)
            line = source_indented_line(source, frame.file, frame.line);
        if (line == NULL || line[strspn(line, " \t\f")] == '\0')
            continue;
        sources->strings[i] = 1 + intern_line(line, strings);
        sources->line_count++;
        if (strings->text.size_bytes - first_bytes < max_context_bytes)
            add_context(sources, source, &frame, strings);
    }
    source_destroy(source);
    settle_lines(sources);
}

/* Return how many lines from the first on are of its file. */
static size_t file_run(const struct page_sources *sources, size_t first)
{
    size_t end = first;

    while (end < sources->context_count && sources->lines[end].file == sources->lines[first].file)
        end++;
    return end - first;
}

uint32_t page_sources_files(const struct page_sources *sources)
{
    uint32_t count = 0;

    for (size_t i = 0; i < sources->context_count; i += file_run(sources, i))
        count++;
    return count;
}

void page_sources_pack(const struct page_sources *sources, struct page_bytes *to)
{
    const struct page_source_line *lines = sources->lines;

    for (size_t i = 0; i < sources->context_count; i += file_run(sources, i))
        page_bytes_add_varint(to, lines[i].file);
    for (size_t i = 0; i < sources->context_count; i += file_run(sources, i))
        page_bytes_add_varint(to, file_run(sources, i));
    for (size_t i = 0; i < sources->context_count; i++) {
        bool is_first = i == 0 || lines[i - 1].file != lines[i].file;

        page_bytes_add_varint(to, lines[i].line - (is_first ? 0 : lines[i - 1].line));
    }
    for (size_t i = 0; i < sources->context_count; i++)
        page_bytes_add_varint(to, lines[i].text);
}

void page_sources_finish(struct page_sources *sources)
{
    free(sources->strings);
    free(sources->lines);
    *sources = (struct page_sources){.strings = NULL};
}
