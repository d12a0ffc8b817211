/*
 * Source text. Runs in the tools; not thread-safe.
 *
 * A file is read whole when first asked for and cut into lines where it lies; that it cannot be
 * read is remembered too. What holds: nothing is opened that could block or be endless, and no more
 * than MAX_TOTAL_BYTES is held.
 */
#include "symbol/source.h"

#include "base/hash_index.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    MAX_FILE_BYTES = 16 << 20,
    MAX_TOTAL_BYTES = 256 << 20,
};

struct source_file {
    char *name;
    char *text; /* each line's end is NUL; NULL: there is nothing to show */
    uint32_t *line_offsets;
    size_t line_count;
};

struct source {
    char *directory;
    uint64_t newest_realtime_ns;
    struct source_file *files;
    size_t count, capacity;
    struct hash_index index;
    size_t total_bytes;
};

static bool name_equals(const void *items, uint32_t item, const void *key)
{
    return strcmp(((const struct source_file *)items)[item].name, key) == 0;
}

static int open_file(const struct source *source, const char *name)
{
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY; /* it may be a pipe or a terminal */
    char *path;
    int fd;

    if (name[0] == '\0' || name[0] == '<')
        return -1;
    if (name[0] == '/' || source->directory[0] == '\0')
        return open(name, flags);
    if (asprintf(&path, "%s/%s", source->directory, name) < 0)
        return -1;
    fd = open(path, flags);
    free(path);
    return fd;
}

static bool is_usable(const struct source *source, const struct stat *status)
{
    uint64_t changed_ns =
        (uint64_t)status->st_mtim.tv_sec * 1000000000 + (uint64_t)status->st_mtim.tv_nsec;

    if (!S_ISREG(status->st_mode) || status->st_size > MAX_FILE_BYTES)
        return false;
    if ((size_t)status->st_size > MAX_TOTAL_BYTES - source->total_bytes)
        return false;
    return source->newest_realtime_ns == 0 || changed_ns <= source->newest_realtime_ns;
}

/* Read up to size_bytes; a file that grew meanwhile is cut. */
static char *read_text(int fd, size_t size_bytes, size_t *ret_length_bytes)
{
    char *text = memory_allocate(size_bytes + 1, 1);
    size_t length = 0;

    while (length < size_bytes) {
        ssize_t count = read(fd, text + length, size_bytes - length);

        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        length += (size_t)count;
    }
    *ret_length_bytes = length;
    return text;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f';
}

static void cut_into_lines(struct source_file *file, size_t length_bytes)
{
    size_t capacity = 0, begin = 0;

    while (begin < length_bytes) {
        char *newline = memchr(file->text + begin, '\n', length_bytes - begin);
        size_t end = newline != NULL ? (size_t)(newline - file->text) : length_bytes;
        size_t next = end + 1;

        while (end > begin && is_space(file->text[end - 1]))
            end--;
        file->text[end] = '\0';
        file->line_offsets = memory_grow(file->line_offsets, &capacity, file->line_count + 1,
                                         sizeof(file->line_offsets[0]));
        file->line_offsets[file->line_count++] = (uint32_t)begin;
        begin = next;
    }
}

static struct source_file load(struct source *source, const char *name)
{
    struct source_file file = {.name = memory_copy_text(name)};
    int fd = open_file(source, name);
    struct stat status;
    size_t length_bytes;

    if (fd < 0)
        return file;
    if (fstat(fd, &status) == 0 && is_usable(source, &status)) {
        file.text = read_text(fd, (size_t)status.st_size, &length_bytes);
        cut_into_lines(&file, length_bytes);
        source->total_bytes += length_bytes;
    }
    close(fd);
    return file;
}

struct source *source_create(const char *directory, uint64_t newest_realtime_ns)
{
    struct source *source = memory_allocate(1, sizeof(*source));

    source->directory = memory_copy_text(directory);
    source->newest_realtime_ns = newest_realtime_ns;
    return source;
}

void source_destroy(struct source *source)
{
    if (source == NULL)
        return;
    for (size_t i = 0; i < source->count; i++) {
        free(source->files[i].name);
        free(source->files[i].text);
        free(source->files[i].line_offsets);
    }
    hash_index_finish(&source->index);
    free(source->files);
    free(source->directory);
    free(source);
}

const char *source_indented_line(struct source *source, const char *file, uint32_t line)
{
    uint64_t hash = XXH3_64bits(file, strlen(file));
    uint32_t found = hash_index_find(&source->index, hash, name_equals, source->files, file);
    const struct source_file *entry;

    if (found == HASH_INDEX_NONE) {
        source->files = memory_grow(source->files, &source->capacity, source->count + 1,
                                    sizeof(source->files[0]));
        found = (uint32_t)source->count;
        source->files[source->count++] = load(source, file);
        hash_index_add(&source->index, hash, found);
    }
    entry = &source->files[found];
    if (line == 0 || line > entry->line_count)
        return NULL;
    return entry->text + entry->line_offsets[line - 1];
}

const char *source_line(struct source *source, const char *file, uint32_t line)
{
    const char *text = source_indented_line(source, file, line);

    while (text != NULL && is_space(*text))
        text++;
    return text;
}
