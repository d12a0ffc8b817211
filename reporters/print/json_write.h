/*
 * JSON, written as it comes: no document in memory, any depth, keys in the order of the calls.
 *
 * (A library that builds the document first would need memory for every frame of every row, and
 * recursion for a tree of thousands of levels.)
 *
 *     struct json_writer json;
 *     json_write_init(&json, out);
 *     json_write_open_object(&json, NULL);
 *     json_write_text(&json, "report", "summary");
 *     json_write_open_rows(&json, "rows");
 *     ...
 *     json_write_close(&json);
 *     json_write_close(&json);
 *     json_write_finish(&json);
 *
 * Every call takes the key first: a text in an object, NULL in an array and for the outermost value.
 */
#ifndef PRINT_JSON_WRITE_H
#define PRINT_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json_writer {
    FILE *out;
    char *levels; /* what is open: '{', '[', or 'r' for rows */
    size_t depth, capacity;
    bool is_first; /* no value yet at this level */
};

/* Begin. out: the caller's; errors stay in it for ferror(). Context: tool. */
void json_write_init(struct json_writer *json, FILE *out);

/* End the last line and give the writer's memory back; all that was opened must be closed. */
void json_write_finish(struct json_writer *json);

/* End the line between two outermost values: one object a line. Context: tool. */
void json_write_next_line(struct json_writer *json);

/* Open an object, an array, or an array whose elements stand on lines of their own. Context: tool. */
void json_write_open_object(struct json_writer *json, const char *key);
void json_write_open_array(struct json_writer *json, const char *key);
void json_write_open_rows(struct json_writer *json, const char *key);

/* Close what was opened last. Context: tool. */
void json_write_close(struct json_writer *json);

/* Write a value that is JSON already, so many bytes of it. Context: tool. */
void json_write_made(struct json_writer *json, const char *key, const char *made,
                     size_t length_bytes);

/*
 * Write a text. It may hold any bytes: what is not UTF-8 is written as U+FFFD, so that the output
 * is valid JSON for the strictest reader. json_write_name() writes null for "" and NULL. Context: tool.
 */
void json_write_text(struct json_writer *json, const char *key, const char *value);
void json_write_name(struct json_writer *json, const char *key, const char *value);

/* Write a number; json_write_hundredths() writes 12345 as 123.45. Context: tool. */
void json_write_number(struct json_writer *json, const char *key, uint64_t value);
void json_write_signed(struct json_writer *json, const char *key, int64_t value);
void json_write_hundredths(struct json_writer *json, const char *key, uint64_t value);

/* Write a number, or null when it is 0. Context: tool. */
void json_write_number_or_null(struct json_writer *json, const char *key, uint64_t value);

/* Write true or false; null. Context: tool. */
void json_write_bool(struct json_writer *json, const char *key, bool value);
void json_write_null(struct json_writer *json, const char *key);

#endif
