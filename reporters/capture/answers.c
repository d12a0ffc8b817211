/*
 * Rows of answers. Runs in the tools.
 */
#include "capture/answers.h"

#include "capture/cursor.h"
#include "memtrack/varint.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static bool text_equals(const void *items, uint32_t item, const void *key)
{
    return strcmp(((const char *const *)items)[item], key) == 0;
}

static void put(struct answers *answers, uint64_t value)
{
    answers->bytes =
        memory_grow(answers->bytes, &answers->capacity, answers->size_bytes + VARINT_MAX_BYTES, 1);
    answers->size_bytes += varint_encode(value, answers->bytes + answers->size_bytes);
}

static void put_text(struct answers *answers, const char *text)
{
    size_t length = strlen(text);
    uint64_t hash = XXH3_64bits(text, length);
    uint32_t found = hash_index_find(&answers->index, hash, text_equals, answers->texts, text);

    if (found != HASH_INDEX_NONE) {
        put(answers, found);
        return;
    }
    put(answers, answers->text_count);
    put(answers, length);
    answers->bytes =
        memory_grow(answers->bytes, &answers->capacity, answers->size_bytes + length, 1);
    memcpy(answers->bytes + answers->size_bytes, text, length);
    answers->size_bytes += length;
    answers->texts = memory_grow(answers->texts, &answers->text_capacity, answers->text_count + 1,
                                 sizeof(*answers->texts));
    hash_index_add(&answers->index, hash, (uint32_t)answers->text_count);
    answers->texts[answers->text_count++] = text;
}

void answers_finish(struct answers *answers)
{
    free(answers->bytes);
    free(answers->texts);
    hash_index_finish(&answers->index);
    *answers = (struct answers){0};
}

void answers_begin(struct answers *answers)
{
    answers->size_bytes = 0;
    answers->text_count = 0;
    hash_index_finish(&answers->index);
}

void answers_number(struct answers *answers, uint64_t value)
{
    put(answers, value);
}

void answers_place(struct answers *answers, const char *function, const char *file, uint32_t line,
                   uint32_t column)
{
    put_text(answers, function);
    put_text(answers, file);
    put(answers, line);
    put(answers, column);
}

static bool read_text(struct answers_reader *reader, const char **ret_text)
{
    struct cursor cursor = {reader->bytes, reader->left_bytes}, part;
    uint64_t number;

    if (!cursor_limited(&cursor, reader->text_count, &number))
        return false;
    if (number == reader->text_count) {
        if (!cursor_part(&cursor, &part) || memchr(part.bytes, '\0', part.left_bytes) != NULL)
            return false;
        reader->texts = memory_grow(reader->texts, &reader->text_capacity, reader->text_count + 1,
                                    sizeof(*reader->texts));
        reader->texts[reader->text_count++] =
            memory_pool_copy(reader->pool, (const char *)part.bytes, part.left_bytes);
    }
    *ret_text = reader->texts[number];
    reader->bytes = cursor.bytes;
    reader->left_bytes = cursor.left_bytes;
    return true;
}

bool answers_read_number(struct answers_reader *reader, uint64_t limit, uint64_t *ret_value)
{
    struct cursor cursor = {reader->bytes, reader->left_bytes};

    if (!cursor_limited(&cursor, limit, ret_value))
        return false;
    reader->bytes = cursor.bytes;
    reader->left_bytes = cursor.left_bytes;
    return true;
}

bool answers_read_place(struct answers_reader *reader, const char **ret_function,
                        const char **ret_file, uint32_t *ret_line, uint32_t *ret_column)
{
    uint64_t line, column;

    if (!read_text(reader, ret_function) || !read_text(reader, ret_file) ||
        !answers_read_number(reader, UINT32_MAX, &line) ||
        !answers_read_number(reader, UINT32_MAX, &column))
        return false;
    *ret_line = (uint32_t)line;
    *ret_column = (uint32_t)column;
    return true;
}
