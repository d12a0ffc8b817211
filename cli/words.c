/*
 * Texts: formatting, paths, shell words, edit distance.
 */
#include "words.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *words_format(const char *format, ...)
{
    va_list arguments, again;
    char *text;
    int length;

    va_start(arguments, format);
    va_copy(again, arguments);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    text = memory_allocate(length < 0 ? 1 : (size_t)length + 1, 1);
    if (length >= 0)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *words_absolute_path(const char *path)
{
    char *directory, *absolute;

    if (path[0] == '/')
        return memory_copy_text(path);
    directory = getcwd(NULL, 0);
    if (directory == NULL)
        return NULL;
    absolute = words_format("%s/%s", strcmp(directory, "/") == 0 ? "" : directory, path);
    free(directory);
    return absolute;
}

const char *words_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

char *words_quote(const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789_./-+,@%=:";
    char *quoted, *end;

    if (word[0] != '\0' && strspn(word, plain) == strlen(word))
        return memory_copy_text(word);
    quoted = memory_allocate(strlen(word) + 1, 4);
    end = quoted;
    *end++ = '\'';
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            end = stpcpy(end, "'\\''");
        else
            *end++ = *word;
    }
    *end++ = '\'';
    return quoted;
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;

    return least < c ? least : c;
}

size_t words_distance(const char *a, const char *b)
{
    /* distance[i][j]: between the first i letters of a and the first j of b; three rows are kept. */
    size_t rows[3][WORDS_DISTANCE_MAX + 1];
    size_t length_a = strlen(a), length_b = strlen(b);
    size_t *before = rows[0], *above = rows[1], *row = rows[2];

    if (length_a > WORDS_DISTANCE_MAX || length_b > WORDS_DISTANCE_MAX)
        return WORDS_DISTANCE_MAX;
    for (size_t j = 0; j <= length_b; j++)
        above[j] = j;
    for (size_t i = 1; i <= length_a; i++) {
        size_t *spare = before;

        row[0] = i;
        for (size_t j = 1; j <= length_b; j++) {
            row[j] = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smallest(row[j], before[j - 2] + 1, row[j]);
        }
        before = above;
        above = row;
        row = spare;
    }
    return above[length_b];
}
