/*
 * Frames of the page and their source lines. Runs in the tools.
 */
#include "render/page_frame.h"

#include "base/memory.h"
#include "report/labels.h"
#include "symbol/source.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_LINE_BYTES = 160, /* more is no help in a tooltip and makes the page larger */
};

struct frame page_frame_get(const struct frames *frames, const struct page_tree *tree,
                            uint32_t number)
{
    int64_t frame_id = tree->frame_ids[number];
    struct frame special = {.file = "", .kind = FRAME_SPECIAL};

    if (frame_id >= 0)
        return *frames_get(frames, (uint32_t)frame_id);
    if (frame_id == PAGE_FRAME_FOLDED)
        special.function = "[smaller stacks]";
    else if (frame_id <= PAGE_FRAME_PROCESS)
        special.function = tree->process_names[PAGE_FRAME_PROCESS - frame_id];
    else
        special.function =
            label_allocator(tree->capture, (uint8_t)(frame_id - PAGE_FRAME_ALLOCATOR));
    return special;
}

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

void page_sources_init(struct page_sources *sources, const struct capture *capture,
                       const struct frames *frames, const struct page_tree *tree,
                       struct page_strings *strings)
{
    struct source *source = source_create(capture->session.directory, capture->session.realtime_ns);

    *sources = (struct page_sources){.line_count = 0};
    sources->strings = memory_allocate(tree->frame_count, sizeof(sources->strings[0]));
    for (uint32_t i = 0; i < tree->frame_count; i++) {
        struct frame frame = page_frame_get(frames, tree, i);
        const char *line = NULL;

        if (frame.kind == FRAME_PYTHON && frame.line > 0)
            line = source_line(source, frame.file, frame.line);
        if (line == NULL || line[0] == '\0')
            continue;
        sources->strings[i] = 1 + intern_line(line, strings);
        sources->line_count++;
    }
    source_destroy(source);
}

void page_sources_finish(struct page_sources *sources)
{
    free(sources->strings);
    *sources = (struct page_sources){.strings = NULL};
}
