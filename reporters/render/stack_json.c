/*
 * Stacks in JSON. Runs in the tools. Memory: a text a frame that was written.
 */
#include "render/stack_json.h"

#include "base/memory.h"
#include "render/parts.h"

#include <stdlib.h>

/* A frame as it stands in the output; the pool's. */
struct frame_json {
    const char *text; /* NULL: not yet made */
    size_t length_bytes;
};

struct stack_json {
    const struct paths *paths;
    struct frames *frames;
    uint32_t no_stack; /* the frame that stands for no stack */
    struct memory_pool pool;
    struct frame_json *texts; /* by frame */
    size_t count, capacity;
};

struct stack_json *stack_json_create(const struct paths *paths)
{
    struct stack_json *stacks = memory_allocate(1, sizeof(*stacks));

    stacks->paths = paths;
    stacks->frames = paths_frames(paths);
    stacks->no_stack = frames_of_node(stacks->frames, 0);
    return stacks;
}

void stack_json_destroy(struct stack_json *stacks)
{
    if (stacks == NULL)
        return;
    memory_pool_finish(&stacks->pool);
    free(stacks->texts);
    free(stacks);
}

static struct frame_json make_text(struct stack_json *stacks, uint32_t frame)
{
    struct frame_json made;
    struct json_writer json;
    char *text = NULL;
    size_t length_bytes = 0;
    FILE *out = open_memstream(&text, &length_bytes);

    if (out == NULL)
        memory_stop();
    json_write_init(&json, out);
    json_write_open_object(&json, NULL);
    parts_write_frame_fields(&json, frames_get(stacks->frames, frame));
    json_write_close(&json);
    json_write_finish(&json);
    if (fclose(out) != 0)
        memory_stop();
    /* Without the end of its line. */
    made.length_bytes = length_bytes - 1;
    made.text = memory_pool_copy(&stacks->pool, text, made.length_bytes);
    free(text);
    return made;
}

static const struct frame_json *text_of(struct stack_json *stacks, uint32_t frame)
{
    if (frame >= stacks->count) {
        stacks->texts = memory_grow(stacks->texts, &stacks->capacity, (size_t)frame + 1,
                                    sizeof(stacks->texts[0]));
        while (stacks->count < stacks->capacity)
            stacks->texts[stacks->count++] = (struct frame_json){.text = NULL};
    }
    if (stacks->texts[frame].text == NULL)
        stacks->texts[frame] = make_text(stacks, frame);
    return &stacks->texts[frame];
}

void stack_json_write(struct stack_json *stacks, struct json_writer *json, const char *key,
                      uint32_t path)
{
    uint32_t count;
    const struct path *all = paths_all(stacks->paths, &count);

    json_write_open_array(json, key);
    for (; path != 0 && all[path].frame != stacks->no_stack; path = all[path].parent) {
        const struct frame_json *frame = text_of(stacks, all[path].frame);

        json_write_made(json, NULL, frame->text, frame->length_bytes);
    }
    json_write_close(json);
}
