/*
 * An arena tells memtrack of its blocks.
 *
 * A small text index: words are copied into an arena, which asks malloc for a few large chunks. To
 * malloc, and so to any profiler, the chunks are all there is; memtrack_pool_alloc() and _free() say
 * what is cut from them, and by whom. memtrack_phase_begin() and _end() set the two stages apart.
 *
 *     cc -Iinclude -o arena examples/arena.c
 *     memtrack run -o arena.bin ./arena && memtrack stats arena.bin && memtrack table --pools arena.bin
 */
#include <memtrack/memtrack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_BYTES = 64 * 1024,
    WORD_COUNT = 20000,
    ALIGN_BYTES = 16,
};

/* Before each block: what stands below it in the arena. */
struct header {
    struct header *before;
    size_t size_bytes;
};

struct chunk {
    struct chunk *next;
    size_t used_bytes;
    char bytes[];
};

struct arena {
    const char *name;
    struct chunk *chunks;
    struct header *newest;
};

static void *arena_alloc(struct arena *arena, size_t size_bytes)
{
    size_t need =
        (sizeof(struct header) + size_bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    struct header *header;

    if (arena->chunks == NULL || arena->chunks->used_bytes + need > CHUNK_BYTES) {
        struct chunk *chunk = malloc(sizeof(*chunk) + CHUNK_BYTES);

        if (chunk == NULL || need > CHUNK_BYTES)
            abort();
        chunk->next = arena->chunks;
        chunk->used_bytes = 0;
        arena->chunks = chunk;
    }
    header = (struct header *)(arena->chunks->bytes + arena->chunks->used_bytes);
    arena->chunks->used_bytes += need;
    header->before = arena->newest;
    header->size_bytes = size_bytes;
    arena->newest = header;
    memtrack_pool_alloc(arena->name, header + 1, size_bytes);
    return header + 1;
}

/* Everything at once, as arenas do. */
static void arena_reset(struct arena *arena)
{
    while (arena->newest != NULL) {
        struct header *before = arena->newest->before;

        memtrack_pool_free(arena->name, arena->newest + 1);
        arena->newest = before;
    }
    while (arena->chunks != NULL) {
        struct chunk *next = arena->chunks->next;

        free(arena->chunks);
        arena->chunks = next;
    }
}

static const char *make_word(struct arena *arena, unsigned number)
{
    char text[64];
    int length = snprintf(text, sizeof(text), "word %u %.*s", number, (int)(number % 40),
                          "----------------------------------------");
    char *word = arena_alloc(arena, (size_t)length + 1);

    return memcpy(word, text, (size_t)length + 1);
}

int main(void)
{
    struct arena words = {.name = "words"}, entries = {.name = "entries"};
    unsigned long phase = memtrack_phase_begin("index");
    const char **index = arena_alloc(&entries, 1024 * sizeof(*index));
    size_t total_bytes = 0;

    for (unsigned i = 0; i < WORD_COUNT; i++)
        index[i % 1024] = make_word(&words, i);
    memtrack_phase_end(phase);
    memtrack_mark("indexed");

    phase = memtrack_phase_begin("look up");
    for (unsigned i = 0; i < 1024; i++)
        total_bytes += strlen(index[i]);
    printf("%zu bytes of text\n", total_bytes);
    memtrack_phase_end(phase);
    arena_reset(&words);
    arena_reset(&entries);
    return 0;
}
