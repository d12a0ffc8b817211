/*
 * The JSON writer. Runs in the tools; one thread a stream.
 *
 * What holds: what has been written is a prefix of valid JSON (RFC 8259), whatever the texts.
 */
#include "print/json_write.h"

#include "base/memory.h"
#include "print/text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The stream is this thread's, and reports write many single characters. */
static void put(const struct json_writer *json, char c)
{
    putc_unlocked(c, json->out);
}

static void put_text(const struct json_writer *json, const char *text)
{
    fwrite_unlocked(text, 1, strlen(text), json->out);
}

/* Characters that stand for themselves, as many as there are in a row. */
static size_t count_plain(const char *text)
{
    size_t count = 0;

    while (text[count] >= 0x20 && text[count] < 0x7f && text[count] != '"' && text[count] != '\\')
        count++;
    return count;
}

static unsigned put_character(const struct json_writer *json, const char *text)
{
    uint32_t character;
    unsigned length = text_decode(text, &character);

    if (length == 0 || (character >= 0xd800 && character <= 0xdfff)) {
        put_text(json, "\\ufffd");
        return length > 0 ? length : 1;
    }
    if (character == '"' || character == '\\') {
        put(json, '\\');
        put(json, (char)character);
    } else if (character == '\n') {
        put_text(json, "\\n");
    } else if (character < 0x20 || (character >= 0x7f && character < 0xa0)) {
        /* DEL and C1 need no escape in JSON, but a terminal obeys them. */
        fprintf(json->out, "\\u%04x", (unsigned)character);
    } else {
        fwrite_unlocked(text, 1, length, json->out);
    }
    return length;
}

static void put_quoted(const struct json_writer *json, const char *text)
{
    put(json, '"');
    while (*text != '\0') {
        size_t plain = count_plain(text);

        fwrite_unlocked(text, 1, plain, json->out);
        text += plain;
        if (*text != '\0')
            text += put_character(json, text);
    }
    put(json, '"');
}

/* What stands before a value: comma, line, key. */
static void begin_value(struct json_writer *json, const char *key)
{
    char level = json->depth > 0 ? json->levels[json->depth - 1] : '\0';

    assert((level == '{') == (key != NULL));
    if (!json->is_first)
        put(json, ',');
    if (level == 'r')
        put(json, '\n');
    json->is_first = false;
    if (key != NULL) {
        put_quoted(json, key);
        put(json, ':');
    }
}

static void open_level(struct json_writer *json, const char *key, char level)
{
    begin_value(json, key);
    put(json, level == '{' ? '{' : '[');
    json->levels = memory_grow(json->levels, &json->capacity, json->depth + 1, 1);
    json->levels[json->depth++] = level;
    json->is_first = true;
}

void json_write_init(struct json_writer *json, FILE *out)
{
    *json = (struct json_writer){.out = out, .is_first = true};
}

void json_write_finish(struct json_writer *json)
{
    assert(json->depth == 0);
    if (!json->is_first)
        put(json, '\n');
    free(json->levels);
    *json = (struct json_writer){.out = NULL};
}

void json_write_next_line(struct json_writer *json)
{
    assert(json->depth == 0);
    if (!json->is_first)
        put(json, '\n');
    json->is_first = true;
}

void json_write_open_object(struct json_writer *json, const char *key)
{
    open_level(json, key, '{');
}

void json_write_open_array(struct json_writer *json, const char *key)
{
    open_level(json, key, '[');
}

void json_write_open_rows(struct json_writer *json, const char *key)
{
    open_level(json, key, 'r');
}

void json_write_close(struct json_writer *json)
{
    assert(json->depth > 0);
    json->depth--;
    put(json, json->levels[json->depth] == '{' ? '}' : ']');
    json->is_first = false;
}

void json_write_made(struct json_writer *json, const char *key, const char *made,
                     size_t length_bytes)
{
    begin_value(json, key);
    fwrite_unlocked(made, 1, length_bytes, json->out);
}

void json_write_text(struct json_writer *json, const char *key, const char *value)
{
    begin_value(json, key);
    put_quoted(json, value);
}

void json_write_name(struct json_writer *json, const char *key, const char *value)
{
    if (value == NULL || value[0] == '\0')
        json_write_null(json, key);
    else
        json_write_text(json, key, value);
}

void json_write_number(struct json_writer *json, const char *key, uint64_t value)
{
    char digits[20], *first = digits + sizeof(digits);

    begin_value(json, key);
    do {
        *--first = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    fwrite_unlocked(first, 1, (size_t)(digits + sizeof(digits) - first), json->out);
}

void json_write_signed(struct json_writer *json, const char *key, int64_t value)
{
    begin_value(json, key);
    fprintf(json->out, "%" PRId64, value);
}

void json_write_hundredths(struct json_writer *json, const char *key, uint64_t value)
{
    begin_value(json, key);
    fprintf(json->out, "%" PRIu64 ".%02" PRIu64, value / 100, value % 100);
}

void json_write_number_or_null(struct json_writer *json, const char *key, uint64_t value)
{
    if (value == 0)
        json_write_null(json, key);
    else
        json_write_number(json, key, value);
}

void json_write_bool(struct json_writer *json, const char *key, bool value)
{
    begin_value(json, key);
    put_text(json, value ? "true" : "false");
}

void json_write_null(struct json_writer *json, const char *key)
{
    begin_value(json, key);
    put_text(json, "null");
}
